"""What is measured by whole turns shares this: a stand-in for the chat model, and an agent on a scratch database."""

import json
from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from ricordo.common.settings import Settings
from ricordo.evals.scratch import scratch_database
from ricordo.graph.notebook import Agent
from ricordo.graph.resources import Resources, in_use
from ricordo.graph.thread.checkpoints import open_checkpointer
from ricordo.models.embeddings import Embedder
from ricordo.stores.manager import MemoryManager


class StandIn(BaseChatModel):
    """A model that needs no time; what it says is up to the measurement."""

    @abstractmethod
    def reply(self, messages: Sequence[BaseMessage], tools: Sequence[Any]) -> AIMessageChunk:
        """Return what the model says next."""

    @property
    def _llm_type(self) -> str:
        return "stand-in"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Offer tools."""
        return self.bind(tools=tools, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],  # noqa: ARG002 - LangChain's signature
        stop: list[str] | None = None,  # noqa: ARG002 - the same
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - the same
        **_kwargs: Any,
    ) -> ChatResult:
        raise TypeError("the stand-in model only streams")

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain's signature
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002 - the same
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=self.reply(messages, kwargs.get("tools") or []))


def call(name: str, call_id: str, **args: object) -> AIMessageChunk:
    """Return a message that calls one tool."""
    chunk = tool_call_chunk(name=name, args=json.dumps(args), id=call_id, index=0)
    return AIMessageChunk(content="", tool_call_chunks=[chunk])


@asynccontextmanager
async def scratch_agent(
    resources: Resources, models: dict[str, BaseChatModel], settings: Settings, embedder: Embedder
) -> AsyncIterator[tuple[Agent, AsyncPostgresSaver]]:
    """Open an agent with its checkpointer on a scratch database.

    Args:
        resources: Open resources; their database is left alone, their toolbox is borrowed.
        models: Chat models by name.
        settings: The agent's.
        embedder: The agent's, of the same model as that of the resources.

    Raises:
        DatabaseError: No scratch database can be made.
    """
    async with scratch_database(resources.db.dsn, resources.embedder) as db, open_checkpointer(db.dsn) as saver:
        own = Resources(settings, db, embedder, MemoryManager(db, embedder), resources.toolbox, models)
        await own.toolbox.sync(db, embedder)
        try:
            with in_use(own):
                async with aclosing(Agent(own, saver)) as agent:
                    yield agent, saver
        finally:
            await own.toolbox.sync(resources.db, resources.embedder)
