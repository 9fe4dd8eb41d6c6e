"""One MCP server: calls over a session that is kept, and what went wrong in words without secrets.

A session is kept because many servers have a state (a browser, a login, an open database), and because to start a
program for each call takes seconds. Calls of all users go over the same session, side by side.
"""

import asyncio
import time
from typing import Any

from ricordo.common.errors import ToolError
from ricordo.common.text import clean
from ricordo.tools.mcp_file import Server
from ricordo.tools.mcp_link import Link, NotDeliveredError
from ricordo.tools.mcp_text import CLOSED, code_of, failed, reason_of, said_by, text_of
from ricordo.tools.mcp_wire import UNREADABLE, ListedTool, list_tools

_PAUSE = 5.0
"""Seconds for which a server that could not be reached is not tried again."""
_SAID = 300
"""Characters of a program's own words that a notice quotes."""


class McpServer:
    """A server with its session, for the event loop that it was made in."""

    def __init__(self, name: str, server: Server, seconds: float) -> None:
        self.name = name
        self.about = ""
        """What the server says of itself."""
        self.closed = False
        self._server = server
        self._expanded = server
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._lock = asyncio.Lock()
        self._link: Link | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._secrets: list[str] = []
        self._failed: tuple[float, str] = (float("-inf"), "")

    async def connect(self) -> list[ListedTool]:
        """Open the session, and return the server's tools.

        Raises:
            ConfigurationError: A variable that the file refers to is not set.
            ToolError: The server cannot be started or reached, or does not answer in time.
        """
        link = await self._session()
        try:
            async with asyncio.timeout(self._seconds):
                return await list_tools(link.session)
        except Exception as error:  # the libraries below raise of many kinds, and one server must not stop the others
            self._drop(link)
            why = self._late() if isinstance(error, TimeoutError) else self._why(error)
            raise ToolError(f"The MCP server '{self.name}' does not list its tools: {why}.") from error

    async def call(self, tool: str, arguments: dict[str, Any], answers: Any = None) -> str:
        """Call a tool, and return its result as text, with a word on its form where that is not as declared.

        Args:
            tool: Its name at the server.
            arguments: What it is called with.
            answers: The schema of structured content that the server declares, if it does.

        Raises:
            ToolError: The tool says that it failed, or the server went away.
        """
        if asyncio.get_running_loop() is self._loop:
            return await self._call(tool, arguments, answers)
        call = self._call(tool, arguments, answers)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, self._loop))

    async def close(self) -> None:
        """End the session, and the program if there is one."""
        self.closed = True
        if self._link is not None:
            self._link.stopping.set()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _call(self, tool: str, arguments: dict[str, Any], answers: Any) -> str:
        link = await self._session()
        try:
            try:
                result = await link.call(tool, arguments)
            except NotDeliveredError:  # the server has never seen it: once more, over a new connection
                self._drop(link)
                link = await self._session()
                result = await link.call(tool, arguments)
        except ToolError:
            raise
        except Exception as error:  # the libraries below raise of many kinds, and the model is to be told
            raise ToolError(self._failure(link, error)) from error
        text = self._hide(text_of(result, answers))
        if failed(result):
            raise ToolError(text)
        return text

    def _failure(self, link: Link, error: Exception) -> str:
        if isinstance(error, NotDeliveredError):
            self._drop(link)
            return f"The MCP server '{self.name}' cannot be reached: {self._why(error.__cause__ or error)}."
        if code_of(error) == UNREADABLE:
            return self._hide(
                f"The MCP server '{self.name}' has answered, but its answer cannot be read ({said_by(error)}). "
                "The call took effect: look at what it did before you call again."
            )
        if not link.task.done() and code_of(error) != CLOSED:
            return self._hide(f"The MCP server '{self.name}' refused the call: {said_by(error)}")
        self._drop(link)
        return (
            f"The MCP server '{self.name}' went away in the middle of the call ({self._why(error)}). Whether the call "
            "took effect is not known: look before you call again, which connects anew."
        )

    async def _session(self) -> Link:
        """Return an open session; a new one where the last one has ended or seems to hang."""
        async with self._lock:
            if self.closed:
                raise ToolError(f"The MCP server '{self.name}' has been closed with the agent that opened it.")
            if self._link is not None and not await self._link.is_alive():
                self._drop(self._link)
            if self._link is None:
                when, why = self._failed
                if time.monotonic() < when + _PAUSE:  # many calls at once do not each wait for it
                    raise ToolError(why)
                self._link = await self._open()
            return self._link

    async def _open(self) -> Link:
        server = self._expanded = self._server.expanded()
        self._secrets = server.secrets()
        link = Link(self.name, server)
        self._tasks.add(link.task)
        link.task.add_done_callback(self._forget)
        waiting: set[asyncio.Future[Any]] = {link.task, link.ready}
        done, _ = await asyncio.wait(waiting, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED)
        if link.ready in done:
            self.about = self._hide(link.ready.result())
            return link
        why = self._why(link.ended) if link.task in done else self._late()
        link.task.cancel()
        words = " ".join(link.words.split())[-_SAID:]
        said = f"; it said: {self._hide(words)}" if words else ""
        self._failed = time.monotonic(), f"The MCP server '{self.name}' cannot be used: {why}{said}."
        raise ToolError(self._failed[1])

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # it has been told where it mattered

    def _drop(self, link: Link) -> None:
        link.task.cancel()
        if link is self._link:
            self._link = None

    def _late(self) -> str:
        return f"{self._expanded.place} did not answer within {self._seconds:g} seconds"

    def _why(self, error: BaseException) -> str:
        return self._hide(reason_of(error, self._expanded))

    def _hide(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return clean(text)
