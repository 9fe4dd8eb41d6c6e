"""MCP messages as servers send them: what is wrong with the form of one costs that one alone."""

import json
import re
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from ricordo.common.errors import ToolError
from ricordo.common.text import clean

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream
    from mcp import ClientSession
    from mcp.shared.message import SessionMessage

UNREADABLE = -32099
"""Our code for an answer that came and cannot be read."""
_MOST_PAGES = 1000
_ID_FIRST = re.compile(r'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d+)')
_ID_LAST = re.compile(r'"id"\s*:\s*"?(\d+)"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')
"""The id of a message that is no JSON we can read, at its beginning or at its end."""
_HEAD = 200
"""Characters at either end of a message in which its id is looked for."""


class Answer(BaseModel):
    """A result of `tools/call`, of whatever form."""

    model_config = ConfigDict(extra="allow")

    content: Any = None
    structuredContent: Any = None  # noqa: N815 - the protocol's name
    isError: Any = None  # noqa: N815 - the protocol's name


class ListedTool(BaseModel):
    """What a server says of a tool."""

    name: str
    description: str = ""
    parameters: dict[str, Any]
    answers: Any = None
    """The schema of its structured content, if it declares one."""


class _Page(BaseModel):
    model_config = ConfigDict(extra="allow")

    tools: Any = None
    nextCursor: Any = None  # noqa: N815 - the protocol's name


async def list_tools(session: "ClientSession") -> list[ListedTool]:
    """Ask a server for all its tools; one that has no name or no schema is left out.

    Raises:
        McpError: The server has none, or went away.
    """
    from mcp import types  # noqa: PLC0415 - few have MCP servers

    found: list[ListedTool] = []
    cursor, seen = None, set[str]()
    for _ in range(_MOST_PAGES):
        params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
        page = await session.send_request(types.ClientRequest(types.ListToolsRequest(params=params)), _Page)
        found += filter(None, map(_listed, page.tools if isinstance(page.tools, list) else []))
        cursor = page.nextCursor
        if not isinstance(cursor, str) or not cursor or cursor in seen:
            break
        seen.add(cursor)
    return found


def _listed(item: Any) -> ListedTool | None:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str) or not item["name"]:
        return None
    schema, about = item.get("inputSchema"), item.get("description")
    return ListedTool.model_construct(
        name=item["name"],
        description=about if isinstance(about, str) else "",
        parameters=schema if schema and isinstance(schema, dict) else {"type": "object", "properties": {}},
        answers=item.get("outputSchema"),
    )


async def call_tool(session: "ClientSession", tool: str, arguments: dict[str, Any]) -> Answer:
    """Call a tool; whatever the server answers is an answer.

    Raises:
        ToolError: The arguments cannot be sent.
        McpError: The server refused, or went away.
    """
    from mcp import types  # noqa: PLC0415 - few have MCP servers

    try:  # the transports would end the session, and all other calls, at what they cannot write
        params = types.CallToolRequestParams(name=tool, arguments=arguments)
        request = types.ClientRequest(types.CallToolRequest(params=params))
        request.model_dump_json()
        json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise ToolError(
            f"The arguments of {tool!r} cannot be sent: they are nested too deep, or hold what JSON in UTF-8 has no "
            "form for. The tool was not called; give plainer ones."
        ) from error
    return await session.send_request(request, Answer)


def mended(stream: "MemoryObjectReceiveStream[SessionMessage | Exception]") -> Any:
    """Return a transport's messages with those mended that it could not read.

    The `mcp` package passes a message that it cannot read over, and the call that it answers waits in vain.
    """
    from anyio.abc import ObjectReceiveStream  # noqa: PLC0415 - few have MCP servers

    class Mended(ObjectReceiveStream["SessionMessage | Exception"]):
        async def receive(self) -> "SessionMessage | Exception":
            item = await stream.receive()
            return (_mended(item) or item) if isinstance(item, ValidationError) else item

        async def aclose(self) -> None:
            await stream.aclose()

    return Mended()


def _mended(error: ValidationError) -> "SessionMessage | None":
    """Read again what a transport could not read; None of what answers no call."""
    from mcp.shared.message import SessionMessage  # noqa: PLC0415 - few have MCP servers
    from mcp.types import JSONRPCMessage  # noqa: PLC0415 - as above

    whole = _whole(error)
    if whole is None:
        return None
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": whole["id"]}
    if "error" in whole:
        told = whole["error"] if isinstance(whole["error"], dict) else {"message": whole["error"]}
        code = told.get("code")
        said = clean(str(told.get("message")))
        message["error"] = {"code": code if type(code) is int else 0, "message": said, "data": told.get("data")}
    else:
        result = whole.get("result")
        message["result"] = result if isinstance(result, dict) else {"structuredContent": result}
    try:
        return SessionMessage(JSONRPCMessage.model_validate(message))
    except ValidationError:
        return None


def _whole(error: ValidationError) -> dict[str, Any] | None:
    """Return the message that failed, if it is an answer; one that cannot be read at all becomes an error."""
    given = [part["input"] for part in error.errors(include_url=False, include_context=False)]
    text = next((part for part in given if isinstance(part, str | bytes)), None)
    found = next((part for part in given if isinstance(part, dict) and "id" in part), None)
    if found is None and text is not None:
        said = text.decode(errors="replace") if isinstance(text, bytes) else text
        try:
            found = json.loads(said)
        except (ValueError, RecursionError) as why:
            number = _ID_FIRST.match(said[:_HEAD]) or _ID_LAST.search(said[-_HEAD:])
            reason = "it is nested too deep" if isinstance(why, RecursionError) else str(why)
            return {"id": int(number[1]), "error": {"code": UNREADABLE, "message": reason}} if number else None
    answers = isinstance(found, dict) and "id" in found and "method" not in found
    return cast("dict[str, Any]", found) if answers else None
