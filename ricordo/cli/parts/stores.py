"""The stores without the agent, for commands that look, tidy or take in: quicker to open than the graph."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ricordo.cli.parts import output

if TYPE_CHECKING:
    from ricordo.stores.manager import MemoryManager


@asynccontextmanager
async def open_memory(user: str | None, *, embedding: bool = False) -> "AsyncIterator[MemoryManager]":
    """Open one user's memories.

    Args:
        user: The user's name as it was typed; None for what belongs to everyone.
        embedding: Something will be embedded: make sure that the database's vectors are of this model.

    Raises:
        DatabaseError: PostgreSQL cannot be started, reached or migrated.
        ConfigurationError: A setting cannot be used.
        EmbeddingMismatchError: The database holds vectors of another model.
        InputError: The user's name is empty or reserved.
    """
    from ricordo.common.settings import get_settings
    from ricordo.models.embeddings import chosen_embedder
    from ricordo.stores.manager import MemoryManager
    from ricordo.stores.postgres.database import EVERYONE, open_database
    from ricordo.stores.search.vectors import ensure_space

    settings = get_settings()
    embedder = chosen_embedder(settings)
    async with open_database(settings) as db:
        if embedding:
            await ensure_space(db.dsn, embedder)
        manager = MemoryManager(db, embedder, EVERYONE)
        yield manager if user is None else manager.for_user(output.as_text(user))
