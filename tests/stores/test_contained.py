"""A tool's function ends its own call alone, and holds up nothing that comes after."""

import asyncio
import subprocess
import sys
import threading
from contextvars import ContextVar

import pytest
from langchain_core.tools import StructuredTool, Tool

from stores.contained import on_own_thread
from stores.tool_schema import runnable
from tests.support.servers import ROOT

_HANGS = """
import asyncio, threading
from stores.contained import on_own_thread

async def main():
    try:
        await asyncio.wait_for(on_own_thread(threading.Event().wait)(), 0.1)
    except TimeoutError:
        print("stopped")

asyncio.run(main())
"""


def test_a_call_that_never_returns_does_not_hold_up_the_end_of_the_program() -> None:
    done = subprocess.run([sys.executable, "-c", _HANGS], check=True, timeout=120, cwd=ROOT, capture_output=True)
    assert (done.stdout, done.stderr) == (b"stopped\n", b"")


async def test_a_call_that_ends_after_it_was_given_up_disturbs_nobody() -> None:
    go, over = threading.Event(), threading.Event()

    def late() -> None:
        go.wait()
        over.set()

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(on_own_thread(late)(), 0.05)
    go.set()
    assert await asyncio.to_thread(over.wait, 60)


@pytest.mark.parametrize(("error", "raised"), [(KeyError("k"), KeyError), (StopIteration(1), RuntimeError)])
async def test_what_a_call_raises_is_raised(error: Exception, raised: type[Exception]) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(raised):
        await on_own_thread(fail)()


async def test_a_call_sees_the_variables_of_its_context() -> None:
    who: ContextVar[str] = ContextVar("who")
    who.set("ada")
    assert await on_own_thread(who.get)() == "ada"


def where(text: str) -> str:
    """Tell the thread."""
    return f"{text} {threading.current_thread().name}"


@pytest.mark.parametrize(
    "tool",
    [
        StructuredTool.from_function(where),
        Tool.from_function(where, name="where", description="Tell the thread."),
    ],
    ids=["StructuredTool", "Tool"],
)
async def test_a_langchain_tool_of_a_plain_function_has_its_own_thread(tool: Tool | StructuredTool) -> None:
    made = runnable(tool)
    assert await made.ainvoke("in" if isinstance(tool, Tool) else {"text": "in"}) == "in tool where"
    assert (made.name, made.description, made.args) == (tool.name, tool.description, tool.args)
