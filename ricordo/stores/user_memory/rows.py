"""The statements over user memory, one function each; all run in a transaction of the user whose memory it is."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import sql

from ricordo.common.text import make_id
from ricordo.stores.postgres.connection import Connection
from ricordo.stores.user_memory.claims import normal

Row = dict[str, Any]

COLUMNS = sql.SQL(
    "id, seq, content, type, importance, tags, origin, thread_id, message_id, created_at, updated_at, valid_from, "
    "valid_to, superseded_by, deleted_at, delete_reason, said_on, slot"
)
LIVE = sql.SQL("valid_to IS NULL AND deleted_at IS NULL")
"""What holds now."""
EVERY = sql.SQL("true ORDER BY seq")
"""All, in the order in which they were stored."""


@dataclass(frozen=True)
class Source:
    """Where a memory comes from: who said it, where, in which words."""

    origin: str
    wording: str
    thread_id: UUID | None = None
    message_id: UUID | None = None


async def lock(conn: Connection) -> datetime:
    """Let one transaction at a time change a user's memory; return the moment, later than those of all before it."""
    await conn.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('user_memory' || current_setting('app.user_id'), 0))"
    )
    row = await (await conn.execute("SELECT clock_timestamp() AS moment")).fetchone()
    moment: datetime = (row or {})["moment"]
    return moment


async def select(conn: Connection, condition: sql.Composable, params: Sequence[Any] = ()) -> list[Row]:
    """Read the user's memories of which a condition holds; an order and a limit may follow it."""
    statement = sql.SQL("SELECT {columns} FROM user_memory WHERE {condition}")
    cursor = await conn.execute(statement.format(columns=COLUMNS, condition=condition), params)
    return await cursor.fetchall()


async def get(conn: Connection, ids: Collection[UUID]) -> dict[UUID, Row]:
    """Read memories by their ids, whatever became of them."""
    return {row["id"]: row for row in await select(conn, sql.SQL("id = ANY(%s)"), [list(ids)])}


def same_key(content: str) -> bytes:
    """Return what a statement has in common with those that state the same: a SHA-256."""
    return hashlib.sha256(normal(content).encode()).digest()


async def live_same(conn: Connection, content: str) -> Row | None:
    """Read the memory that states the same and holds."""
    same = same_key(content)
    for row in await select(conn, sql.SQL("{} AND same = %s").format(LIVE), [same]):
        if (own := same_key(row["content"])) == same:
            return row
        # Stored when case and signs made no difference: it must not stand in the way of what differs by them.
        await conn.execute("UPDATE user_memory SET same = %s WHERE id = %s", (own, row["id"]))
    return None


async def live_in_slots(conn: Connection, slots: Collection[str]) -> list[Row]:
    """Read what fills one of the slots now."""
    return await select(conn, sql.SQL("{} AND slot = ANY(%s)").format(LIVE), [list(slots)]) if slots else []


async def latest(conn: Connection, memory_id: UUID) -> Row | None:
    """Follow a memory to what took its place, to the end; None where there is no such memory."""
    cursor = await conn.execute(
        sql.SQL(
            "WITH RECURSIVE line AS (SELECT id, superseded_by, 0 AS step FROM user_memory WHERE id = %s UNION ALL "
            "SELECT m.id, m.superseded_by, step + 1 FROM user_memory m JOIN line ON m.id = line.superseded_by) "
            "CYCLE id SET again USING path SELECT id FROM line ORDER BY step DESC LIMIT 1"
        ),
        (memory_id,),
    )
    last = await cursor.fetchone()
    return (await get(conn, [last["id"]]))[last["id"]] if last else None


async def line(conn: Connection, memory_id: UUID, *, forward: bool = True) -> list[Row]:
    """Read a memory with all that it replaced, and (`forward`) all that replaced it, in the order of time."""
    last = await latest(conn, memory_id) if forward else None
    cursor = await conn.execute(
        sql.SQL(
            "WITH RECURSIVE before AS (SELECT id FROM user_memory WHERE id = %s "
            "UNION SELECT m.id FROM user_memory m JOIN before ON m.superseded_by = before.id) SELECT id FROM before"
        ),
        (last["id"] if last else memory_id,),
    )
    found = await get(conn, [row["id"] for row in await cursor.fetchall()])
    return sorted(found.values(), key=lambda row: (row["valid_from"], row["seq"]))


