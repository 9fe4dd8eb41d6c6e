"""The agent for notebooks and scripts.

```python
async with open_agent() as agent:
    answer = await agent.ask("Can you get me the paper MemGPT", thread_id="papers")
    async for event in agent.stream("Save its content", thread_id="papers"):
        ...
```
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, cast
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, HumanMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables import RunnableConfig

from ricordo.common.errors import InputError
from ricordo.common.settings import Settings
from ricordo.common.text import clean
from ricordo.graph import events
from ricordo.graph.agent import builder
from ricordo.graph.context import Context
from ricordo.graph.events import ToolEnded, ToolStarted, WindowCompacted, WindowFilled
from ricordo.graph.resources import Resources, open_resources, within
from ricordo.graph.state import InputState
from ricordo.graph.thread.attachments import named
from ricordo.graph.thread.branch import MEMORY_LEADS, THREAD_HELD
from ricordo.graph.thread.checkpoints import checkpointer_of
from ricordo.stores.conversation import thread_key
from ricordo.stores.thread_lock import ThreadLocks

__all__ = [
    "Agent",
    "Answer",
    "Event",
    "Token",
    "ToolEnded",
    "ToolStarted",
    "WindowCompacted",
    "WindowFilled",
    "call_agent",
    "open_agent",
]

_STEPS_PER_ITERATION = 6  # nodes of one round of the loop, a compaction with its second check included
_CONFIG = {"callbacks", "tags", "metadata", "run_name"}
"""What a caller may say in LangChain's config; all else of a run has an argument of its own."""


@dataclass(frozen=True)
class Answer:
    """How a turn ended; the object that `ricordo ask --json` prints."""

    answer: str
    stop_reason: str
    iterations: int
    thread_id: str
    user_id: str
    run_id: str
    model: str
    context: dict[str, Any] = field(default_factory=dict)
    usage: UsageMetadata | None = None
    """Tokens of the turn's model calls as the provider counted them, summaries left out; None if it told nothing."""
    tools_offered: list[list[str]] = field(default_factory=list)
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    compactions: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Token:
    """A piece of the answer as the model says it."""

    text: str
    message_id: str | None = None


@dataclass(frozen=True)
class Restarted:
    """The answer broke off: what was said of it is void, and the model begins it anew."""


Question = str | list[str | dict[str, Any]]
"""What a turn is asked."""
Event = Token | Restarted | ToolStarted | ToolEnded | WindowFilled | WindowCompacted | Answer


class Agent:
    """The graph with a checkpointer; made by `open_agent`."""

    def __init__(self, resources: Resources, checkpointer: Any) -> None:
        self.resources = resources
        self._graph = builder.compile(checkpointer=checkpointer, name="ricordo")
        self._locks = ThreadLocks(resources.db.dsn)

    async def aclose(self) -> None:
        """Let go of every thread."""
        await self._locks.close()

    async def ask(
        self, question: Question, thread_id: str = "1", *, config: RunnableConfig | None = None, **context: Any
    ) -> Answer:
        """Ask and wait for the answer.

        Args:
            question: Any text; or LangChain's content blocks, with pictures and files among them.
            thread_id: The conversation it belongs to; a UUID, or a name that is this user's own.
            config: LangChain's: callbacks, tags, metadata, run_name.
            context: Fields of `ricordo.graph.context.Context`, such as user_id, model, max_iterations.

        Raises:
            InputError: The question is empty, or a field is unknown.
            ThreadBusyError: Another turn of the thread does not end.
            ThreadOwnerError: The thread belongs to another user.
            DatabaseError: The database cannot be reached; the question may have to be asked again.
        """
        async with aclosing(self.stream(question, thread_id, config=config, **context)) as events:
            async for event in events:
                if isinstance(event, Answer):
                    return event
        raise InputError("The turn ended without an answer.")

    async def stream(
        self, question: Question, thread_id: str = "1", *, config: RunnableConfig | None = None, **context: Any
    ) -> AsyncGenerator[Event, None]:
        """Ask, and yield what happens; the last event is the `Answer`. Arguments and errors as for `ask`."""
        asking = HumanMessage(clean(question) if isinstance(question, str) else question, id=str(uuid4()))
        if not named(asking).strip():
            raise InputError("The question is empty: say what you want to know.")
        chosen = _context(context)
        manager = self.resources.manager.for_user(chosen.user_id)
        thread = clean(thread_id).strip()
        if not thread:
            raise InputError("The thread's name is empty: give it one, or leave it out for the usual thread, 1.")
        key = thread_key(manager.user_id, thread)
        traced = _trace_of(config or {}, manager.user_id)
        await manager.claim_thread(thread)
        async with self._locks.hold(key, thread, self.resources.settings.thread_wait_seconds) as assure:
            limit = (chosen.max_iterations or self.resources.settings.max_iterations) + 2
            run: RunnableConfig = {
                **traced,
                "configurable": {"thread_id": str(key), MEMORY_LEADS: True, THREAD_HELD: assure},
                "run_id": uuid4(),
                "recursion_limit": limit * _STEPS_PER_ITERATION,
            }
            asked: InputState = {"messages": [asking]}
            modes: list[Literal["messages", "custom", "values"]] = ["messages", "custom", "values"]
            values: dict[str, Any] = {}
            speaking: str | None = None  # id of the message that is being said
            # Memory is written by the nodes as they go; the state is needed at the end alone.
            parts = self._graph.astream(asked, run, context=chosen, stream_mode=modes, durability="exit")
            async with aclosing(cast("AsyncGenerator[tuple[str, Any], None]", parts)) as happenings:
                async for mode, part in within(self.resources, happenings):
                    if mode == "values":
                        values = part
                        continue
                    if event := _event(mode, part):
                        said = event.message_id if isinstance(event, Token) else None
                        if said and speaking not in {said, None}:
                            yield Restarted()
                        speaking = said or speaking
                        yield event
                    speaking = None if mode == "custom" else speaking
            calls = await manager.tool_calls(thread, values["run_id"]) if values["tool_calls"] else []
            told = {f.name: values[f.name] for f in fields(Answer) if f.name in values}
            args = {str(row["id"]): row["args"] for row in calls}
            told["tool_calls"] = [{**call, "args": args.get(call["log_id"], {})} for call in values["tool_calls"]]
            model = chosen.model or self.resources.settings.chat_model
            answer = str(values["messages"][-1].text)
            yield Answer(answer=answer, thread_id=thread, user_id=manager.user_id, model=model, **told)


