"""The command line, as a process of its own."""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from tests.support.langgraph_server import ROOT, bare_environment

PROGRAM = [sys.executable, "-c", "from ricordo.cli.main import main; main()"]
_SECONDS = 120


def start(*arguments: str, settings: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start `ricordo` with these settings and no others."""
    environment = bare_environment(PYTHONPATH=str(ROOT), **settings)
    pipe = subprocess.PIPE
    return subprocess.Popen([*PROGRAM, *arguments], env=environment, text=True, stdout=pipe, stderr=pipe)


def ask(question: str, *, settings: Mapping[str, str], thread: str = "t") -> dict[str, Any]:
    """Ask in a new process, and return the object that it prints."""
    return answer_of(start("ask", question, "--thread", thread, "--json", settings=settings))


def answer_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for the object that `ricordo ask --json` prints."""
    with process:
        printed, said = process.communicate(timeout=_SECONDS)
    assert process.returncode == 0, f"exit code {process.returncode}: {said[-2000:]}"
    found = json.loads(printed)
    assert isinstance(found, dict)
    return found
