"""The tool log: every tool call with its whole output, read back by id and in pages."""

from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from graph.errors import NotFoundError
from stores.conversation import Connection, Row
from stores.pages import Count, fit
from stores.passages import Passage


async def begin(
    conn: Connection,
    *,
    log_id: UUID,
    user_id: str,
    thread_id: UUID,
    run_id: str,
    step: int,
    call_id: str,
    tool: str,
    args: dict[str, Any],
    said: str,
) -> Row | None:
    """Note that a call starts.

    Returns:
        None, or the row that was there already: the call was begun before this process took it up.
    """
    started = await conn.execute(
        "INSERT INTO tool_log (id, user_id, thread_id, run_id, step, call_id, tool, args, said, status) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, 'running') ON CONFLICT (id) DO NOTHING",
        (log_id, user_id, thread_id, run_id, step, call_id, tool, Jsonb(args), said),
    )
    return None if started.rowcount == 1 else await read(conn, log_id)


async def finish(conn: Connection, log_id: UUID, status: str, output: str, count: int) -> None:
    """Store a call's outcome; the first one stands."""
    await conn.execute(
        "UPDATE tool_log SET status = %s, output = %s, tokens = %s, finished_at = now() "
        "WHERE id = %s AND status = 'running'",
        (status, output, count, log_id),
    )


async def read(conn: Connection, log_id: UUID) -> Row | None:
    """Read one entry, whole."""
    cursor = await conn.execute("SELECT * FROM tool_log WHERE id = %s", (log_id,))
    return await cursor.fetchone()


async def of_run(conn: Connection, thread_id: UUID, run_id: str) -> list[Row]:
    """Read a turn's entries without their outputs, in order."""
    cursor = await conn.execute(
        "SELECT id, step, call_id, tool, args, said, status, tokens, started_at, finished_at FROM tool_log "
        "WHERE thread_id = %s AND run_id = %s ORDER BY seq",
        (thread_id, run_id),
    )
    return await cursor.fetchall()


def page(row: Row, offset: int, budget: int, count: Count) -> str:
    """Lay out an entry's output from a character on, as much as fits, with where the next page starts.

    Raises:
        NotFoundError: The output ends before the offset.
    """
    text, log_id = row["output"], row["id"]
    if not 0 <= offset <= len(text):
        raise NotFoundError(f"Entry {log_id} has {len(text)} characters: the offset must be from 0 to there.")
    end = offset + fit(text[offset:], budget, count) if offset < len(text) else offset
    more = f"the next: read_tool_log(log_id='{log_id}', offset={end})" if end < len(text) else "this is the end"
    head = f"{row['tool']} {row['status']}, characters {offset} to {end} of {len(text)}; {more}"
    return Passage(str(log_id), head, text[offset:end]).render(1)