async def nearest_live(conn: Connection, vector: str, model: str, k: int) -> list[Row]:
    """Read the live memories nearest to a vector, with their `likeness` and the `average` one of all."""
    cursor = await conn.execute(
        sql.SQL(
            "SELECT * FROM (SELECT {columns}, -(embedding <#> %s::halfvec) AS likeness, "
            "avg(-(embedding <#> %s::halfvec)) OVER () AS average FROM user_memory "
            "WHERE {live} AND embedding_model = %s) near ORDER BY likeness DESC LIMIT %s"
        ).format(columns=COLUMNS, live=LIVE),
        (vector, vector, model, k),
    )
    return await cursor.fetchall()


async def critical(conn: Connection, limit: int) -> list[Row]:
    """Read what always stands in the window: by the user's own word, of high importance, or the user's name."""
    condition = sql.SQL(
        "{} AND (importance = 'high' OR slot = 'user name') AND origin IN ('user', 'import') "
        "AND type IN ('preference', 'fact') ORDER BY valid_from DESC, seq DESC LIMIT %s"
    )
    return await select(conn, condition.format(LIVE), [limit])


async def retire(conn: Connection, ids: Sequence[UUID], by: UUID | None, moment: datetime) -> None:
    """End the time of memories; what takes their place, if anything does, is there at the end of the transaction."""
    if ids:
        await conn.execute(
            "UPDATE user_memory SET valid_to = greatest(%s, valid_from), superseded_by = %s, updated_at = %s "
            "WHERE id = ANY(%s)",
            (moment, by, moment, list(ids)),
        )


async def amend(conn: Connection, row: Row, moment: datetime, **changes: Any) -> Row:
    """Change a memory's importance, tags or origin where it stands."""
    new = row | {name: value for name, value in changes.items() if value is not None}
    if new != row:
        new["updated_at"] = moment
        await conn.execute(
            "UPDATE user_memory SET importance = %s, tags = %s, origin = %s, updated_at = %s WHERE id = %s",
            (new["importance"], new["tags"], new["origin"], moment, row["id"]),
        )
    return new


async def mark_forgotten(conn: Connection, ids: Sequence[UUID], moment: datetime, reason: str) -> None:
    """Take memories out of all that is read, until they are brought back or purged."""
    await conn.execute(
        "UPDATE user_memory SET deleted_at = %s, delete_reason = %s, updated_at = %s WHERE id = ANY(%s)",
        (moment, reason, moment, list(ids)),
    )


async def bring_back(conn: Connection, ids: Sequence[UUID], moment: datetime) -> None:
    """Undo `mark_forgotten`."""
    await conn.execute(
        "UPDATE user_memory SET deleted_at = NULL, delete_reason = NULL, updated_at = %s WHERE id = ANY(%s)",
        (moment, list(ids)),
    )


async def forgotten_since(conn: Connection, moment: datetime) -> list[Row]:
    """Read what was forgotten since a moment, the latest first."""
    return await select(conn, sql.SQL("deleted_at >= %s ORDER BY deleted_at DESC, seq DESC"), [moment])


async def remove_forgotten(conn: Connection, before: datetime) -> list[UUID]:
    """Delete what was forgotten before a moment, with its sources, for good."""
    cursor = await conn.execute(sql.SQL("DELETE FROM user_memory WHERE deleted_at < %s RETURNING id"), (before,))
    return [row["id"] for row in await cursor.fetchall()]


async def add_source(conn: Connection, user_id: str, memory_id: UUID, source: Source, moment: datetime) -> bool:
    """Note where a memory comes from; the same words in the same message are noted once."""
    key = make_id("memory source", memory_id, source.thread_id, source.message_id, source.origin, source.wording)
    cursor = await conn.execute(
        "INSERT INTO user_memory_sources (id, user_id, memory_id, origin, thread_id, message_id, wording, said_at) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO NOTHING",
        (key, user_id, memory_id, source.origin, source.thread_id, source.message_id, source.wording, moment),
    )
    return cursor.rowcount == 1


async def sources(conn: Connection, ids: Collection[UUID]) -> dict[UUID, list[Row]]:
    """Read where memories come from, the first first."""
    cursor = await conn.execute(
        sql.SQL(
            "SELECT id, memory_id, origin, thread_id, message_id, wording, said_at FROM user_memory_sources "
            "WHERE memory_id = ANY(%s) ORDER BY said_at, id"
        ),
        (list(ids),),
    )
    found: dict[UUID, list[Row]] = {key: [] for key in ids}
    for row in await cursor.fetchall():
        found[row["memory_id"]].append(row)
    return found
