"""Memories found by meaning and by words: one class over every table that `0002_memories.sql` made searchable."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection, sql
from psycopg.rows import dict_row
from psycopg.types.json import Json, Jsonb

from graph.embedding_models import Vectors
from graph.embeddings import Embedder, text_hash
from graph.errors import EmbeddingMismatchError
from stores.fusion import Candidate, fuse
from stores.lexical import K1, B, terms
from stores.text import clean

Connection = AsyncConnection[dict[str, Any]]

TABLES = ("knowledge_base", "workflow", "entity", "summary", "user_memory")
"""The searchable tables."""

_CANDIDATES = 200
"""Units that each half of a search brings to the fusion."""
_BATCH = 500
"""Units written by one statement."""


@dataclass(frozen=True)
class Query:
    """What is looked for, split and embedded once for every memory that is asked."""

    text: str
    embedding: Vectors | None
    """Shape (dims,), unit length; None searches by words alone."""
    terms: Counter[str]


@dataclass(frozen=True)
class Unit:
    """What is written: an id that follows from the content or its origin, the content, the table's own columns."""

    id: UUID
    content: str
    columns: Mapping[str, Any]
    indexed: str | None = None
    """What is embedded and split into words, where that is not the content."""


@dataclass(frozen=True)
class Hit:
    """What was found."""

    id: UUID
    content: str
    score: float
    """0 to 1, fused of meaning and words; comparable within one list only."""
    row: dict[str, Any]
    """The table's columns, its embedding excepted."""


@dataclass(frozen=True)
class Prepared:
    """Units with their vectors, ready to be written."""

    units: Sequence[Unit]
    vectors: Vectors
    """Shape (number of units, dims)."""


async def make_query(embedder: Embedder, text: str) -> Query:
    """Embed and split a question.

    Raises:
        EmbeddingError: The model cannot be loaded or reached.
    """
    text = clean(text)
    return Query(text, await embedder.query(text), terms(text))


def _plain(value: object) -> Any:
    if isinstance(value, Json | Jsonb):
        return value.obj
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"a column of a unit cannot hold {type(value).__name__}")


def _literal(vector: Vectors) -> str:
    # Half precision keeps three digits and a half.
    return "[" + ",".join(["%.5g" % x for x in vector.tolist()]) + "]"


