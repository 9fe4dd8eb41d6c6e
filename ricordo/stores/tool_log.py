"""The tool log: every tool call with its whole output, read back by id and in pages."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ricordo.common.errors import NotFoundError
from ricordo.common.text import make_id
from ricordo.stores.conversation import Connection, Row
from ricordo.stores.pages import Count, fenced_count, fit
from ricordo.stores.passages import Passage, stamp

_ERROR = 1_000  # characters


@dataclass(frozen=True)
class LoggedCall:
    """A tool call as the log keeps it; its id is the same when the call is replayed."""

    thread_id: UUID
    run_id: str
    step: int
    """Which model call of the turn asked for it."""
    call_id: str
    tool: str
    args: Mapping[str, Any]
    said: str = ""
    """What the model said beside its calls."""

    @property
    def id(self) -> UUID:
        """Return the log entry's id."""
        return make_id("tool", self.thread_id, self.run_id, self.step, self.call_id, self.tool)


async def begin(conn: Connection, user_id: str, call: LoggedCall) -> Row | None:
    """Note that a call starts.

    Returns:
        None, or the row that was there already: the call was begun before this process took it up.
    """
    started = await conn.execute(
        "INSERT INTO tool_log (id, user_id, thread_id, run_id, step, call_id, tool, args, said, status) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, 'running') ON CONFLICT (id) DO NOTHING",
        (
            call.id,
            user_id,
            call.thread_id,
            call.run_id,
            call.step,
            call.call_id,
            call.tool,
            Jsonb(dict(call.args)),
            call.said,
        ),
    )
    return None if started.rowcount == 1 else await read(conn, call.id)


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
    """Read a turn's entries in order; of their outputs the beginning of an `error`'s words alone."""
    cursor = await conn.execute(
        "SELECT id, step, call_id, tool, args, said, status, tokens, started_at, finished_at, "
        "CASE WHEN status <> 'success' THEN left(output, %s) END AS error FROM tool_log "
        "WHERE thread_id = %s AND run_id = %s ORDER BY seq",
        (_ERROR, thread_id, run_id),
    )
    return await cursor.fetchall()


async def outputs(conn: Connection, ids: Sequence[UUID]) -> list[Row]:
    """Read some entries, whole, in order."""
    cursor = await conn.execute("SELECT * FROM tool_log WHERE id = ANY(%s) ORDER BY seq", (list(ids),))
    return await cursor.fetchall()


async def account(conn: Connection, run_id: UUID) -> Row | None:
    """Write down a whole turn as if it were one entry: what the model said, its calls with all arguments, log ids."""
    cursor = await conn.execute("SELECT * FROM tool_log WHERE run_id = %s ORDER BY seq", (str(run_id),))
    lines: list[str] = []
    step = None
    for row in await cursor.fetchall():
        if row["step"] != step:
            step = row["step"]
            lines += [f"step {step}", row["said"]] if row["said"] else [f"step {step}"]
        args = json.dumps(row["args"], ensure_ascii=False)
        lines.append(f"{row['tool']}({args}): {row['status']}, {row['tokens']} tokens, log_id {row['id']}")
    return {"id": run_id, "tool": "turn", "status": "log", "output": "\n".join(lines)} if lines else None


def page(row: Row, offset: int, budget: int, count: Count) -> str:
    """Lay out an entry's output from a character on, as much as fits, with where the next page starts.

    Raises:
        NotFoundError: The output ends before the offset.
    """
    text, log_id = row["output"], row["id"]
    if gone := row.get("pruned_at"):
        raise NotFoundError(
            f"The output of {row['tool']}, log entry {log_id}, was removed on {stamp(gone)}: it was older or more than "
            "what RICORDO_KEEP_TOOL_LOG_DAYS and RICORDO_KEEP_TOOL_LOG_MB keep. Call the tool again."
        )
    count = fenced_count(count)
    if not 0 <= offset <= len(text):
        raise NotFoundError(f"Entry {log_id} has {len(text)} characters: the offset must be from 0 to there.")
    end = offset + fit(text[offset : offset + budget * 8], budget, count) if offset < len(text) else offset
    more = f"the next: read_tool_log(log_id='{log_id}', offset={end})" if end < len(text) else "this is the end"
    head = f"{row['tool']} {row['status']}, characters {offset} to {end} of {len(text)}; {more}"
    return Passage(str(log_id), head, text[offset:end]).render(1)
