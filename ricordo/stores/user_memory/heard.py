"""What was said and read on a thread, as the firewall wants to know it."""

from collections.abc import Sequence
from uuid import UUID

from ricordo.stores.postgres.connection import Connection
from ricordo.stores.user_memory.firewall import Heard, Spoken

WRITERS = ("remember", "update_memory", "forget")
"""Tools by which user memory changes."""
FROM_MEMORY = ("recall", *WRITERS, "expand_summary", "summarize_and_store")
"""Tools whose results are what memory holds already; all others bring something from outside."""
_OWN_WORDS = ("read_toolbox", "get_current_time")
"""Tools whose results nobody outside can write."""
_MOST_MESSAGES = 400
_MOST_CALLS = 30
_MOST_CHARACTERS = 100_000
"""Of one message or one tool's output."""


async def read_heard(
    conn: Connection, thread_id: UUID, *, recalled: Sequence[str] = (), outside: Sequence[str] = ()
) -> Heard:
    """Read what was said on a thread, and what its latest tool calls gave.

    Args:
        conn: A transaction of the user.
        thread_id: The thread.
        recalled: What memory put into the window.
        outside: What documents say about it.
    """
    cursor = await conn.execute(
        "SELECT id, role, left(content, %s) AS content FROM messages WHERE thread_id = %s AND NOT aside "
        "ORDER BY seq DESC LIMIT %s",
        (_MOST_CHARACTERS, thread_id, _MOST_MESSAGES),
    )
    rows = await cursor.fetchall()
    answered = next((i for i, row in enumerate(rows) if row["role"] == "assistant"), len(rows))
    spoken = [Spoken(row["id"], row["content"]) for row in rows if row["role"] == "user"]
    cursor = await conn.execute(
        "SELECT tool, left(output, %s) AS output FROM tool_log WHERE thread_id = %s AND output <> '' "
        "AND tool <> ALL(%s) ORDER BY seq DESC LIMIT %s",
        (_MOST_CHARACTERS, thread_id, list(_OWN_WORDS), _MOST_CALLS),
    )
    calls = await cursor.fetchall()
    return Heard(
        now=spoken[:answered][::-1],
        before=spoken[answered:],
        asked=rows[answered]["content"] if answered < len(rows) else "",
        recalled=[*recalled, *(row["output"] for row in calls if row["tool"] in FROM_MEMORY)],
        outside=[*outside, *(row["output"] for row in calls if row["tool"] not in FROM_MEMORY)],
    )
