"""An open MCP session, held by a task of its own: the libraries want it left by the task that entered it."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from ricordo.tools.mcp_file import Server
from ricordo.tools.mcp_text import CLOSED, TERMINATED, code_of, leaf_of
from ricordo.tools.mcp_wire import Answer, call_tool, mended

if TYPE_CHECKING:
    import httpx
    from mcp import ClientSession

_log = logging.getLogger(__name__)

_HEARTBEAT = 3.0
"""Seconds between two looks at an HTTP server that owes an answer, and the longest wait for a sign of life."""
_WORDS_KEPT = 2000
"""Characters of what a program wrote to its standard error."""
_DRAIN_SECONDS = 0.2
_CONNECT, _SILENCE = 30.0, 300.0
"""Seconds in which a request must be taken, and those that its answer may be silent."""


def _client(
    headers: dict[str, str] | None = None, timeout: "httpx.Timeout | None" = None, auth: "httpx.Auth | None" = None
) -> "httpx.AsyncClient":
    """Return a client that reads bodies under a limit; the file's addresses themselves are the deployment's own."""
    from httpx import AsyncClient  # noqa: PLC0415 - few have MCP servers

    from ricordo.common.bodies import ACCEPTED, bounded  # noqa: PLC0415 - as above

    return AsyncClient(headers=ACCEPTED | (headers or {}), timeout=timeout, auth=auth, event_hooks=bounded())


class NotDeliveredError(Exception):
    """The connection had ended before the call was sent."""


class Link:
    """A session that opens at once and stays open until it is closed or breaks."""

    def __init__(self, name: str, server: Server) -> None:
        self.session: ClientSession
        self.ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """What the server says of itself, once the session is open."""
        self.stopping = asyncio.Event()
        self.words = ""
        """The end of what the program wrote to its standard error."""
        self._server = server
        self._pending = 0
        self._sent = 0
        """Calls and signs of life that were sent or asked for."""
        self._doubtful = False
        self.task = asyncio.create_task(self._hold(), name=f"mcp {name}")

    @property
    def ended(self) -> BaseException:
        """Why the session is not open any more."""
        error = None if self.task.cancelled() else self.task.exception()
        return leaf_of(error or ConnectionError("the connection ended"))

    async def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        """Call a tool.

        Raises:
            ToolError: The arguments cannot be sent.
            NotDeliveredError: The connection had ended before.
            Exception: The server refused, or the connection ended.
        """
        from anyio import BrokenResourceError, ClosedResourceError  # noqa: PLC0415 - few have MCP servers
        from httpx import ConnectError  # noqa: PLC0415 - the same
        from mcp import McpError  # noqa: PLC0415 - the same

        calling = asyncio.ensure_future(call_tool(self.session, tool, arguments))
        alone = self._pending == 0
        self._pending += 1
        self._sent += 1
        mine = self._sent
        try:
            await asyncio.wait({calling, self.task}, return_when=asyncio.FIRST_COMPLETED)
            if calling.done():
                return calling.result()
            ended = self.ended
            if isinstance(ended, ConnectError) and alone and self._sent == mine:
                raise NotDeliveredError from ended  # it was this call that found the door shut, and nothing else
            raise ended
        except (ClosedResourceError, BrokenResourceError) as error:
            raise NotDeliveredError from error
        except McpError as error:
            if code_of(error) == TERMINATED:
                raise NotDeliveredError from error
            raise
        except asyncio.CancelledError:
            self._doubtful = True  # its time was up: is it the tool that is slow, or the server that hangs?
            raise
        finally:
            self._pending -= 1
            calling.cancel()

    async def is_alive(self) -> bool:
        """Tell whether the session is open; one that let a call run out of time is asked."""
        if self._doubtful and not self.task.done():
            self._doubtful = not await self._answers()
        return not (self._doubtful or self.task.done())

    async def _answers(self) -> bool:
        from mcp import McpError  # noqa: PLC0415 - as above

        self._sent += 1
        try:
            async with asyncio.timeout(_HEARTBEAT):
                await self.session.send_ping()
        except TimeoutError:
            return False
        except McpError as error:
            return code_of(error) not in {CLOSED, TERMINATED}
        return True

    async def _hold(self) -> None:
        async with self._open() as session:
            about = await session.initialize()
            self.session = session
            name = about.serverInfo.title or about.serverInfo.name
            self.ready.set_result(f"{name}. {about.instructions}" if about.instructions else name)
            while not self.stopping.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.stopping.wait(), _HEARTBEAT)
                # An HTTP server that dies leaves its calls without an answer: a knock at its door ends the session.
                if self._pending and self._server.command is None and not self.stopping.is_set():
                    await self._answers()

    @asynccontextmanager
    async def _open(self) -> "AsyncIterator[ClientSession]":
        from mcp import ClientSession  # noqa: PLC0415 - as above

        async with self._transport() as (read, write), ClientSession(mended(read), write) as session:
            yield session

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[tuple[Any, Any]]:
        from httpx import Timeout  # noqa: PLC0415 - as above
        from mcp import StdioServerParameters, stdio_client  # noqa: PLC0415 - as above
        from mcp.client.sse import sse_client  # noqa: PLC0415 - as above
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - as above

        server = self._server
        if server.command is not None:
            given = StdioServerParameters(
                command=server.command,
                args=server.args,
                env=server.env,
                cwd=server.cwd,
                encoding_error_handler="replace",  # bytes that are no UTF-8 would end the session
            )
            async with self._listening() as errors, stdio_client(given, errlog=errors) as streams:
                yield streams
        elif server.transport == "sse":
            async with sse_client(server.url or "", server.headers, _CONNECT, _SILENCE, _client) as streams:
                yield streams
        else:
            async with (
                _client(server.headers, Timeout(_CONNECT, read=_SILENCE)) as client,
                streamable_http_client(server.url or "", http_client=client) as (read, write, _),
            ):
                yield read, write

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[TextIO]:
        """Give a file for the program's standard error; its end is kept for notices, all of it goes to the log."""
        reader = asyncio.StreamReader()
        ours, theirs = os.pipe()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours, "rb", buffering=0)
        )
        listening = asyncio.create_task(self._listen(reader))
        try:
            with os.fdopen(theirs, "w") as errors:
                yield errors
        finally:
            await asyncio.wait({listening}, timeout=_DRAIN_SECONDS)
            listening.cancel()
            transport.close()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while chunk := await reader.read(4096):
            text = chunk.decode(errors="replace")
            _log.debug("%s: %s", self._server.place, text.rstrip())
            self.words = (self.words + text)[-_WORDS_KEPT:]