class VectorMemory:
    """One searchable table."""

    def __init__(self, table: str, embedder: Embedder) -> None:
        self.table = table
        self.embedder = embedder
        self._table = sql.Identifier(table)
        self._terms = sql.Identifier(f"{table}_terms")

    async def prepare(self, conn: Connection, user_id: str, units: Sequence[Unit]) -> Prepared:
        """Embed units, those excepted whose text was embedded before.

        Args:
            conn: Reads and fills the user's cache of vectors; best in a transaction of its own, so that
                `write` need not wait for the model.

        Raises:
            EmbeddingError: The model cannot be loaded or reached.
        """
        texts = [clean(unit.content if unit.indexed is None else unit.indexed) for unit in units]
        return Prepared(units, await self.embedder.passages(texts))

    async def write(self, conn: Connection, user_id: str, units: Sequence[Unit] | Prepared) -> list[UUID]:
        """Write units whose id is new, in the caller's transaction.

        Args:
            units: Units, or what `prepare` made of them.

        Returns:
            The ids newly written.

        Raises:
            EmbeddingError: The model cannot be loaded or reached.
        """
        prepared = units if isinstance(units, Prepared) else await self.prepare(conn, user_id, units)
        written: list[UUID] = []
        for start in range(0, len(prepared.units), _BATCH):
            written += await self._write(
                conn, user_id, prepared.units[start : start + _BATCH], prepared.vectors[start : start + _BATCH]
            )
        return written

    async def _write(self, conn: Connection, user_id: str, units: Sequence[Unit], vectors: Vectors) -> list[UUID]:
        names = list(dict.fromkeys(name for unit in units for name in unit.columns))
        records, words = [], {}
        for unit, vector in zip(units, vectors, strict=True):
            indexed = None if unit.indexed is None else clean(unit.indexed)
            content = clean(unit.content)
            text = content if indexed is None else indexed
            words[unit.id] = terms(text)
            records.append(
                {
                    **{name: unit.columns[name] for name in names},
                    "id": unit.id,
                    "user_id": user_id,
                    "content": content,
                    "indexed": indexed,
                    "hash": "\\x" + text_hash(text).hex(),
                    "embedding": _literal(vector),
                    "embedding_model": self.embedder.model_id,
                    "length": words[unit.id].total(),
                }
            )
        columns = sql.SQL(", ").join(map(sql.Identifier, records[0]))
        cursor = await conn.execute(
            sql.SQL(
                "INSERT INTO {t} ({columns}) SELECT {columns} FROM json_populate_recordset(NULL::{t}, %s) "
                "ON CONFLICT (id) DO NOTHING RETURNING id"
            ).format(t=self._table, columns=columns),
            (json.dumps(records, default=_plain),),
        )
        written = [row["id"] for row in await cursor.fetchall()]
        postings = [(term, id_, tf, words[id_].total()) for id_ in written for term, tf in words[id_].items()]
        if postings:
            term, unit_id, tf, length = map(list, zip(*postings, strict=True))
            await conn.execute(
                sql.SQL(
                    "INSERT INTO {terms} (user_id, term, unit_id, tf, length) "
                    "SELECT %s, * FROM unnest(%s::text[], %s::uuid[], %s::integer[], %s::integer[])"
                ).format(terms=self._terms),
                (user_id, term, unit_id, tf, length),
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
            conn: A transaction of the user whose memory is searched.
            where: A condition on the table's columns, with a placeholder `%s` for each of `params`.

        Returns:
            At most k hits, best first.
        """
        condition = where or sql.SQL("true")
        cursor = await conn.execute(
            sql.SQL(
                "WITH units AS (SELECT count(*) AS n, avg(length)::float8 AS mean FROM {t}), "
                "postings AS (SELECT unit_id, term, tf, length, count(*) OVER (PARTITION BY term) AS df "
                "FROM {terms} WHERE term = ANY(%s)), "
                "lexical AS (SELECT p.unit_id AS id, sum(ln(1 + (n - df + 0.5) / (df + 0.5)) * tf * (%s + 1) "
                "/ (tf + %s * (1 - %s + %s * p.length / mean))) AS score "
                "FROM postings p CROSS JOIN units GROUP BY p.unit_id) "
                "SELECT id, 1 - (embedding <=> %s::halfvec) AS dense, coalesce(l.score, 0)::float8 AS lexical "
                "FROM {t} LEFT JOIN lexical l USING (id) WHERE ({where}) "
                "AND (embedding_model = %s) IS NOT FALSE"
            ).format(t=self._table, terms=self._terms, where=condition),
            (
                list(query.terms),
                *(K1, K1, B, B),
                None if query.embedding is None else _literal(query.embedding),
                *params,
                self.embedder.model_id,
            ),
        )
        found = [Candidate(row["id"], row["dense"], row["lexical"]) for row in await cursor.fetchall()]
        best = fuse(found)[:k]
        cursor = await conn.execute(
            sql.SQL("SELECT {t}.*, NULL AS embedding FROM {t} WHERE id = ANY(%s)").format(t=self._table),
            ([id_ for id_, _ in best],),
        )
        rows = {row["id"]: row for row in await cursor.fetchall()}
        return [Hit(id_, rows[id_]["content"], score, rows[id_]) for id_, score in best]

    async def delete(self, conn: Connection, ids: Sequence[UUID]) -> int:
        """Delete units with their words and their cached vectors; return how many there were."""
        cursor = await conn.execute(sql.SQL("DELETE FROM {t} WHERE id = ANY(%s)").format(t=self._table), (list(ids),))
        return cursor.rowcount


async def ensure_space(dsn: str, embedder: Embedder) -> None:
    """Note which model fills the memories, at its first use, and make the index for its vectors.

    Args:
        dsn: The database, by a role that owns the tables.

    Raises:
        EmbeddingMismatchError: The memories hold vectors of another model.
        EmbeddingError: The width of a remote model had to be asked, and it cannot be reached.
    """
    async with await AsyncConnection.connect(dsn, row_factory=dict_row) as conn:
        await conn.execute("SELECT set_config('app.user_id', '*', true)")
        await conn.execute("SELECT pg_advisory_xact_lock(hashtext('ricordo.embedding_space'))")
        row = await (await conn.execute("SELECT model, dims FROM embedding_space")).fetchone()
        if row is None:
            await conn.execute(
                "INSERT INTO embedding_space (model, dims) VALUES (%s, %s)",
                (embedder.model_id, await embedder.measure()),
            )
        elif row["model"] != embedder.model_id:
            raise EmbeddingMismatchError(
                f"Memory holds vectors of {row['model']} ({row['dims']} dimensions), and RICORDO_EMBEDDINGS asks for "
                f"{embedder.model_id}: the two cannot be compared. Run `ricordo reembed` to embed everything anew, or "
                f"set RICORDO_EMBEDDINGS back."
            )
