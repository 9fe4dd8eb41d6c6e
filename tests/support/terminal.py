"""The command line at a terminal of its own, with somebody who types."""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from typing import Self

from tests.support.langgraph_server import ROOT, bare_environment

PROMPT = b"\x1b[?2004h"
"""What a prompt sends when it is ready: pasted text is to come in brackets."""
_PROGRAM = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from ricordo.cli.main import main; main()"
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07]*\x07|[()][A-Z0-9]|[=>78M])")
_SECONDS = 120


class Terminal:
    """`ricordo` on a pseudo-terminal; reading moves on, so that what was read once is not found again."""

    def __init__(self, *arguments: str, settings: Mapping[str, str]) -> None:
        self._fd, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        environment = bare_environment(PYTHONPATH=str(ROOT), TERM="xterm-256color", **settings)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,  # so that the terminal can become its own, and Ctrl-C a signal
        )
        os.close(slave)
        self._unread = b""

    def type(self, keys: str | bytes) -> None:
        """Press keys."""
        os.write(self._fd, keys.encode() if isinstance(keys, str) else keys)

    def read_until(self, what: str | bytes) -> str:
        """Read on until this appears; return what was read, without escape sequences."""
        mark = what.encode() if isinstance(what, str) else what
        deadline = time.monotonic() + _SECONDS
        while mark not in self._unread:
            seen = _plain(self._unread)
            assert time.monotonic() < deadline, f"no {mark!r} in {seen[-2000:]}"
            assert self._read_some(), f"it ended without {mark!r}: {seen[-2000:]}"
        end = self._unread.index(mark) + len(mark)
        read, self._unread = self._unread[:end], self._unread[end:]
        return _plain(read)

    def wait(self) -> int:
        """Return the exit code."""
        deadline = time.monotonic() + _SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            self._read_some()
        return self._process.wait(timeout=1)

    def _read_some(self) -> bool:
        if not select.select([self._fd], [], [], 0.2)[0]:
            return True
        try:
            got = os.read(self._fd, 65536)
        except OSError:  # how Linux says that the other side is closed
            return False
        if b"\x1b[6n" in got:  # it asks where the cursor is
            os.write(self._fd, b"\x1b[1;1R")
        self._unread += got
        return bool(got)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
        os.close(self._fd)


def _plain(text: bytes) -> str:
    return _ESCAPES.sub("", text.decode("utf-8", "replace")).replace("\r", "")
