"""As whom the embedded server runs: PostgreSQL refuses root, and root takes nothing away from an ordinary user."""

import os
import pwd
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ricordo.common.errors import DatabaseError

WAY_OUT = "Set RICORDO_HOME to another folder, or RICORDO_DATABASE_URL to a PostgreSQL of your own."
UNUSED = range(60_578, 61_184)
"""User ids that neither distributions nor systemd give to anyone."""


@dataclass(frozen=True)
class Identity:
    """As whom the programs run; PostgreSQL refuses root."""

    uid: int | None = None
    """User to become before the program starts. None: stay who we are."""
    gid: int | None = None
    owner: int | None = None
    """Whose the data folder must be, when we are root."""
    prefix: tuple[str, ...] = ()

    def run(
        self, command: Sequence[str | Path], *, stderr: int = subprocess.PIPE, pass_fds: Sequence[int] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end; standard output (and error, unless sent elsewhere) is captured."""
        return subprocess.run(  # noqa: S603 - our own programs
            [*self.prefix, *map(str, command)],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            errors="replace",
            cwd="/",
            # PG* variables are meant for other servers.
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            user=self.uid,
            group=self.gid,
            extra_groups=None if self.uid is None else [],
            pass_fds=pass_fds,
            start_new_session=True,
        )

    def own(self, folder: Path) -> None:
        """Give the folder, with all that is in it, to the owner."""
        if self.owner is None or folder.stat().st_uid == self.owner:
            return
        for path in [*folder.rglob("*"), folder]:
            os.chown(path, self.owner, -1, follow_symlinks=False)


def identities() -> Iterator[Identity]:
    """Yield the ways to run PostgreSQL, the best first: as we are, or without root's rights.

    A process of the same user could read the data and come in as a superuser: it is a user that no other program has.
    """
    if os.geteuid():
        yield Identity()
        return
    uid = _own_uid()
    yield Identity(uid, uid, uid)
    # Where that user cannot reach the programs or the data, as under /root.
    yield _not_called_root()
    # Where new user namespaces are forbidden, as in many containers.
    yield _past_closed_folders(uid, uid)


def makers() -> Iterator[Identity]:
    """Yield the ways to run `initdb`, whose user must have a name."""
    if os.geteuid():
        yield Identity()
        return
    yield _not_called_root()
    nobody = pwd.getpwnam("nobody")
    yield _past_closed_folders(nobody.pw_uid, nobody.pw_gid)
    yield Identity(nobody.pw_uid, nobody.pw_gid, nobody.pw_uid)


def _not_called_root() -> Identity:
    nobody = pwd.getpwnam("nobody")
    ids = (f"--map-user={nobody.pw_uid}", f"--map-group={nobody.pw_gid}")
    return Identity(owner=0, prefix=("unshare", "--user", *ids, "--"))


def _past_closed_folders(uid: int, gid: int) -> Identity:
    ids = (f"--reuid={uid}", f"--regid={gid}", "--clear-groups")
    return Identity(
        owner=uid, prefix=("setpriv", *ids, "--inh-caps=+dac_override", "--ambient-caps=+dac_override", "--")
    )


def _own_uid() -> int:
    """Return a user id that nobody has."""
    taken = {user.pw_uid for user in pwd.getpwall()}
    return next(uid for uid in UNUSED if uid not in taken)


def assert_ours(data: Path) -> None:
    """Refuse, as root, to take the data folder away from an ordinary user, or to make one in that user's home.

    Raises:
        DatabaseError: The folder is another user's.
    """
    if os.geteuid():
        return
    ours = {0, pwd.getpwnam("nobody").pw_uid, *UNUSED}  # earlier it was nobody's
    for folder in [data] if data.exists() else data.parents:
        if folder.exists() and (uid := folder.stat().st_uid) not in ours:
            raise DatabaseError(
                f"You are root, and {folder} belongs to the user {_name(uid)}, who could not use {data} after you. Run "
                f"this as that user (such as by sudo -u {_name(uid)}). {WAY_OUT}"
            )


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"#{uid}"


def choose_identity(bin_folder: Path, *folders: Path, ways: Iterable[Identity] | None = None) -> tuple[Identity, int]:
    """Choose as whom PostgreSQL runs, by trying, and give it the folders.

    Returns:
        The identity, and PostgreSQL's major version.

    Raises:
        DatabaseError: None can run the programs and reach the folders.
    """
    problems = []
    check = 'for folder in "$@"; do cd "$folder" || exit; done; exec "$0" --version'
    for identity in ways or identities():
        try:
            done = identity.run(["/bin/sh", "-c", check, bin_folder / "postgres", *(f.parent for f in folders)])
        except OSError as error:
            problems.append(str(error))
            continue
        if done.returncode == 0:
            for folder in folders:
                identity.own(folder)
            return identity, int(done.stdout.split()[-1].split(".")[0])
        problems.append(" ".join(done.stderr.split()))
    raise DatabaseError(
        f"The embedded PostgreSQL cannot run with its data in {folders[0]} and its programs in {bin_folder}: "
        f"{'; '.join(problems)}. {WAY_OUT}"
    )