def _context(given: dict[str, Any]) -> Context:
    try:
        return Context(**given)
    except TypeError:
        known = ", ".join(f.name for f in fields(Context))
        unknown = ", ".join(sorted(set(given) - {f.name for f in fields(Context)}))
        raise InputError(f"There is no option '{unknown}'. The options of a run are: {known}.") from None


def _trace_of(given: RunnableConfig, user_id: str) -> RunnableConfig:
    """Return what a caller may say of a run in LangChain's config, with the user in its metadata."""
    if unknown := sorted(set(given) - _CONFIG):
        raise InputError(
            f"'{', '.join(unknown)}' cannot be given in a run's config: it takes {', '.join(sorted(_CONFIG))}. The "
            "thread and the options of a run are arguments of their own."
        )
    return {**given, "metadata": {**given.get("metadata", {}), "user_id": user_id}}


def _event(mode: str, part: Any) -> Event | None:
    if mode == "messages":
        message, about = part
        speaks = isinstance(message, AIMessageChunk) and about.get("langgraph_node") == "llm" and message.text
        return Token(str(message.text), message.id) if speaks else None
    event = events.read(part)
    return None if isinstance(event, events.Ended) else event


@asynccontextmanager
async def open_agent(
    settings: Settings | None = None, models: Mapping[str, BaseChatModel] | None = None
) -> AsyncIterator[Agent]:
    """Open everything the agent needs, in the current event loop, and close it in the end.

    Args:
        settings: None: from the environment.
        models: Chat models of one's own by name; `ask(..., model=name)` chooses one.

    Raises:
        DatabaseError: PostgreSQL cannot be started, reached or migrated.
        ConfigurationError: A setting cannot be used.
    """
    async with (
        open_resources(settings, models) as resources,
        checkpointer_of(resources.db) as saver,
        aclosing(Agent(resources, saver)) as agent,
    ):
        yield agent


def call_agent(query: str, thread_id: str = "1", max_iterations: int = 10, **context: Any) -> str:
    """Ask one question from synchronous code, a notebook's cell included, and return the answer's text.

    Opens and closes everything for each call; for more than a few questions use `open_agent`.

    Raises:
        RicordoError: As for `Agent.ask` and `open_agent`.
    """

    async def once() -> str:
        async with open_agent() as agent:
            return (await agent.ask(query, thread_id, max_iterations=max_iterations, **context)).answer

    # A notebook's own event loop runs in this thread: the call gets one in another.
    result: list[str] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            result.append(asyncio.run(once()))
        except BaseException as error:  # noqa: BLE001 - raised again below, in the caller's thread
            failed.append(error)

    worker = threading.Thread(target=work, name="ricordo")
    worker.start()
    worker.join()
    if failed:
        raise failed[0]
    return result[0]
