"""The embedded server: one for all clients, there when it is needed, gone afterwards, whoever was killed."""

import os
import shutil
import signal
import stat
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from ricordo.stores.postgres.embedded import EmbeddedPostgres
from ricordo.stores.postgres.watcher import serves
from tests.support.servers import (
    client,
    data_of,
    first_line,
    is_locked,
    kill_server,
    kill_watcher,
    query,
    running,
    server_of,
    wait_until,
)


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
    dsn = one.start()
    assert other.start() == dsn
    pid = running(home)
    one.close()
    time.sleep(0.3)
    assert pid
    assert running(home) == pid
    other.close()
    wait_until(lambda: running(home) is None)
    wait_until(lambda: not Path(parse_qs(urlsplit(dsn).query)["host"][0]).exists())


def test_the_server_waits_a_moment_for_the_next_client(home: Path) -> None:
    first, _ = client(home, idle_seconds=15).communicate()
    second, _ = client(home, idle_seconds=15).communicate()
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
    processes = [client(new_home, idle_seconds=15) for _ in range(6)]
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
