"""A tool's function ends its own call alone, and holds up nothing that comes after."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextvars import ContextVar
from itertools import count
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForToolRun
from langchain_core.tools import BaseTool, StructuredTool, Tool
from pydantic import BaseModel

from ricordo.common.errors import ToolError
from ricordo.stores.toolbox.contained import contained, on_own_thread, runnable
from tests.support.servers import ROOT

_HANGS = """
import asyncio, threading
from ricordo.stores.toolbox.contained import on_own_thread

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


class Leaves(BaseTool):
    name: str = "leave"
    description: str = "Leave."
    times: int = 0

    def _run(self, text: str, run_manager: CallbackManagerForToolRun | None = None) -> str:
        """Leave, or say whose manager it is."""
        self.times += 1
        if text == "leave":
            sys.exit(7)
        return f"{text} {type(run_manager).__name__} {threading.current_thread().name}"


class LeavesInTime(Leaves):
    async def _arun(self, text: str) -> str:
        """Leave."""
        return self._run(text)


async def leave(text: str) -> str:
    """Leave."""
    sys.exit(text)


@pytest.mark.parametrize(
    "tool",
    [Leaves(), LeavesInTime(), StructuredTool.from_function(coroutine=leave)],
    ids=["sync", "async", "coroutine"],
)
async def test_a_tool_of_any_kind_that_ends_the_program_ends_its_own_call(tool: BaseTool) -> None:
    with pytest.raises(ToolError, match="SystemExit"):
        await runnable(tool).ainvoke({"text": "leave"})


async def test_a_tool_of_ones_own_class_has_its_own_thread_its_manager_and_its_state() -> None:
    tool = Leaves()
    made = runnable(tool)
    assert await made.ainvoke({"text": "in"}) == "in CallbackManagerForToolRun tool _run"
    assert isinstance(made, Leaves)
    assert (made.name, made.args, tool.times) == (tool.name, tool.args, 1)


async def test_a_future_that_a_tool_cancelled_is_its_error() -> None:
    def fail() -> None:
        future: Future[None] = Future()
        future.cancel()
        future.result()

    with pytest.raises(ToolError, match="CancelledError"):
        await on_own_thread(contained(fail))()


async def test_what_a_tool_returns_instead_of_a_value_is_awaited_and_gone_through() -> None:
    async def later() -> int:
        return 1

    async def in_turn() -> AsyncIterator[int]:
        yield 2

    assert await on_own_thread(later)() == 1
    assert await on_own_thread(in_turn)() == [2]
    assert await on_own_thread(contained(lambda: (n for n in (3, 4))))() == [3, 4]


def nothing(self: BaseTool) -> str:
    """Take nothing."""
    return self.name


def by_name(_: BaseTool, *, text: str) -> str:
    """Take a text by its name."""
    return text


def whatever(_: BaseTool, **given: str) -> str:
    """Take whatever there is."""
    return given["text"]


def managed(_: BaseTool, run_manager: CallbackManagerForToolRun, text: str) -> str:
    """Take the manager first."""
    return f"{type(run_manager).__name__} {text}"


@pytest.mark.parametrize(
    ("run", "given", "made"),
    [
        (nothing, {}, "own"),
        (by_name, {"text": "a"}, "a"),
        (whatever, {"text": "a"}, "a"),
        (managed, {"text": "a"}, "CallbackManagerForToolRun a"),
    ],
)
async def test_a_tool_of_ones_own_class_takes_its_parameters_in_any_form(
    run: Callable[..., str], given: dict[str, str], made: str
) -> None:
    class Text(BaseModel):
        text: str = ""

    kind = type("Own", (BaseTool,), {"_run": run, "__annotations__": {}, "__module__": __name__})
    tool = kind(name="own", description="d", args_schema=Text if given else None)
    assert await tool.ainvoke(given) == made
    assert await runnable(tool).ainvoke(given) == made


class OfAFunction(StructuredTool):
    def _run(self, *_args: Any, **_more: Any) -> str:
        sys.exit(7)


def leaves_later() -> Iterator[int]:
    yield 1
    sys.exit(3)


async def test_what_ends_the_program_after_the_call_ends_the_call() -> None:
    own = OfAFunction(name="own", description="d", args_schema={"type": "object", "properties": {}})
    with pytest.raises(ToolError, match="SystemExit"):
        await runnable(own).ainvoke({})
    with pytest.raises(ToolError, match="SystemExit"):
        await on_own_thread(contained(leaves_later))()
    with pytest.raises(ToolError, match="SystemExit"):
        await on_own_thread(contained(lambda: leave("x")))()


def endless() -> Iterator[int]:
    yield from count()


async def endless_in_time() -> AsyncIterator[int]:
    for number in count():
        yield number


@pytest.mark.parametrize("function", [endless, endless_in_time])
async def test_a_generator_without_an_end_does_not_fill_the_memory(function: Callable[[], object]) -> None:
    with pytest.raises(ToolError, match="more than 100,000 values"):
        await on_own_thread(contained(function))()
