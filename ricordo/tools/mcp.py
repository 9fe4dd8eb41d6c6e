"""Tools of MCP servers, joined to the toolbox: each server a group, each tool like any other.

The servers are those of the file that `RICORDO_MCP_FILE` names. One that is down costs its own tools and no more.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from langchain_core.tools import BaseTool

from ricordo.common.errors import RicordoError, ToolError
from ricordo.common.settings import Settings
from ricordo.common.text import clean
from ricordo.stores.toolbox.box import GROUPS, Toolbox
from ricordo.stores.toolbox.schema import bounded
from ricordo.tools.mcp_file import Server, read_mcp_file
from ricordo.tools.mcp_session import McpServer
from ricordo.tools.mcp_wire import ListedTool

_log = logging.getLogger(__name__)

_LONGEST_NAME = 64
_ABOUT = 500
"""Characters of a server's description of itself that are kept as the group's."""


@dataclass(frozen=True)
class ServerState:
    """What became of a server of the file."""

    name: str
    transport: str
    status: Literal["up", "down", "disabled"]
    group: str = ""
    tools: tuple[str, ...] = ()
    """The names under which its tools are registered."""
    notice: str = ""
    """What is wrong with it, and that its tools are left out."""


class McpTool(BaseTool):
    """A tool of a server.

    It passes all arguments on as they are, `config` and `runtime` too, which LangChain takes for its own.
    """

    elsewhere: ClassVar = True
    """What it does happens at the server: its source tells nothing."""
    server: McpServer
    called_there: str
    """Its name at the server."""
    answers: Any = None
    """The schema of its structured content, if the server declares one."""

    def _to_args_and_kwargs(
        self,
        tool_input: str | dict[str, Any],
        tool_call_id: str | None,  # noqa: ARG002 - LangChain's signature
    ) -> tuple[tuple[()], dict[str, Any]]:
        return (), {"arguments": tool_input if isinstance(tool_input, dict) else {}}

    def _run(self, arguments: dict[str, Any]) -> str:
        raise NotImplementedError(f"The tool {self.name!r} of an MCP server is asynchronous: use ainvoke.")

    async def _arun(self, arguments: dict[str, Any]) -> str:
        return await self.server.call(self.called_there, arguments, self.answers)


@asynccontextmanager
async def mcp_tools(settings: Settings, toolbox: Toolbox, *, warn: bool = True) -> AsyncIterator[list[ServerState]]:
    """Register the tools of all servers, and take them out again in the end.

    All servers are asked at once, each for as long as `mcp_timeout_seconds` allows; those that are down are noted.

    Args:
        settings: Name the file.
        toolbox: Where the tools go.
        warn: Whether to log what is wrong with a server; the caller tells it otherwise.

    Raises:
        ConfigurationError: The file cannot be read or is malformed.
    """
    if settings.mcp_file is None:
        yield []
        return
    entries = await asyncio.to_thread(read_mcp_file, settings.mcp_file)
    await asyncio.to_thread(_import)
    servers = {
        name: McpServer(name, entry, settings.mcp_timeout_seconds)
        for name, entry in entries.items()
        if not entry.disabled
    }
    outer = [tool for tool in toolbox if isinstance(tool.source, McpTool)]  # this process has opened them before
    for tool in outer:
        toolbox.remove(tool.name)
    states: list[ServerState] = []
    try:
        found = dict(zip(servers, await asyncio.gather(*map(_tools_of, servers.values())), strict=True))
        states += [
            _join(toolbox, name, entry, servers[name], found[name])
            if name in servers
            else ServerState(name, entry.transport, "disabled")
            for name, entry in entries.items()
        ]
        for state in states:
            if state.notice:
                toolbox.notices[state.group] = state.notice
                _log.log(logging.WARNING if warn else logging.DEBUG, "%s", state.notice)
        yield states
    finally:
        for state in states:
            toolbox.notices.pop(state.group, None)
            toolbox.kept_groups.discard(state.group)
            toolbox.groups.pop(state.group, None)
        for tool in toolbox:
            if isinstance(tool.source, McpTool) and servers.get(tool.source.server.name) is tool.source.server:
                toolbox.remove(tool.name)
        for tool in outer:
            if isinstance(tool.source, McpTool) and not tool.source.server.closed and tool.name not in toolbox:
                toolbox.register_tool(tool.source, group=tool.group, side_effect=True)
        await asyncio.gather(*(server.close() for server in servers.values()))


def _import() -> None:
    """Import what takes seconds, off the event loop; the loggers below would repeat whole messages at any fault."""
    import mcp.client.streamable_http  # noqa: F401, PLC0415 - only who has servers pays for it

    logging.getLogger("mcp").setLevel(logging.CRITICAL)


async def _tools_of(server: McpServer) -> list[ListedTool] | RicordoError:
    try:
        return await server.connect()
    except RicordoError as error:
        return error


def _join(
    toolbox: Toolbox, name: str, entry: Server, server: McpServer, found: Sequence[ListedTool] | RicordoError
) -> ServerState:
    group = _free(clean(name), {*GROUPS, *(tool.group for tool in toolbox)}, "mcp")
    if isinstance(found, RicordoError):
        notice = str(found)
        if not isinstance(found, ToolError):
            notice = f"The MCP server '{name}' cannot be used: {notice}."
        toolbox.kept_groups.add(group)
        return ServerState(name, entry.transport, "down", group, notice=f"{notice} Its tools are left out.")
    toolbox.groups[group] = bounded(server.about, _ABOUT)
    joined = []
    for tool in found:
        called = _free(_fit(tool.name), {other.name for other in toolbox}, _fit(name))
        made = McpTool(
            name=called,
            description=clean(tool.description),
            args_schema=tool.parameters,
            server=server,
            called_there=tool.name,
            answers=tool.answers,
        )
        toolbox.register_tool(made, group=group, side_effect=True)
        joined.append(called)
    return ServerState(name, entry.transport, "up", group, tuple(joined))


def _fit(name: str) -> str:
    """Return a name of characters that providers take."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:_LONGEST_NAME] or "tool"


def _free(name: str, taken: set[str], prefix: str) -> str:
    """Return a name that is not taken: the name, else one with the prefix, else numbered."""
    choices = [name, f"{prefix}_{name}"[:_LONGEST_NAME]]
    numbers = (f"{choices[1][: _LONGEST_NAME - 4]}_{number}" for number in range(2, 1000))
    return next(choice for choice in (*choices, *numbers) if choice not in taken)
