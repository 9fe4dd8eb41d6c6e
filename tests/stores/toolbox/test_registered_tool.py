"""Registered tools as the graph runs them."""

import asyncio
from typing import Any

import pytest
from langchain_core.tools import StructuredTool
from langgraph.graph import StateGraph
from langgraph.prebuilt import ToolNode, ToolRuntime
from langgraph.types import Command

from ricordo.common.errors import ToolError
from ricordo.graph.context import Context
from ricordo.graph.state import State
from ricordo.stores.toolbox.box import Toolbox
from tests.support.harness import calls


@pytest.fixture
def box() -> Toolbox:
    """A toolbox with two tools."""
    made = Toolbox()

    @made.register_tool
    def list_directory(path: str) -> str:
        """List the files in a folder."""
        return path

    @made.register_tool
    async def send_mail(to: str) -> str:
        """Send an e-mail to somebody."""
        return to

    return made


async def run(box: Toolbox, *wanted: tuple[str, dict[str, Any]]) -> list[Any]:
    """Run calls as the graph does."""
    builder = StateGraph(State, context_schema=Context)
    builder.add_node("tools", ToolNode([each.tool for each in box], handle_tool_errors=True))
    builder.set_entry_point("tools")
    result = await builder.compile().ainvoke({"messages": [calls(*wanted)]}, context=Context(user_id="ada"))
    return [message for message in result["messages"] if message.type == "tool"]


async def test_tools_run_under_langgraphs_own_node(box: Toolbox) -> None:
    @box.register_tool
    async def whoami(greeting: str, *, runtime: ToolRuntime[Context, State]) -> str:
        """Say who asks.

        Args:
            greeting: How to begin.
            runtime: Who asks.
        """
        await asyncio.sleep(0)
        return f"{greeting} {runtime.context.user_id}"

    @box.register_tool
    def fail() -> str:
        """Fail."""
        raise RuntimeError("out of paper")

    assert list(box.schema("whoami")["function"]["parameters"]["properties"]) == ["greeting"]
    replies = await run(
        box,
        ("whoami", {"greeting": "Hello"}),
        ("list_directory", {"path": "/tmp"}),
        ("send_mail", {"to": ["a"]}),
        ("fail", {}),
        ("gone", {}),
    )
    assert [reply.status for reply in replies] == ["success", "success", "error", "error", "error"]
    assert [reply.content for reply in replies[:2]] == ["Hello ada", "/tmp"]
    assert "valid string" in replies[2].content
    assert "out of paper" in replies[3].content


async def test_two_hundred_calls_at_once(box: Toolbox) -> None:
    replies = await run(box, *(("list_directory", {"path": str(i)}) for i in range(200)))
    assert [reply.content for reply in replies] == [str(i) for i in range(200)]


@pytest.mark.parametrize("hint", [Command, "Command[str]", str | Command[str]])
def test_a_tool_that_says_it_returns_a_command_is_refused(hint: object) -> None:
    def steer() -> object:
        """Steer."""

    steer.__annotations__["return"] = hint
    for source in (steer, StructuredTool.from_function(steer)):
        with pytest.raises(ToolError, match="returns a Command"):
            Toolbox().register_tool(source)
