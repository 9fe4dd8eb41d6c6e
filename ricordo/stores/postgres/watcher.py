"""Stops the embedded server when its last client is gone.

Run as a script of its own, detached from whoever started it, so it imports the standard library alone: no package to
find, little memory, a start of a few milliseconds. Clients share a lock on a file; the kernel releases it however a
client ends, and the watcher waits until it can have that lock for itself.
"""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

_STOP_SECONDS = 60
_POLL_SECONDS = 0.02


def postmaster_pid(data: Path) -> int | None:
    """Read the process id from `postmaster.pid` and check that this process is the server of `data`.

    The file outlives a killed server, and the number in it may since belong to a zombie or to another program.
    """
    try:
        pid = int((data / "postmaster.pid").read_bytes().split(b"\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return None
    return pid if serves(pid, data) else None


def serves(pid: int, data: Path) -> bool:
    """Tell whether the process is alive and has the data folder among its arguments."""
    try:
        return os.fsencode(data) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        if Path("/proc/self").exists():
            return False
    command = subprocess.run(["/bin/ps", "-o", "args=", "-ww", "-p", str(pid)], capture_output=True, check=False)  # noqa: S603 - our own arguments
    return b" -D " + os.fsencode(data) + b" " in command.stdout


def stop(pid: int, data: Path, how: signal.Signals = signal.SIGINT) -> bool:
    """Shut the server down (SIGINT: at once, with a clean end for every client) and wait until it is gone."""
    deadline = time.monotonic() + _STOP_SECONDS
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        return True
    while serves(pid, data):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def watch(root: Path, idle_seconds: float, own_lock: int) -> None:
    """Wait until no client has been there for `idle_seconds`, then stop the server.

    Args:
        root: Folder of the server: `data`, `server.lock`, and `clients.lock`, on which each client holds a shared lock
            and whose date is that of the last coming or going.
        idle_seconds: How long the server waits for the next client.
        own_lock: Descriptor of the lock that says that a watcher is there.
    """
    clients = os.open(root / "clients.lock", os.O_RDWR)
    while True:
        if not try_lock(clients):
            fcntl.flock(clients, fcntl.LOCK_EX)
            os.utime(clients)
        idle = time.time() - os.fstat(clients).st_mtime
        if not 0 <= idle < idle_seconds:
            break
        fcntl.flock(clients, fcntl.LOCK_UN)
        time.sleep(idle_seconds - idle)
    try:
        # A folder that was deleted and made anew has other clients, and a watcher of their own.
        if (root / "clients.lock").stat().st_ino == os.fstat(clients).st_ino:
            _stop_all(root)
    except FileNotFoundError:
        pass
    # In this order: whoever comes in next must not take this watcher for one that still waits.
    os.close(own_lock)
    os.close(clients)


def _stop_all(root: Path) -> None:
    """Stop what holds the server's lock, also if its client was killed before the server had written its process id."""
    server = os.open(root / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
    data = root / "data"
    deadline = time.monotonic() + _STOP_SECONDS
    while not try_lock(server) and time.monotonic() < deadline:
        if pid := postmaster_pid(data):
            sockets = (data / "postmaster.pid").read_bytes().split(b"\n")[4:5]
            stop(pid, data)
            for folder in sockets:
                with contextlib.suppress(OSError):
                    Path(os.fsdecode(folder)).rmdir()
        time.sleep(_POLL_SECONDS)
    os.close(server)


def try_lock(descriptor: int, how: int = fcntl.LOCK_EX) -> bool:
    """Lock a file, unless another process has locked it against that."""
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def main() -> None:
    """Leave the caller (a child of nobody's in a session of its own), then watch."""
    if os.fork():
        os._exit(0)
    root, idle_seconds, own_lock = sys.argv[1:]
    watch(Path(root), float(idle_seconds), int(own_lock))


if __name__ == "__main__":
    main()
