"""The whole harness in one process, on a real database with real embeddings; the chat model is a scripted stand-in."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from ricordo import tools
from ricordo.common.settings import Settings
from ricordo.graph.notebook import Agent, Answer
from ricordo.graph.resources import Resources, in_use
from ricordo.graph.thread.checkpoints import open_checkpointer
from ricordo.models.embeddings import Embedder
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.vectors import ensure_space

Reply = AIMessage | Exception | Callable[[list[BaseMessage]], AIMessage]


def says(text: str) -> AIMessage:
    """A plain answer."""
    return AIMessage(text)


def calls(*wanted: tuple[str, dict[str, Any]], text: str = "") -> AIMessage:
    """An answer that calls tools, each (name, arguments)."""
    made = [ToolCall(name=name, args=args, id=f"call_{i}_{name}") for i, (name, args) in enumerate(wanted)]
    return AIMessage(text, tool_calls=made)


class ScriptedChat(BaseChatModel):
    """A stand-in model: plays a script, one reply a call, and keeps what it was asked."""

    script: list[Any] = Field(default_factory=list)
    asked: list[list[BaseMessage]] = Field(default_factory=list)
    offered: list[list[str]] = Field(default_factory=list)
    overdrawn: bool = False
    """It was asked for a reply more than it had; the agent takes that for any other failure of a provider."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _next(self, messages: list[BaseMessage], kwargs: dict[str, Any]) -> AIMessage:
        self.asked.append(messages)
        self.offered.append([tool["function"]["name"] for tool in kwargs.get("tools", [])])
        if not self.script:
            self.overdrawn = True
        reply = self.script.pop(0)
        if isinstance(reply, Exception):
            raise reply
        made: AIMessage = reply if isinstance(reply, AIMessage) else reply(messages)
        return made

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - the same
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages, kwargs))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - the same
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002 - the same
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        reply = self._next(messages, kwargs)
        chunk = AIMessageChunk(
            content=reply.content,
            tool_calls=reply.tool_calls,
            invalid_tool_calls=reply.invalid_tool_calls,
            id=reply.id,
            usage_metadata=reply.usage_metadata,
            response_metadata=reply.response_metadata,
        )
        yield ChatGenerationChunk(message=chunk)


class Harness:
    """An agent whose model is scripted; `window(-1)` is the latest window it saw."""

    def __init__(self, agent: Agent, model: ScriptedChat) -> None:
        self.agent = agent
        self.model = model
        self.resources = agent.resources

    async def ask(self, question: str, *replies: Reply, thread_id: str = "t", **context: Any) -> Answer:
        """Ask with a script for this turn; the script must be used up."""
        self.model.script[:] = replies
        answer = await self.agent.ask(question, thread_id, **context)
        assert not self.model.script, f"the model was not asked for {len(self.model.script)} replies"
        assert not self.model.overdrawn, "the model was asked for a reply that the script does not have"
        return answer

    def memory(self, user_id: str = "default") -> MemoryManager:
        """Return a user's memories."""
        return self.resources.manager.for_user(user_id)

    def window(self, index: int = -1) -> str:
        """Return the window of a model call."""
        return str(self.model.asked[index][1].text)

    def segment(self, name: str, index: int = -1) -> str:
        """Return a segment of a window."""
        after = self.window(index).split(f"## {name} Memory\n", 1)[1]
        return after.split("\n\n## ", 1)[0]

    def results(self, index: int = -1) -> list[str]:
        """Return the tool results that a model call carried."""
        return [str(m.text) for m in self.model.asked[index] if m.type == "tool"]


@asynccontextmanager
async def open_harness(db: Database, embedder: Embedder, home: Path, **settings: Any) -> AsyncIterator[Harness]:
    """Open the harness on a test's database."""
    chosen = Settings(home=home, model="scripted", **{"context_window": 32_000, "summary_model": "offline", **settings})
    await ensure_space(db.dsn, embedder)
    model = ScriptedChat()
    resources = Resources(chosen, db, embedder, MemoryManager(db, embedder), tools.toolbox, {"scripted": model})
    await tools.toolbox.sync(db, embedder)
    with in_use(resources):
        async with open_checkpointer(db.dsn) as saver, aclosing(Agent(resources, saver)) as agent:
            try:
                yield Harness(agent, model)
            finally:
                await resources.close_models()


def texts(messages: Iterable[BaseMessage]) -> list[str]:
    """Return the texts of messages."""
    return [str(m.text) for m in messages]
