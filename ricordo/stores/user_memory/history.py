"""The audit trail of user memory: who did what to which memory, when and why."""

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Literal
from uuid import UUID, uuid4

from psycopg import sql
from psycopg.types.json import Jsonb

from ricordo.stores.postgres.connection import Connection
from ricordo.stores.postgres.database import Database
from ricordo.stores.user_memory import rows
from ricordo.stores.user_memory.rows import Row

Actor = Literal["user", "agent", "system"]
Action = Literal[
    "remember",
    "repeat",
    "merge",
    "supersede",
    "update",
    "refuse",
    "forget",
    "undo",
    "purge",
    "export",
    "import",
    "end",
]


@dataclass(frozen=True)
class Event:
    """Something that was done."""

    actor: Actor
    action: Action
    memory_id: UUID | None = None
    thread_id: UUID | None = None
    reason: str = ""
    detail: dict[str, Any] = field(default_factory=dict)


async def note(conn: Connection, user_id: str, moment: datetime, *events: Event) -> None:
    """Write down what was done, in the transaction that does it."""
    for event in events:
        await restore(conn, user_id, uuid4(), moment, event)


async def restore(conn: Connection, user_id: str, key: UUID, moment: datetime, event: Event) -> bool:
    """Write down what was done at some time under an id; False if it is there already."""
    detail = Jsonb(event.detail, dumps=partial(json.dumps, default=str))
    cursor = await conn.execute(
        "INSERT INTO user_memory_audit (id, user_id, at, actor, action, memory_id, thread_id, reason, detail) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO NOTHING",
        (key, user_id, moment, event.actor, event.action, event.memory_id, event.thread_id, event.reason, detail),
    )
    return cursor.rowcount == 1


async def read(conn: Connection, ids: Collection[UUID] | None = None, limit: int | None = None) -> list[Row]:
    """Read what was done, in the order in which it was.

    Args:
        conn: A transaction of the user.
        ids: Only what was done to these memories.
        limit: The latest so many; None: all.
    """
    chosen = sql.SQL("true") if ids is None else sql.SQL("memory_id = ANY(%s)")
    cursor = await conn.execute(
        sql.SQL(
            "SELECT id, seq, at, actor, action, memory_id, thread_id, reason, detail FROM user_memory_audit "
            "WHERE {chosen} ORDER BY at DESC, seq DESC LIMIT %s"
        ).format(chosen=chosen),
        (*([] if ids is None else [list(ids)]), limit),
    )
    return (await cursor.fetchall())[::-1]


async def scrub(conn: Connection, ids: Collection[UUID]) -> None:
    """Take out of the trail whatever words it holds of some memories: they are gone for good."""
    await conn.execute(
        sql.SQL("UPDATE user_memory_audit SET reason = '', detail = '{{}}' WHERE memory_id = ANY(%s)").format(),
        (list(ids),),
    )


async def purge(db: Database, user_id: str, *, days: float, actor: Actor = "system") -> int:
    """Delete for good what a user forgot more than some days ago, its words in the audit trail too.

    Returns:
        How many memories there were.

    Raises:
        DatabaseError: The database cannot be reached.
    """
    async with db.transaction(user_id) as conn:
        moment = await rows.lock(conn)
        gone = await rows.remove_forgotten(conn, moment - timedelta(days=days))
        await scrub(conn, gone)
        await note(conn, user_id, moment, *(Event(actor, "purge", key) for key in gone))
    return len(gone)
