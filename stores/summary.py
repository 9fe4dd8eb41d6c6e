"""Summary memory: what compaction made of older turns, and the way back to the original messages."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from stores import conversation
from stores.conversation import Connection, Row
from stores.vectors import Prepared, Unit, VectorMemory


@dataclass(frozen=True)
class NewSummary:
    """A summary to be stored; its id follows from what it covers."""

    id: UUID
    thread_id: UUID
    description: str
    content: str
    covers: Sequence[UUID]
    """Ids of the messages (level 0) or of the summaries (level 1 and up) below it."""
    level: int = 0
    structured: dict[str, Any] = field(default_factory=dict)

    def unit(self) -> Unit:
        """Return the searchable unit: the description is embedded, the summary is kept."""
        columns = {
            "thread_id": self.thread_id,
            "description": self.description,
            "structured": Jsonb(self.structured),
            "covers": list(self.covers),
            "level": self.level,
        }
        return Unit(self.id, self.content, columns, indexed=self.description)


async def adopt(conn: Connection, parent: UUID, children: Sequence[UUID]) -> bool:
    """Put summaries under a summary of summaries: all of them or none.

    Returns:
        False if another compaction has taken one of them meanwhile; the caller then rolls back.
    """
    taken = await conn.execute(
        "UPDATE summary SET parent = %s WHERE id = ANY(%s) AND parent IS NULL", (parent, list(children))
    )
    return taken.rowcount == len(children)


async def tops(conn: Connection, thread_id: UUID) -> list[Row]:
    """Read a thread's summaries that no other one covers, in the order of what they cover."""
    cursor = await conn.execute(
        "SELECT id, description, content, level, created_at, cardinality(covers) AS covers "
        "FROM summary WHERE thread_id = %s AND parent IS NULL ORDER BY first_seq",
        (thread_id,),
    )
    return await cursor.fetchall()


async def originals(conn: Connection, summary_id: UUID) -> list[Row] | None:
    """Read the messages under a summary, at whatever depth, oldest first; None if there is no such summary."""
    cursor = await conn.execute(
        "WITH RECURSIVE below AS (SELECT id FROM summary WHERE id = %s "
        "UNION SELECT s.id FROM summary s JOIN below b ON s.parent = b.id) SELECT id FROM below",
        (summary_id,),
    )
    ids = [row["id"] for row in await cursor.fetchall()]
    return await conversation.covered_messages(conn, ids) if ids else None


async def store(conn: Connection, memory: VectorMemory, user_id: str, new: NewSummary, prepared: Prepared) -> bool:
    """Store a summary and mark what it covers, in the caller's transaction.

    Args:
        prepared: The summary's unit with its vector.

    Returns:
        False if something it covers is under another summary already: the caller rolls back.
    """
    if not await memory.write(conn, user_id, prepared):
        return False
    if new.level == 0:
        marked = await conversation.mark_summarised(conn, new.thread_id, new.id, new.covers)
        first = "SELECT min(seq) FROM messages WHERE summary_id = %(id)s"
    else:
        marked = await adopt(conn, new.id, new.covers)
        first = "SELECT min(first_seq) FROM summary WHERE parent = %(id)s"
    await conn.execute(f"UPDATE summary SET first_seq = ({first}) WHERE id = %(id)s", {"id": new.id})
    return marked
