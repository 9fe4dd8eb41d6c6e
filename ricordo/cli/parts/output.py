"""What every command shares: its event loop, its output, and how errors are told."""

import asyncio
import errno
import json
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cache, partial, wraps
from typing import Any, NoReturn, ParamSpec, TextIO

import typer

from ricordo.common.errors import InputError, RicordoError
from ricordo.common.text import plain as plain  # noqa: PLC0414 - commands know it as `output.plain`

FAILED, USAGE, BUG = 1, 2, 70
"""Exit codes: an error that we know, a wrong command line, an error of our own making."""
_NOT_OURS = {errno.ENOENT, errno.EISDIR, errno.ENOTDIR, errno.EACCES, errno.EROFS, errno.ENOSPC}
"""What is wrong with a path that the user gave, or with the disk."""

_P = ParamSpec("_P")
_UTF8: dict[str, str] = {"encoding": "utf-8", "errors": "replace"}


def prepare_streams() -> None:
    """Make the standard streams UTF-8, whatever the locale says."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(**_UTF8)


@cache
def stdout() -> TextIO:
    """Return the command's own standard output.

    All else that is printed, by a tool or a library, goes to standard error from now on: what a program reads from us
    is ours alone.
    """
    try:
        own = os.dup(1)
    except OSError:  # it is closed
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - open as long as the process
    with suppress(OSError):
        os.dup2(2, 1)
    return open(own, "w", **_UTF8)  # type: ignore[call-overload, no-any-return]  # noqa: PTH123 - as above


def write(text: str) -> None:
    """Write to the command's own standard output; a reader that has gone is no error."""
    try:
        stdout().write(text)
        stdout().flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout().fileno())


def write_json(value: object) -> None:
    """Write one JSON value and a line end; moments in ISO 8601."""
    text = json.dumps(value, ensure_ascii=False, default=_plain_value)
    write(text.encode("utf-8", "replace").decode() + "\n")


def _plain_value(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def note(text: str) -> None:
    """Write a line to standard error."""
    with suppress(OSError, AttributeError):  # closed, or none at all
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def as_text(argument: str) -> str:
    """Return a command-line argument as the UTF-8 that was typed; bytes that are none become U+FFFD."""
    return os.fsencode(argument).decode("utf-8", "replace")


def fail(message: str) -> NoReturn:
    """End the command with an error of ours."""
    note(f"error: {message}")
    raise typer.Exit(FAILED)


@contextmanager
def answered() -> Iterator[None]:
    """Tell how to do without an answer where nobody is there to give one.

    Raises:
        InputError: Standard input is at its end, and no terminal.
    """
    try:
        yield
    except typer.Abort:
        if sys.stdin.isatty():
            raise
        raise InputError("Nothing was deleted: it has to be confirmed. Add --yes where nobody can answer.") from None


def command(work: Callable[_P, Coroutine[Any, Any, int | None]]) -> Callable[_P, NoReturn]:
    """Make a command of a coroutine function: `run` does it, with standard output for the command alone."""

    @wraps(work)
    def obey(*args: _P.args, **options: _P.kwargs) -> NoReturn:
        stdout()
        run(partial(work, *args, **options), as_json=bool(options.get("as_json")))

    return obey


def run(work: Callable[[], Coroutine[Any, Any, int | None]], *, as_json: bool = False) -> NoReturn:
    """Run a command's coroutine and end the command with the exit code that it returns.

    Args:
        work: Makes the coroutine; None means success.
        as_json: Also report an error as a JSON object on standard output.
    """
    _set_up_logging()
    try:
        code = asyncio.run(work())
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:  # noqa: BLE001 - the last stop: whatever it is, it is told in one line
        code = report(error, as_json=as_json)
    raise typer.Exit(code or 0)


def report(error: BaseException, *, as_json: bool = False) -> int:
    """Tell an error in one line and return the exit code; an unexpected one with how to see more."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if as_json:
        write_json({"error": str(error), "type": type(error).__name__})
    if isinstance(error, RicordoError):
        note(f"error: {plain(str(error))}")
        return FAILED
    if isinstance(error, OSError) and error.errno in _NOT_OURS:
        note(f"error: {plain(str(error))}. Give another path, or make room there.")
        return FAILED
    if _wants_details():
        traceback.print_exception(error)
    said = " ".join(plain(str(error)).split())
    if _is_of_postgresql(error):
        note(
            f"error: PostgreSQL refused ({type(error).__name__}): {said}. What was saved before is kept. ricordo "
            "doctor looks at the database; RICORDO_LOG_LEVEL=debug shows what was asked of it."
        )
        return FAILED
    note(
        f"error: {type(error).__name__}{': ' if said else ''}{said}\n"
        "This is a bug in Ricordo. RICORDO_LOG_LEVEL=debug shows where it happened; please report it with that."
    )
    return BUG


def _is_of_postgresql(error: BaseException) -> bool:
    """Tell whether an error is the database's. Its package is slow to import, and not needed where it was not used."""
    psycopg = sys.modules.get("psycopg")
    return psycopg is not None and isinstance(error, psycopg.Error)


def _wants_details() -> bool:
    asked = os.environ.get("RICORDO_LOG_LEVEL", "").lower() == "debug"
    return asked or logging.getLogger().level == logging.DEBUG  # it may stand in .env


def _set_up_logging() -> None:
    """Send log records of the chosen level to standard error, and keep libraries' warnings for those who look."""
    from ricordo.common.logs import clean_records
    from ricordo.common.settings import get_settings

    try:
        level = get_settings().log_level.upper()
    except RicordoError:  # the command itself will tell
        level = "WARNING"
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    clean_records()
    if not (sys.warnoptions or _wants_details()):
        warnings.simplefilter("ignore")
