"""User memory as it is read: by what fits a question, by what became of it, by what was done."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from psycopg import sql

from ricordo.common.errors import InputError, NotFoundError
from ricordo.common.text import parse_id
from ricordo.stores.postgres.connection import Connection
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.units import Hit, Query, make_query, related
from ricordo.stores.search.vectors import VectorMemory
from ricordo.stores.user_memory import history, rows
from ricordo.stores.user_memory.fields import in_its_field
from ricordo.stores.user_memory.query import Filter
from ricordo.stores.user_memory.rows import LIVE, Row

_CRITICAL = 50
_LOOKED_AT = 50
"""Memories, the best, of which those that have to do with a question are taken."""
_STATS = sql.SQL(
    "SELECT count(*) FILTER (WHERE {live}) AS live, "
    "count(*) FILTER (WHERE valid_to IS NOT NULL AND deleted_at IS NULL) AS superseded, "
    "count(*) FILTER (WHERE deleted_at IS NOT NULL) AS forgotten, "
    "min(valid_from) FILTER (WHERE {live}) AS oldest, max(valid_from) FILTER (WHERE {live}) AS newest, "
    "(SELECT count(*) FROM user_memory_sources) AS sources, "
    "(SELECT count(*) FROM user_memory_audit) AS events FROM user_memory"
).format(live=LIVE)
_COUNTS = sql.SQL("SELECT {column} AS kind, count(*) AS n FROM user_memory WHERE {live} GROUP BY 1 ORDER BY 2 DESC")


class MemoryReader:
    """Reads the memories of one user."""

    def __init__(self, db: Database, memory: VectorMemory, user_id: str) -> None:
        self.db = db
        self.memory = memory
        self.user_id = user_id

    async def current(self, memory_id: str) -> Row:
        """Read a memory, or what has taken its place since.

        Raises:
            NotFoundError: This user has no such memory, or it was forgotten.
        """
        async with self.db.transaction(self.user_id) as conn:
            return await self._current(conn, memory_id)

    async def _current(self, conn: Connection, memory_id: str) -> Row:
        row = await rows.latest(conn, parse_id(memory_id, "memory"))
        if row is None or row["deleted_at"] is not None:
            raise missing(memory_id, row)
        return row

    async def recall(
        self, query: Query | str, limit: int = 5, which: Filter | None = None, *, shared: bool = False
    ) -> list[Hit]:
        """Find what fits a question, the best first.

        Args:
            query: The question.
            limit: How many, at most.
            which: Among which memories; None: those that hold now.
            shared: Also among those that other users share with this one.

        Raises:
            InputError: The question is empty, or the span of time is.
            EmbeddingError: The embedding model cannot be used.
        """
        if not (query if isinstance(query, str) else query.text).strip():
            raise InputError("The query is empty: say what the memories should be about.")
        ready = await make_query(self.memory.embedder, query) if isinstance(query, str) else query
        which = which or Filter()
        found = await self._search(ready, max(limit, _LOOKED_AT), which, shared=shared)
        # "What do you know about me?" and "what did I say in May?" ask for all there is.
        return (related(found) if ready.topic and not which.bounds else found)[:limit]

    async def _search(self, query: Query, k: int, which: Filter, *, shared: bool = False) -> list[Hit]:
        """Find what fits a question best, whether it has to do with it or not."""
        where, params = which.condition()
        async with self.db.transaction(self.user_id, shared=shared) as conn:
            hits = await self.memory.search(conn, query, k, where=where, params=params)
        return [replace(hit, closeness=in_its_field(hit.closeness, query.text, hit.content)) for hit in hits]

    async def nearest(self, query: Query | str, k: int = 5) -> Sequence[Row]:
        """Read what holds and is nearest to some words; nothing to no words."""
        ready = await make_query(self.memory.embedder, query) if isinstance(query, str) else query
        return [hit.row for hit in await self._search(ready, k, Filter())] if ready.text.strip() else []

    async def find(self, memory_id: str) -> Row:
        """Read a memory, whether it holds or not.

        Raises:
            NotFoundError: This user has no such memory, or it was forgotten.
        """
        key = parse_id(memory_id, "memory")
        async with self.db.transaction(self.user_id) as conn:
            row = (await rows.get(conn, [key])).get(key)
        if row is None or row["deleted_at"] is not None:
            raise missing(memory_id, row)
        return row

    async def critical(self) -> Sequence[Row]:
        """Read what always stands in the window, the newest first."""
        async with self.db.transaction(self.user_id) as conn:
            return await rows.critical(conn, _CRITICAL)

    async def list(self, which: Filter | None = None, limit: int | None = None, offset: int = 0) -> Sequence[Row]:
        """Read memories, the newest first."""
        where, params = (which or Filter()).condition()
        order = sql.SQL("{} ORDER BY valid_from DESC, seq DESC LIMIT %s OFFSET %s").format(where)
        async with self.db.transaction(self.user_id) as conn:
            return await rows.select(conn, order, [*params, limit, offset])

    async def show(self, memory_id: str) -> tuple[Sequence[Row], Mapping[UUID, Sequence[Row]]]:
        """Read a memory with what it replaced and what replaced it, in the order of time, and the sources of each.

        Raises:
            NotFoundError: This user has no such memory.
        """
        key = parse_id(memory_id, "memory")
        async with self.db.transaction(self.user_id) as conn:
            found = await rows.line(conn, key)
            if not found:
                raise missing(memory_id, None)
            return found, await rows.sources(conn, [row["id"] for row in found])

    async def history(self, memory_id: str | None = None, limit: int | None = None) -> Sequence[Row]:
        """Read the audit trail in the order of time: of one memory and its line, or the latest of all."""
        async with self.db.transaction(self.user_id) as conn:
            if memory_id is None:
                return await history.read(conn, limit=limit)
            key = parse_id(memory_id, "memory")
            return await history.read(conn, {key, *(row["id"] for row in await rows.line(conn, key))}, limit)

    async def stats(self) -> dict[str, Any]:
        """Count memories by what became of them, and those that hold by type, importance and origin."""
        async with self.db.transaction(self.user_id) as conn:
            (counts,) = await (await conn.execute(_STATS)).fetchall()
            for column in ("type", "importance", "origin"):
                cursor = await conn.execute(_COUNTS.format(column=sql.Identifier(column), live=LIVE))
                counts[f"by_{column}"] = {row["kind"]: row["n"] for row in await cursor.fetchall()}
        return counts


def missing(memory_id: str, row: Row | None) -> NotFoundError:
    """Say that there is no such memory, or (given its row) that it was forgotten."""
    if row is None:
        return NotFoundError(f"There is no memory '{memory_id}'. recall (`ricordo memory list`) shows the ids.")
    return NotFoundError(
        f"The memory '{row['id']}' was forgotten on {row['deleted_at']:%Y-%m-%d}. The user can bring it back by "
        f"`ricordo memory undo {row['id']}`."
    )
