"""The branch of a thread that its client is on: which of the stored messages the state of the thread still has."""

import hashlib
from collections.abc import Mapping, Sequence
from uuid import UUID

from ricordo.models import tokens
from ricordo.stores.conversation import Connection
from ricordo.stores.search.vectors import VectorMemory

_TURN = """
    UPDATE messages SET aside = NOT aside
    WHERE thread_id = %(thread)s AND said_as IS NOT NULL AND (said_as = ANY(%(said)s) OR id = ANY(%(rows)s)) = aside
        AND (%(all)s OR seq >= (SELECT min(seq) FROM messages WHERE thread_id = %(thread)s AND said_as = ANY(%(said)s)))
    RETURNING summary_id"""
_SHOWN = """
    SELECT id, said_as, md5(content) AS hash, summary_id FROM messages
    WHERE thread_id = %s AND said_as = ANY(%s) AND NOT aside"""
_ABOVE = """
    WITH RECURSIVE above AS (SELECT id, parent FROM summary WHERE id = ANY(%s)
        UNION SELECT s.id, s.parent FROM summary s JOIN above ON s.id = above.parent)
    SELECT id FROM above"""


async def follow(
    conn: Connection, summaries: VectorMemory, thread_id: UUID, said: Mapping[str, str | None], rows: Sequence[UUID]
) -> None:
    """Put aside what is not on the branch, bring back what is, and take over what the client has edited.

    A summary that covers any of it goes, since it would tell of the other branch; its messages are open again. What is
    older than anything in the state stays as it is: a state keeps the latest messages alone.

    Args:
        conn: A transaction of the thread's user.
        summaries: Summary memory.
        thread_id: The thread.
        said: The messages of the state by their id, with the text; None where that is not the whole text.
        rows: Stored messages that are on the branch whatever their id in the state.
    """
    where = {"thread": thread_id, "said": list(said), "rows": list(rows), "all": not said}
    touched = [row["summary_id"] for row in await (await conn.execute(_TURN.encode(), where)).fetchall()]
    for row in await (await conn.execute(_SHOWN.encode(), (thread_id, list(said)))).fetchall():
        text = said[row["said_as"]]
        if text is not None and hashlib.md5(text.encode()).hexdigest() != row["hash"]:  # noqa: S324 - only compared
            edited = (text, tokens.count(text), row["id"])
            await conn.execute("UPDATE messages SET content = %s, tokens = %s WHERE id = %s", edited)
            touched.append(row["summary_id"])
    if covering := [summary_id for summary_id in touched if summary_id]:
        cursor = await conn.execute(_ABOVE.encode(), (covering,))
        gone = [row["id"] for row in await cursor.fetchall()]
        await conn.execute("UPDATE messages SET summary_id = NULL WHERE summary_id = ANY(%s)", (gone,))
        await summaries.delete(conn, gone)
