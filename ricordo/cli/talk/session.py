"""A chat's session: the agent, opened while the first question is typed, and the thread that the talk is on."""

import asyncio
from collections.abc import AsyncIterator
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from ricordo.graph.notebook import Agent, Answer, Event


class Session:
    """Opened by `async with`, which returns at once; `agent` waits until all is there."""

    def __init__(self, thread: str, user: str, model: str | None) -> None:
        self.thread = thread
        self.user = user
        self.model = model
        self.answer: Answer | None = None
        """The latest one."""
        self._ready: asyncio.Future[Agent] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self.opening = asyncio.create_task(self._hold())
        """Done only when the agent could not be opened, or is closed."""

    async def _hold(self) -> None:
        """Open the agent, keep it, close it: in one task, as what it opens wants it."""
        try:
            notebook = await asyncio.to_thread(import_module, "ricordo.graph.notebook")  # two seconds, most of the wait
            async with notebook.open_agent() as agent:
                self._ready.set_result(agent)
                await self._closing.wait()
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(error)
                self._ready.exception()  # told by whoever waits for `opening` or `agent`
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        if not self._ready.done():
            self.opening.cancel()
        await asyncio.gather(self.opening, return_exceptions=True)

    async def agent(self) -> "Agent":
        """Return the agent, as soon as it is open.

        Raises:
            RicordoError: It cannot be opened.
        """
        return await asyncio.shield(self._ready)

    async def turn(self, question: str) -> "AsyncIterator[Event]":
        """Ask on the session's thread, and yield what happens."""
        from ricordo.graph.notebook import Answer

        agent = await self.agent()
        context: dict[str, Any] = {"user_id": self.user, "model": self.model}
        async for event in agent.stream(question, self.thread, **context):
            if isinstance(event, Answer):
                self.answer = event
            yield event
