"""What a process holds once: the database, the embedding model, the memories, the toolbox."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from langchain_core.language_models import BaseChatModel

from ricordo.common.errors import ConfigurationError
from ricordo.common.logs import clean_records
from ricordo.common.settings import Settings, get_settings
from ricordo.graph.tracing import settle_tracing
from ricordo.graph.upkeep import keep_tidy
from ricordo.models import tokens
from ricordo.models.chat import OFFLINE, close_model, make_model
from ricordo.models.embeddings import Embedder, chosen_embedder, light_embedder
from ricordo.models.manners import Manners
from ricordo.models.tokens import ProviderCounts
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import Database, open_database
from ricordo.stores.search.embedding_cache import known_passages
from ricordo.stores.search.vectors import ensure_space
from ricordo.stores.toolbox.box import Toolbox, toolbox
from ricordo.stores.toolbox.start import begin, catch_up

if TYPE_CHECKING:
    from ricordo.tools.mcp import ServerState

Step = TypeVar("Step")


@dataclass
class Resources:
    """The open parts; valid inside `open_resources`."""

    settings: Settings
    db: Database
    embedder: Embedder
    manager: MemoryManager
    toolbox: Toolbox
    models: dict[str, BaseChatModel] = field(default_factory=dict)
    """Chat models by name; one's own, and those that have been made."""
    mcp_servers: "list[ServerState]" = field(default_factory=list)
    """What became of the MCP servers that the deployment names."""
    serves: bool = False
    """Whether they are a server's."""
    usage: ProviderCounts = field(default_factory=ProviderCounts)
    _manners: dict[str, Manners] = field(default_factory=dict)
    _made: list[str] = field(default_factory=list)
    background: set[asyncio.Task[None]] = field(default_factory=set)

    def chat_model(self, name: str) -> BaseChatModel:
        """Return the chat model of that name; made once.

        Raises:
            ConfigurationError: The name is unknown, or its provider's package is not installed.
        """
        if name not in self.models:
            self.models[name] = self._offline() if name == OFFLINE else make_model(name, self.settings)
            self._made.append(name)
        return self.models[name]

    def manners(self, name: str) -> Manners:
        """Return what is known of the chat model of that name."""
        return self._manners.setdefault(name, Manners())

    async def close_models(self) -> None:
        """Close the connections of the chat models that were made here; they belong to this event loop."""
        for name in self._made:
            await close_model(self.models[name])

    def _offline(self) -> BaseChatModel:
        from ricordo.offline.chat import OfflineChat  # noqa: PLC0415 - only those without a model need it

        return OfflineChat(
            embedder=self.embedder,
            examples=lambda name: self.toolbox.get(name).examples,
            known=partial(known_passages, self.db, self.embedder),
        )


_open: list[Resources] = []
_of_turn: ContextVar[Resources | None] = ContextVar("_of_turn", default=None)


def get_resources() -> Resources:
    """Return the resources of the turn that is under way, or else those of this process.

    Raises:
        ConfigurationError: Nothing is open.
    """
    if (of_turn := _of_turn.get()) is not None:
        return of_turn
    if not _open:
        raise ConfigurationError(
            "Ricordo's resources are not open. Use `async with open_agent() as agent:` (graph.notebook), or run the "
            "graph by `langgraph dev` in the project's folder, whose langgraph.json opens them."
        )
    # The runs of a server name no resources, and a tool of theirs may open some of its own.
    return next((each for each in _open if each.serves), _open[-1])


async def within(resources: Resources, steps: AsyncGenerator[Step]) -> AsyncGenerator[Step]:
    """Go through the steps of a turn with its own resources, whatever else this process has opened."""
    while True:
        token = _of_turn.set(resources)
        try:
            step = await anext(steps)
        except StopAsyncIteration:
            return
        finally:
            _of_turn.reset(token)
        yield step


@contextmanager
def in_use(resources: Resources) -> Iterator[None]:
    """Make these the process's resources; nested, the innermost hold, unless a turn or a server has its own."""
    _open.append(resources)
    try:
        yield
    finally:
        _open.remove(resources)


@asynccontextmanager
async def open_resources(
    settings: Settings | None = None, models: Mapping[str, BaseChatModel] | None = None, *, serves: bool = False
) -> AsyncIterator[Resources]:
    """Open everything, and close it in the end; one event loop, any number of turns.

    Args:
        settings: None: those of the process.
        models: Chat models of one's own, by name.
        serves: Whether these are the resources of a server, whose runs do not say whose they are.

    Raises:
        DatabaseError: PostgreSQL cannot be started, reached or migrated.
        EmbeddingMismatchError: The database holds vectors of another model.
        ConfigurationError: A setting cannot be used.
    """
    # The shipped tools, registered by this import, ask for the resources themselves.
    from ricordo.tools.mcp import mcp_tools  # noqa: PLC0415 - as said
    from ricordo.tools.own import load_own_tools  # noqa: PLC0415 - as said

    settings = settings or get_settings()
    settle_tracing()
    if serves:
        clean_records()
    await asyncio.to_thread(load_own_tools, settings.tools)
    embedder = chosen_embedder(settings)
    # The models are read from disk while the database is opened, not in the first turn.
    loading = [asyncio.create_task(model.load()) for model in (embedder, light_embedder())]
    await asyncio.to_thread(tokens.count, "")  # the tables are read here, not in the first turn's event loop
    async with open_database(settings) as db, mcp_tools(settings, toolbox) as servers:
        manager = MemoryManager(db, embedder)
        resources = Resources(settings, db, embedder, manager, toolbox, dict(models or {}), servers, serves=serves)
        await ensure_space(db.dsn, embedder)
        all_known = await begin(toolbox, db, embedder)
        with in_use(resources):
            resources.background.update([*loading, asyncio.create_task(keep_tidy(db, settings))])
            if not all_known:
                resources.background.add(asyncio.create_task(catch_up(toolbox, db, embedder)))
            try:
                yield resources
            finally:
                for task in resources.background:
                    task.cancel()
                await asyncio.gather(*resources.background, return_exceptions=True)
                await embedder.aclose()
                await resources.close_models()
