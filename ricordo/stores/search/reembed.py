"""A change of embedding model: every memory is embedded anew while the agent goes on answering.

The new model is noted as the target, so that agents may start with it. Row by row the new vector takes the old one's
place; what is not done yet is found by its words. How far it is stands in the rows themselves: whoever starts it again
goes on where it stopped. In the end the new model's index is built, the model is exchanged, and the old index goes.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg import sql

from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.connection import Connection, alone
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.embedding_space import TABLES, index_name, make_index
from ricordo.stores.search.units import is_whole, literal

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

_BATCH = 32
"""Units that are embedded and written at once: what a crash costs."""
_INDEX_MEMORY = "256MB"
"""An index that does not fit in it is built at a tenth of the speed: this is enough for 200,000 units."""


@dataclass(slots=True)
class Reembedded:
    """What was done."""

    model: str
    before: str | None
    """The model that was in use; None for a database without one."""
    units: dict[str, int] = field(default_factory=dict)
    """Embedded anew, by table."""


async def reembed(db: Database, embedder: Embedder, *, progress: Progress | None = None) -> Reembedded:
    """Embed all that another model embedded, or none, with this one.

    Args:
        db: The database.
        embedder: The new model.
        progress: Told how far it is.

    Raises:
        EmbeddingError: The model cannot be loaded or reached; what was done is kept.
        DatabaseError: The database cannot be reached, or another process is at the same work.
    """
    tell = progress or (lambda _what, _done, _all: None)
    dims = await embedder.measure()
    async with alone(db.dsn, "reembed", "embedding the memories anew") as session:
        await session.execute(f"SET maintenance_work_mem = '{_INDEX_MEMORY}'")
        before = await _aim(db, embedder.model_id, dims)
        done = Reembedded(embedder.model_id, before)
        while await _embed_all(db, embedder, done, tell):
            pass  # agents with the old model have written meanwhile
        for number, table in enumerate(TABLES):
            tell("indexing", number, len(TABLES))
            await _index(session, table, embedder.model_id, dims)
        tell("indexing", len(TABLES), len(TABLES))
        await _embed_all(db, embedder, done, tell)
        await _arrive(db, embedder.model_id, dims)
        await _drop_old(session, embedder.model_id, dims)
        await _forget_cached(db, embedder.model_id)
    return done


async def _aim(db: Database, model: str, dims: int) -> str | None:
    """Note the new model as the target; return the one in use."""
    async with db.as_owner("*") as conn:
        await conn.execute("SELECT pg_advisory_xact_lock(hashtext('embeddings'))")
        row = await (await conn.execute("SELECT model FROM embedding_space")).fetchone()
        if row is None:
            await conn.execute("INSERT INTO embedding_space (model, dims) VALUES (%s, %s)", (model, dims))
            return None
        await conn.execute("UPDATE embedding_space SET target = %s, target_dims = %s", (model, dims))
        return str(row["model"])


async def _arrive(db: Database, model: str, dims: int) -> None:
    """Exchange the model."""
    async with db.as_owner("*") as conn:
        await conn.execute("SELECT pg_advisory_xact_lock(hashtext('embeddings'))")
        await conn.execute(
            "UPDATE embedding_space SET model = %s, dims = %s, target = NULL, target_dims = NULL", (model, dims)
        )


async def _embed_all(db: Database, embedder: Embedder, done: Reembedded, tell: Progress) -> int:
    """Embed what this model has not embedded yet, user by user; return how many units there were."""
    todo = await _to_do(db, embedder.model_id)
    total, count = sum(todo.values()), 0
    for table, user in todo:
        async for written in _embed_user(db, embedder, table, user):
            count += written
            done.units[table] = done.units.get(table, 0) + written
            tell("embedding", min(count, total), total)
    return count


async def _to_do(db: Database, model: str) -> dict[tuple[str, str], int]:
    """Count the units that the model has not embedded, by table and user."""
    todo: dict[tuple[str, str], int] = {}
    async with db.as_owner() as conn:
        for table in TABLES:
            cursor = await conn.execute(
                sql.SQL(
                    "SELECT user_id, count(*) AS n FROM {} WHERE embedding_model IS DISTINCT FROM %s "
                    "GROUP BY user_id ORDER BY user_id"
                ).format(sql.Identifier(table)),
                (model,),
            )
            todo |= {(table, row["user_id"]): row["n"] for row in await cursor.fetchall()}
    return todo


async def _embed_user(db: Database, embedder: Embedder, table: str, user: str) -> AsyncIterator[int]:
    """Embed one user's units of one table, batch by batch; yield how many were written.

    By place, which is fixed: units that come in meanwhile are met later, and nothing is met twice.
    """
    after: int | None = None
    while True:
        async with db.transaction(user) as conn:
            cursor = await conn.execute(
                sql.SQL(
                    "SELECT id, place, hash, coalesce(indexed, content) AS text FROM {} "
                    "WHERE user_id = %s AND embedding_model IS DISTINCT FROM %s AND (%s::bigint IS NULL OR place > %s) "
                    "ORDER BY place LIMIT %s"
                ).format(sql.Identifier(table)),
                (user, embedder.model_id, after, after, _BATCH),
            )
            rows = await cursor.fetchall()
        if not rows:
            break
        after = rows[-1]["place"]
        vectors = await embedder.passages([row["text"] for row in rows], holes=True)
        whole = [(row, literal(vector)) for row, vector in zip(rows, vectors, strict=True) if is_whole(vector)]
        async with db.transaction(user) as conn:
            written = await _write(conn, table, embedder.model_id, whole)
        yield written


async def _write(conn: Connection, table: str, model: str, rows: Sequence[tuple[dict[str, Any], str]]) -> int:
    """Put the new vectors in place of the old ones, except where the text has changed since it was read."""
    cursor = await conn.execute(
        sql.SQL(
            "UPDATE {} t SET embedding = n.embedding, embedding_model = %s "
            "FROM unnest(%s::uuid[], %s::bytea[], %s::halfvec[]) AS n(id, hash, embedding) "
            "WHERE t.id = n.id AND t.hash = n.hash"
        ).format(sql.Identifier(table)),
        (model, [row["id"] for row, _ in rows], [bytes(row["hash"]) for row, _ in rows], [text for _, text in rows]),
    )
    return cursor.rowcount


async def _index(session: Connection, table: str, model: str, dims: int) -> None:
    """Build the index of the new model beside the agents' work; one that a crash has left unfinished is begun anew."""
    name = index_name(table, model, dims)
    cursor = await session.execute(
        "SELECT FROM pg_index WHERE indexrelid = to_regclass(%s) AND NOT indisvalid", (f'"{name}"',)
    )
    if cursor.rowcount:
        await session.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(name)))
    await make_index(session, table, model, dims, concurrently=True)


async def _drop_old(session: Connection, model: str, dims: int) -> None:
    """Drop the vector indexes of other models."""
    kept = [index_name(table, model, dims) for table in TABLES]
    cursor = await session.execute(
        "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam "
        "WHERE m.amname = 'hnsw' AND i.indrelid = ANY(%s::text[]::regclass[]) AND c.relname <> ALL(%s)",
        (list(TABLES), kept),
    )
    for row in await cursor.fetchall():
        await session.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(row["relname"])))


async def _forget_cached(db: Database, model: str) -> None:
    """Delete the other models' vectors of texts that are not stored yet."""
    async with db.as_owner() as conn:
        cursor = await conn.execute("SELECT DISTINCT user_id FROM embedding_cache WHERE model <> %s", (model,))
        users = [row["user_id"] for row in await cursor.fetchall()]
    for user in users:
        async with db.transaction(user) as conn:
            await conn.execute("DELETE FROM embedding_cache WHERE model <> %s", (model,))
