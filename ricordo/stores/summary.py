"""Summary memory: what compaction made of older turns, and the way back to the original messages."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ricordo.stores import conversation
from ricordo.stores.conversation import Connection, Row
from ricordo.stores.pages import Part
from ricordo.stores.passages import Passage, stamp
from ricordo.stores.search.vectors import Prepared, Unit, VectorMemory


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


async def store(conn: Connection, memory: VectorMemory, user_id: str, new: NewSummary, prepared: Prepared) -> bool:
    """Store a summary and mark what it covers, in the caller's transaction.

    Args:
        prepared: The summary's unit with its vector.

    Returns:
        False if something it covers is under another summary already: the caller rolls back.
    """
    # Compactions of one thread come one after the other. Before the insert: its foreign key takes a weaker lock on the
    # same row, and two processes that both hold that one would wait for each other.
    await conn.execute("SELECT FROM threads WHERE thread_id = %s FOR NO KEY UPDATE", (new.thread_id,))
    if not await memory.write(conn, user_id, prepared):
        return False
    marked = await mark(conn, new)
    await conn.execute(
        "UPDATE summary SET first_seq = coalesce((SELECT min(seq) FROM messages WHERE summary_id = %(id)s), "
        "(SELECT min(first_seq) FROM summary WHERE parent = %(id)s), 0) WHERE id = %(id)s",
        {"id": new.id},
    )
    return marked


async def mark(conn: Connection, new: NewSummary) -> bool:
    """Put messages or summaries under a summary; False if another compaction has taken some of them meanwhile."""
    if new.level == 0:
        below = "UPDATE messages SET summary_id = %s WHERE thread_id = %s AND id = ANY(%s) AND summary_id IS NULL"
    else:
        below = "UPDATE summary SET parent = %s WHERE thread_id = %s AND id = ANY(%s) AND parent IS NULL"
    marked = await conn.execute(below, (new.id, new.thread_id, list(new.covers)))
    return marked.rowcount == len(new.covers)


async def tops(conn: Connection, thread_id: UUID) -> list[Row]:
    """Read a thread's summaries that no other one covers, in the order of what they cover."""
    cursor = await conn.execute(
        "SELECT id, description, content, level, created_at, cardinality(covers) AS covers "
        "FROM summary WHERE thread_id = %s AND parent IS NULL ORDER BY first_seq",
        (thread_id,),
    )
    return await cursor.fetchall()


def passage(row: Row) -> Passage:
    """Lay out a summary as the window shows it: one line, with the id to expand it by."""
    head = f"id={row['id']} date={stamp(row['created_at'])} covers={row['covers']}"
    return Passage(str(row["id"]), head, row["description"])


async def parts(conn: Connection, summary_id: UUID) -> list[Part]:
    """Read the messages under a summary, at whatever depth, oldest first.

    Returns:
        One part, or for a summary of summaries one with a title for each that it covers; none if there is no such
        summary.
    """
    cursor = await conn.execute(
        "WITH RECURSIVE below AS (SELECT id, id AS child FROM summary WHERE id = %(id)s UNION ALL "
        "SELECT s.id, CASE b.id WHEN %(id)s THEN s.id ELSE b.child END FROM summary s JOIN below b ON s.parent = b.id) "
        "SELECT m.id, m.seq, m.role, m.content, m.created_at, c.id AS child, c.description FROM below b "
        "JOIN messages m ON m.summary_id = b.id JOIN summary c ON c.id = b.child ORDER BY m.seq",
        {"id": summary_id},
    )
    grouped = groupby(await cursor.fetchall(), key=lambda row: (row["child"], row["description"]))
    return [
        Part([conversation.passage(row) for row in rows], title="" if child == summary_id else description)
        for (child, description), rows in grouped
    ]
