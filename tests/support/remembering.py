"""What tests of user memory look at, and how they travel in time."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from ricordo.stores.user_memory.query import Filter
from ricordo.stores.user_memory.store import UserMemory

LOVES, HATES = "The user loves jazz.", "The user hates jazz now and cannot stand it any more."
TEA = "The user loves green tea."


async def contents(memory: UserMemory, **which: Any) -> list[str]:
    """Return what is stored, the newest first."""
    return [row["content"] for row in await memory.list(Filter(**which))]


async def found(memory: UserMemory, query: str, **which: Any) -> list[str]:
    """Return what a recall finds, the best first."""
    return [hit.content for hit in await memory.recall(query, 10, Filter(**which))]


async def set_back(memory: UserMemory, key: UUID, days: float) -> None:
    """Let a memory have been stored some days ago."""
    async with memory.db.transaction(memory.user_id) as conn:
        await conn.execute(
            "UPDATE user_memory SET valid_from = valid_from - %(d)s, valid_to = valid_to - %(d)s WHERE id = %(key)s",
            {"d": timedelta(days=days), "key": key},
        )
        await conn.execute("UPDATE user_memory_sources SET said_at = said_at - %s", (timedelta(days=days),))
