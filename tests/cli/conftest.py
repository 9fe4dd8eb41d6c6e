"""What the tests of the command line share: the real command in a process of its own, on a database of the test's."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import PROGRAM
from tests.support.langgraph_server import ROOT, bare_environment

Run = Callable[..., subprocess.CompletedProcess[bytes]]
_SECONDS = 120


@pytest.fixture
def settings(dsn: str, tmp_path: Path) -> dict[str, str]:
    """The environment of the commands."""
    return {"RICORDO_DATABASE_URL": dsn, "RICORDO_HOME": str(tmp_path / "home")}


@pytest.fixture
def run(settings: dict[str, str]) -> Run:
    """Run `ricordo` with some arguments; `given` is its standard input, other keywords go into its environment."""

    def command(*arguments: str | bytes, given: bytes = b"", **more: str) -> subprocess.CompletedProcess[bytes]:
        return _run([*PROGRAM, *arguments], given, settings | more)

    return command


@pytest.fixture
def run_code() -> Run:
    """Run a piece of Python that uses the command line's own modules."""

    def code(text: str, **more: str) -> subprocess.CompletedProcess[bytes]:
        return _run([sys.executable, "-c", text], b"", more)

    return code


def _run(command: list[str | bytes], given: bytes, more: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    environment = bare_environment(PYTHONPATH=str(ROOT), **more)
    return subprocess.run(
        [os.fsencode(word) for word in command],
        input=given,
        env=environment,
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
