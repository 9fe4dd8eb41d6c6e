"""Embedded servers of one's own: started by other programs, looked at, killed."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from ricordo.stores.postgres.embedded import EmbeddedPostgres
from ricordo.stores.postgres.watcher import postmaster_pid, stop

ROOT = Path(__file__).parents[2]
CLIENT = """
import sys, time
from pathlib import Path
import psycopg
from ricordo.stores.postgres.embedded import EmbeddedPostgres
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


def wait_until(condition: Callable[[], object], seconds: float = 120) -> None:
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
    found = [line for line in lines.stdout.splitlines() if "watcher.py" in line and str(home.resolve()) in line]
    os.kill(int(found[0].split()[0]), signal.SIGKILL)
    wait_until(lambda: not is_locked(home / "postgres" / "watcher.lock"))


def kill_server(home: Path) -> None:
    pid = running(home)
    assert pid
    os.kill(pid, signal.SIGKILL)
