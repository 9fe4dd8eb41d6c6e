"""The process in the cage: takes documents from standard input, and answers with what their parsers return.

A request is a line of JSON and the document's bytes; an answer is its length and JSON, never anything that is run.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from ricordo.common.errors import RicordoError

WORK = {
    "pdf": ("ricordo.readers.pdf", "read_pdf", "pymupdf"),
    "markdown": ("ricordo.readers.text", "read_markdown", "re"),
    "text": ("ricordo.readers.text", "read_text", "re"),
    "html": ("ricordo.readers.html", "read_html", "lxml.html"),
    "feed": ("ricordo.readers.papers", "read_feed", "lxml.etree"),
}
"""The parsers by name: module, function of (data, name, encoding), which returns a dataclass or a list of them, and the
library that it needs."""
SIZE = 8
"""Bytes of an answer's length."""
MOST_OUTPUT = 128 * 1024 * 1024
"""Bytes of the largest answer."""
IDLE_SECONDS = 300
"""How long the process waits for the next document."""

_GRACE = 10
"""Seconds beyond its limit, in which our parent would have ended us if it still lived."""
_GROWN = 384 * 2**20
"""Bytes that it keeps in memory above which the process ends behind its answer."""


def serve() -> None:
    """Read documents until there is none for a while."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends us from outside, whatever C code is at work
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while True:
        signal.setitimer(signal.ITIMER_REAL, IDLE_SECONDS)
        line = sys.stdin.buffer.readline()
        if not line:
            return
        asked = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, asked["seconds"] + _GRACE)
        answer = answer_to(asked, sys.stdin.buffer)
        answers.write(len(answer).to_bytes(SIZE, "big") + answer)
        answers.flush()
        if _pages(1) > _GROWN:
            return


def answer_to(asked: dict[str, Any], stream: IO[bytes]) -> bytes:
    """Return the answer to one request: what was read, an error in words, or nothing where a limit was in the way."""
    data = stream.read(asked["size"])
    module, function, library = WORK[asked["work"]]
    read: Callable[..., Any] = getattr(import_module(module), function)
    import_module(library)  # before the memory is counted
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = _pages(0) + asked["memory_mb"] * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    try:
        told = {"done": read(data, asked["name"], asked["encoding"])}
        answer = json.dumps(told, ensure_ascii=False, default=_fields).encode("utf-8", "surrogatepass")
        return answer if len(answer) <= MOST_OUTPUT else b"{}"
    except RicordoError as error:
        return json.dumps({"error": str(error)}).encode()
    except MemoryError:
        return b"{}"
    except Exception as error:  # noqa: BLE001 - the libraries raise of many kinds, and one file must not stop the others
        why = f"{type(error).__name__}: {str(error).rstrip('.')}"
        return json.dumps({"error": f"{asked['name']} cannot be read as {asked['work']}: {why}."}).encode()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))  # the next document may have another limit


def _fields(found: Any) -> dict[str, Any]:
    """Return what a dataclass with slots holds; `asdict` copies it all."""
    return {name: getattr(found, name) for name in found.__slots__}


def _pages(kind: int) -> int:
    """Return the bytes of the process's address space (0) or of what it holds in memory (1); 0 where nobody tells.

    `getrusage` begins with the peak of the process that started this one.
    """
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[kind]) * resource.getpagesize()
    except OSError:
        return 0
