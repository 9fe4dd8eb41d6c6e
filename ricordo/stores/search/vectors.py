"""Memories found by meaning and by words: one class over every table that `0002_memories.sql` made searchable."""

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import numpy as np
from psycopg import sql

from ricordo.models.embedding_models import Vectors
from ricordo.models.embeddings import Embedder, text_hash
from ricordo.stores.postgres.connection import Connection
from ricordo.stores.search import unit_writer
from ricordo.stores.search.embedding_space import TABLES, ensure_space
from ricordo.stores.search.fusion import closeness
from ricordo.stores.search.statements import Search
from ricordo.stores.search.units import Hit, Prepared, Query, Unit, covered, is_whole, likeness, literal, make_query

__all__ = [
    "TABLES",
    "Connection",
    "Hit",
    "Prepared",
    "Query",
    "Unit",
    "VectorMemory",
    "ensure_space",
    "is_whole",
    "make_query",
]

_WORTH_CACHING = 8
"""Fewer texts are embedded again after a crash; more are kept as soon as they are embedded."""


class VectorMemory:
    """One searchable table."""

    def __init__(self, table: str, embedder: Embedder) -> None:
        self.table = table
        self.embedder = embedder
        self._search = Search(table, embedder.model_id, near=table in unit_writer.SEQUENCES)

    async def prepare(self, conn: Connection, user_id: str, units: Sequence[Unit], *, holes: bool = False) -> Prepared:
        """Embed units, except those whose text this memory holds already or was embedded before a crash.

        Args:
            conn: A transaction of the user, best not the one that writes, which then need not wait for the model.
            user_id: Whose units they are.
            units: What is to be written.
            holes: A unit that the model has no vector for gets one of NaN, and is found by its words alone.

        Raises:
            EmbeddingError: The model cannot be loaded or reached.
        """
        if not units:
            return Prepared(units, await self.embedder.passages([]))
        texts = [unit.searched for unit in units]
        hashes = [text_hash(text) for text in texts]
        known = await self._known(conn, hashes)
        missing = {key: text for key, text in zip(hashes, texts, strict=True) if key not in known}
        vectors = await self.embedder.passages(list(missing.values()), holes=holes)
        known.update(zip(missing, vectors, strict=True))
        missing = {key: text for key, text in missing.items() if is_whole(known[key])}
        if len(missing) >= _WORTH_CACHING:
            await conn.execute(
                "INSERT INTO embedding_cache (user_id, model, hash, embedding) "
                "SELECT %s, %s, * FROM unnest(%s::bytea[], %s::halfvec[]) ON CONFLICT DO NOTHING",
                (user_id, self.embedder.model_id, list(missing), [literal(known[key]) for key in missing]),
            )
        return Prepared(units, np.stack([known[key] for key in hashes]))

    async def _known(self, conn: Connection, hashes: Sequence[bytes]) -> dict[bytes, Vectors]:
        cursor = await conn.execute(
            sql.SQL(
                "SELECT hash, embedding::real[] AS vector FROM {t} WHERE hash = ANY(%(hashes)s) "
                "AND embedding_model = %(model)s UNION ALL "
                "SELECT hash, embedding::real[] FROM embedding_cache WHERE hash = ANY(%(hashes)s) AND model = %(model)s"
            ).format(t=sql.Identifier(self.table)),
            {"hashes": list(hashes), "model": self.embedder.model_id},
        )
        return {bytes(row["hash"]): np.asarray(row["vector"], np.float32) for row in await cursor.fetchall()}

    async def write(self, conn: Connection, user_id: str, units: Sequence[Unit] | Prepared) -> list[UUID]:
        """Write units whose id is new, in the caller's transaction.

        Args:
            conn: A transaction of the user.
            user_id: Whose units they are.
            units: Units, or what `prepare` made of them.

        Returns:
            The ids newly written.

        Raises:
            EmbeddingError: The model cannot be loaded or reached.
        """
        return await self._write(conn, user_id, units, replace=False)

    async def rewrite(self, conn: Connection, user_id: str, units: Sequence[Unit] | Prepared) -> list[UUID]:
        """Write units; what is stored under an id gets the new content, words, vector and given columns.

        Args:
            conn: A transaction of the user.
            user_id: Whose units they are.
            units: Units, or what `prepare` made of them; each id once.

        Returns:
            The ids written.

        Raises:
            EmbeddingError: The model cannot be loaded or reached.
        """
        return await self._write(conn, user_id, units, replace=True)

    async def _write(
        self, conn: Connection, user_id: str, units: Sequence[Unit] | Prepared, *, replace: bool
    ) -> list[UUID]:
        ready = units if isinstance(units, Prepared) else await self.prepare(conn, user_id, units)
        written: list[UUID] = []
        # Splitting a megabyte into words takes half a second, which other turns need not wait for.
        batches = await asyncio.to_thread(unit_writer.batches, ready, user_id, self.embedder.model_id)
        for records in batches:
            await unit_writer.give_places(conn, self.table, records)
            written += await unit_writer.insert(conn, self.table, records, replace=replace)
        if len(ready.units) >= _WORTH_CACHING:
            await conn.execute(
                "DELETE FROM embedding_cache WHERE hash = ANY(%s)",
                ([text_hash(unit.searched) for unit in ready.units],),
            )
        return written

    async def search(
        self,
        conn: Connection,
        query: Query,
        k: int,
        *,
        where: sql.Composable | None = None,
        params: Sequence[Any] = (),
    ) -> list[Hit]:
        """Find the k units that fit best, by meaning and by words.

        Args:
            conn: A transaction of the user who asks. It is searched whatever it may read: own units, those for
                everyone, and what others share, if it was opened for that. `row["user_id"]` tells whose a hit is.
            query: What is looked for.
            k: How many, at most.
            where: A condition on the table's columns, with a placeholder `%s` for each of `params`.
            params: The values of the condition.

        Returns:
            At most k hits, best first.
        """
        best = await self._search.run(conn, query, k, where=where, params=params)
        rows = await self._search.rows(conn, list(best), query)
        hits = []
        for id_, score in best.items():
            row = rows[id_]
            near = likeness(query, row.pop("with_query"), row.pop("with_centre"))
            hits.append(Hit(id_, row["content"], score, closeness(near, covered(query, row["content"])), row))
        return hits

    async def delete(self, conn: Connection, ids: Sequence[UUID]) -> int:
        """Delete units with their words; return how many there were."""
        cursor = await conn.execute(
            sql.SQL("DELETE FROM {t} WHERE id = ANY(%s)").format(t=sql.Identifier(self.table)), (list(ids),)
        )
        return cursor.rowcount
