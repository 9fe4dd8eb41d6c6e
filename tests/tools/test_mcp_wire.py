"""Answers of a real server whose form is wrong: what can be read reaches the model, and no other call pays for it."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from anyio import create_memory_object_stream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage
from pydantic import ValidationError

from ricordo.common.errors import ToolError
from ricordo.stores.toolbox.box import Toolbox
from ricordo.tools.mcp import McpTool
from ricordo.tools.mcp_file import Server
from ricordo.tools.mcp_session import McpServer
from ricordo.tools.mcp_wire import mended
from tests.support.langgraph_server import ROOT

PROGRAM = str(ROOT / "tests/support/stand_ins/odd_mcp_server.py")


@pytest.fixture
async def server() -> AsyncIterator[McpServer]:
    opened = McpServer("odd", Server(command=sys.executable, args=[PROGRAM]), 30)
    yield opened
    await opened.close()


async def declared(server: McpServer) -> dict[str, Any]:
    return {tool.name: tool.answers for tool in await server.connect()}


async def test_an_answer_of_the_wrong_form_took_effect_and_what_can_be_read_of_it_is_passed_on(
    server: McpServer,
) -> None:
    answers = await declared(server)
    wrong = {
        "declared_and_missing": "the structured content is missing",
        "declared_and_other": "at $.count, 'many' is not of type 'integer'",
        "unknown_kind": "it holds content of the kind 'hologram'",
        "content_is_text": "it has no list of contents",
    }
    for name, why in wrong.items():
        said = await server.call(name, {}, answers[name])
        assert said.startswith("sent\n"), name
        assert said.endswith(f"[The call took effect; its answer is not of the form that it should have: {why}.]")
    assert '{"type": "hologram", "size": 7}' in await server.call("unknown_kind", {})
    assert '{"count": "many"}' in await server.call("declared_and_other", {})
    assert await server.call("error_is_null", {}) == "sent"
    assert await server.call("odd_meta", {}) == "sent"
    assert (await server.call("content_is_missing", {})).startswith('{"count": 1}\n[The call took effect')
    assert (await server.call("result_is_null", {})).startswith("[The call took effect")


async def test_structured_content_beside_a_text_reaches_the_model(server: McpServer) -> None:
    said = await server.call("list_birds", {})
    assert said.startswith("list_birds returned 3 item(s).\n")
    assert all(bird in said for bird in ("heron", "smew", "knot"))


async def test_a_message_that_cannot_be_read_costs_its_own_call_alone(server: McpServer) -> None:
    async with asyncio.timeout(60):
        before, half, deep, deeper, no_json, no_utf8, after = await asyncio.gather(
            server.call("echo", {"said": "before"}),
            server.call("half_a_pair", {}),
            server.call("deep", {}),
            server.call("deeper", {}),
            server.call("no_json", {}),
            server.call("no_utf8", {}),
            server.call("echo", {"said": "after"}),
            return_exceptions=True,
        )
    assert (before, after) == ('{"said": "before"}', '{"said": "after"}')
    assert half == "sent \ufffd by night"
    assert str(deep).startswith('sent\n{"a": [[[')
    assert no_utf8 == "sent \ufffd by post"
    for failed in (deeper, no_json):
        assert isinstance(failed, ToolError)
        assert "has answered, but its answer cannot be read" in str(failed)
        assert "The call took effect" in str(failed)


async def test_arguments_that_cannot_be_sent_are_refused_and_other_calls_go_on(server: McpServer) -> None:
    deep: Any = "end"
    for _ in range(5000):
        deep = [deep]
    waiting = asyncio.ensure_future(server.call("echo", {"said": "meanwhile"}))
    for said in (deep, "\ud800", float("nan"), {"\udfff": 1}):
        with pytest.raises(ToolError, match="cannot be sent"):
            await server.call("echo", {"said": said})
    assert await waiting == '{"said": "meanwhile"}'


async def test_a_tool_that_is_listed_wrongly_costs_itself_alone(server: McpServer) -> None:
    listed = {tool.name: tool for tool in await server.connect()}
    assert {"echo", "list_birds", "schemaless", "odd_about"} <= listed.keys()
    box = Toolbox()
    for name in ("schemaless", "odd_about"):
        tool = listed[name]
        made = McpTool(name=name, description="", args_schema=tool.parameters, server=server, called_there=name)
        box.register_tool(made)
        assert box.schema(name)["function"]["parameters"] == {"type": "object", "properties": {}}


@pytest.mark.parametrize("of", [str, str.encode])
@pytest.mark.parametrize(
    ("sent", "result", "error"),
    [
        ('{"jsonrpc": "2.0", "id": 3, "result": {"a": "\\ud83d"}}', {"a": "\ud83d"}, None),
        ('{"jsonrpc": "2.0", "id": "3", "result": [1]}', {"structuredContent": [1]}, None),
        ('{"id": 3, "result": {"a": 1}}', {"a": 1}, None),
        ('{"jsonrpc": "2.0", "id": 3, "error": "no \\ud83d"}', None, "no \ufffd"),
        ('{"jsonrpc": "2.0", "result": {"id": 9, "a": nothing}, "id": 3}', None, "Expecting value"),
    ],
)
async def test_what_any_transport_cannot_read_is_read_again(
    of: Callable[[str], Any], sent: str, result: Any, error: str | None
) -> None:
    [read] = await read_again(of(sent))
    assert isinstance(read, SessionMessage)
    message = read.message.root
    assert int(message.id) == 3  # type: ignore[union-attr]
    assert getattr(message, "result", None) == result
    assert (error or "") in str(getattr(message, "error", ""))


@pytest.mark.parametrize("sent", ["no JSON", "[]", '{"method": 7}', '{"id": 3, "method": 7}', '"id"'])
async def test_what_answers_no_call_is_passed_on_as_it_is(sent: str) -> None:
    [read] = await read_again(sent)
    assert isinstance(read, ValidationError)


async def read_again(sent: str | bytes) -> list[Any]:
    """Read what a transport passes on of a message that it cannot read."""
    writer, reader = create_memory_object_stream[SessionMessage | Exception](1)
    with pytest.raises(ValidationError) as unread:
        JSONRPCMessage.model_validate_json(sent)
    async with writer:
        await writer.send(unread.value)
    async with mended(reader) as stream:
        return [item async for item in stream]
