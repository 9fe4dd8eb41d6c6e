"""A process that was forked after a call, as worker pools do, can call too."""

import subprocess
import sys
from pathlib import Path

from tests.support.langgraph_server import ROOT, bare_environment

_PROGRAM = """
import multiprocessing
from ricordo import call_agent
assert call_agent("Hello.", "parent")
child = multiprocessing.get_context("fork").Process(target=lambda: print("child:", call_agent("Hello.", "child")))
child.start()
child.join(90)
child.kill()
"""


def test_a_child_of_a_process_that_has_called_the_agent_calls_it_too(dsn: str, tmp_path: Path) -> None:
    settings = {"RICORDO_DATABASE_URL": dsn, "RICORDO_HOME": str(tmp_path)}
    environment = bare_environment(PYTHONPATH=str(ROOT), **settings)
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert "child: " in run.stdout, run.stderr[-2000:]
