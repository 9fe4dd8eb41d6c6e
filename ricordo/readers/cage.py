"""The cage: foreign formats are parsed in a process of their own, with limits, which is killed at need.

What parses them is C code that looks at no clock and holds the interpreter: in our own process a file of 2 kB could
stop a server for hours. The process holds no keys, and waits for the next document for a while, so that only the first
one pays for its start.
"""

import asyncio
import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from ricordo.common.errors import DocumentError
from ricordo.common.settings import Settings
from ricordo.readers.caged import MOST_OUTPUT, SIZE

_START = "import sys; sys.path.append(sys.argv[1]); from ricordo.readers.caged import serve; serve()"
_ROOT = str(Path(__file__).resolve().parents[2])
_KEPT = ("PATH", "LANG", "LC_", "TMPDIR", "PYTHON", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "DYLD_")
"""Beginnings of the names of variables that a Python may need; all others are kept from the process."""
_ENDS_WITHIN = 5
"""Seconds between the last word of a process and its end."""
_ENDED = {0, -signal.SIGALRM}
"""Exit codes of a process that had nothing to do for too long, or that had grown."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the parsing of one document may take."""

    seconds: float = 120
    memory_mb: int = 1024

    @classmethod
    def of(cls, settings: Settings) -> "Limits":
        """Return those that the deployment has set."""
        return cls(settings.document_timeout_seconds, settings.document_memory_mb)


async def in_cage(work: str, data: bytes, name: str, encoding: str | None = None, limits: Limits | None = None) -> Any:
    """Parse a document in a process of its own.

    Args:
        work: Which parser, a key of `caged.WORK`.
        data: The document's bytes.
        name: What messages call it.
        encoding: The one that the server named.
        limits: What it may take.

    Returns:
        What the parser returns, as JSON carries it.

    Raises:
        DocumentError: It cannot be read, or takes more than it may.
    """
    job = _Job(work, data, name, encoding, limits or Limits())
    try:
        return await asyncio.to_thread(job.run)
    finally:
        job.stop()  # a thread outlives the task that waits for it


@dataclass(slots=True)
class _Child:
    """A process that parses one document after the other."""

    process: subprocess.Popen[bytes] = field(
        default_factory=lambda: subprocess.Popen(  # noqa: S603 - our own code
            [sys.executable, "-P", "-c", _START, _ROOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name.startswith(_KEPT)},
            start_new_session=True,  # Ctrl-C is for us alone
        )
    )

    def ask(self, request: bytes, data: bytes) -> Any:
        """Send a document and wait for what becomes of it.

        Raises:
            OSError: The process has ended.
            EOFError: The same, or it says more than it should.
        """
        told, heard = cast("IO[bytes]", self.process.stdin), cast("IO[bytes]", self.process.stdout)
        told.write(request)
        told.write(data)
        told.flush()
        size = int.from_bytes(_read(heard, SIZE), "big")
        if size > MOST_OUTPUT:
            self.process.kill()
            raise EOFError
        return json.loads(_read(heard, size).decode("utf-8", "surrogatepass"))

    def end(self) -> int:
        """Return the exit code of a process that has hung up; one that does not end by itself is killed."""
        try:
            self.process.wait(_ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                cast("IO[bytes]", pipe).close()
            except OSError:  # what it was not told any more
                continue
        return self.process.wait()


def _read(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


class _Idle:
    """Processes that wait for a document, and how many there may be at once."""

    def __init__(self) -> None:
        self.slots = threading.BoundedSemaphore(max(2, os.cpu_count() or 1))
        self._lock = threading.Lock()
        self._children: list[_Child] = []

    def take(self) -> _Child:
        with self._lock:
            return self._children.pop() if self._children else _Child()

    def give_back(self, child: _Child) -> None:
        with self._lock:
            self._children.append(child)

    def close(self) -> None:
        with self._lock:
            while self._children:
                child = self._children.pop()
                child.process.kill()
                child.end()


_idle = _Idle()
atexit.register(lambda: _idle.close())  # noqa: PLW0108 - that of the moment, also behind a fork


def _forked() -> None:
    """Leave the processes to the parent: two that ask one process get each other's answers."""
    global _idle  # noqa: PLW0603 - one for each process
    _idle = _Idle()


os.register_at_fork(after_in_child=_forked)


class _Job:
    """One document, from any thread; it can be stopped from any other."""

    def __init__(self, work: str, data: bytes, name: str, encoding: str | None, limits: Limits) -> None:
        asked: dict[str, Any] = {"work": work, "name": name, "encoding": encoding, "size": len(data)}
        asked |= {"seconds": limits.seconds, "memory_mb": limits.memory_mb}
        self._request = json.dumps(asked).encode() + b"\n"
        self._data, self._name, self._limits = data, name, limits
        self._lock = threading.Lock()
        self._child: _Child | None = None
        self._stopped = ""

    def run(self) -> Any:
        """Do it. Blocking.

        Raises:
            DocumentError: As `in_cage` says.
        """
        with _idle.slots:
            answer = self._ask(again=True)
        if "done" in answer:
            return answer["done"]
        raise DocumentError(self._too_much(answer.get("error")))

    def stop(self, why: str = "stopped") -> None:
        """Kill the process that is at it."""
        with self._lock:
            self._stopped = self._stopped or why
            if self._child is not None:
                self._child.process.kill()

    def _ask(self, *, again: bool) -> Any:
        with self._lock:
            if self._stopped:
                raise DocumentError(f"The reading of {self._name} was stopped.")
            child = self._child = _idle.take() if again else _Child()
        clock = threading.Timer(self._limits.seconds, self.stop, ["late"])
        clock.daemon = True
        clock.start()
        try:
            answer = child.ask(self._request, self._data)
        except (OSError, EOFError, ValueError) as error:
            code = self._let_go(child, ended=True)
            if again and not self._stopped and code in _ENDED:
                return self._ask(again=False)
            raise DocumentError(self._broken(code)) from error
        except BaseException:
            child.process.kill()
            self._let_go(child, ended=True)
            raise
        finally:
            clock.cancel()
        self._let_go(child, ended=False)
        return answer

    def _let_go(self, child: _Child, *, ended: bool) -> int:
        with self._lock:
            self._child = None
            if ended or self._stopped:
                return child.end()
        _idle.give_back(child)
        return 0

    def _too_much(self, error: str | None) -> str:
        return error or (
            f"{self._name} needs more than {self._limits.memory_mb} MB of memory to be read, or unfolds to more than "
            f"{MOST_OUTPUT // 2**20} MB of text. Split it, or allow it more by RICORDO_DOCUMENT_MEMORY_MB."
        )

    def _broken(self, code: int) -> str:
        if self._stopped == "late":
            return (
                f"{self._name} could not be read within {self._limits.seconds:g} s. Split it, or allow it more time by "
                "RICORDO_DOCUMENT_TIMEOUT_SECONDS."
            )
        if self._stopped:
            return f"The reading of {self._name} was stopped."
        return (
            f"{self._name} cannot be read: its parser broke down (exit code {code}), by a damaged file or for lack of "
            "memory. Get the file again, or save it anew from the program that made it."
        )
