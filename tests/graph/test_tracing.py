"""When LangSmith is sent anything, in a process of its own: tracing is a matter of the whole process."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.langgraph_server import bare_environment

_TELL = (
    "from ricordo.graph.tracing import settle_tracing as s; s(); from langsmith.utils import tracing_is_enabled as e"
)
# What LangGraph's server does while it is imported, when there is a key and not a word about tracing.
_SERVER = (
    "import os, sys; sys.modules['langgraph_api'] = sys; os.environ['LANGSMITH_TRACING'] = 'true'; "
    "from langsmith.utils import tracing_is_enabled; assert tracing_is_enabled(); "
)


def _traced(folder: Path, *, server: bool = False, written: str = "", **environment: str) -> bool:
    (folder / ".env").write_text(written)
    command = [sys.executable, "-c", f"{_SERVER if server else ''}{_TELL}; print(e())"]
    told = subprocess.run(
        command, cwd=folder, env=bare_environment(**environment), capture_output=True, text=True, check=True
    )
    return told.stdout.strip() == "True"


@pytest.mark.parametrize("server", [False, True])
def test_nothing_is_traced_without_a_word(tmp_path: Path, *, server: bool) -> None:
    assert not _traced(tmp_path, server=server, LANGSMITH_API_KEY="lsv2_pt_test")


@pytest.mark.parametrize("server", [False, True])
def test_the_word_is_taken_from_the_file_of_settings(tmp_path: Path, *, server: bool) -> None:
    assert _traced(tmp_path, server=server, written="LANGSMITH_TRACING=true\n")


@pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="the system does not tell its processes' beginnings"
)
def test_the_word_is_taken_from_the_environment_of_a_server_s_start(tmp_path: Path) -> None:
    assert _traced(tmp_path, server=True, LANGSMITH_TRACING="true")


@pytest.mark.parametrize("off", ["false", ""])
def test_the_environment_switches_off_what_the_file_switches_on(tmp_path: Path, off: str) -> None:
    assert not _traced(tmp_path, written="LANGCHAIN_TRACING_V2=true\n", LANGSMITH_TRACING=off)
