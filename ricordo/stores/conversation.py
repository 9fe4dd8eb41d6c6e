"""Conversation memory: the messages of a thread, and whose thread it is."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from ricordo.common.errors import NotFoundError, ThreadOwnerError
from ricordo.common.text import clean, make_id
from ricordo.models import tokens
from ricordo.stores.passages import Passage, stamp

Connection = AsyncConnection[dict[str, Any]]
Row = dict[str, Any]
_OF_NAMES = 5
"""The version of UUIDs that are made from names."""
_NAMED = 5
"""Threads that a message names."""


@dataclass(frozen=True)
class NewMessage:
    """A message to be stored, whole."""

    id: UUID
    thread_id: UUID
    run_id: str
    role: str
    """`user` or `assistant`."""
    content: str
    said_as: str | None = None
    """Its id in the state of the thread."""


def thread_key(user_id: str, thread: str) -> UUID:
    """Return a thread's id: a UUID stays as it is, any other name becomes one of this user's own."""
    try:
        return UUID(thread)
    except ValueError:
        return make_id("thread", user_id, thread)


async def claim_thread(conn: Connection, user_id: str, thread_id: UUID, name: str) -> None:
    """Make the thread this user's, if it is nobody's yet.

    An id that is made from a name belongs to that name's user, so one of its kind is begun by the name alone: whoever
    knows a name could else take its id before its user does. The refusal does not tell whether there is such a thread.

    Raises:
        ThreadOwnerError: It belongs to another user, or is made from a name that is not given.
    """
    if thread_id.version != _OF_NAMES or thread_id == make_id("thread", user_id, name):
        # The lock waits while the user is being deleted (`ricordo/stores/users.py`): what is begun now outlives that.
        await conn.execute(
            "INSERT INTO threads (thread_id, user_id, name) SELECT %s, %s, %s "
            "FROM (SELECT pg_advisory_xact_lock_shared(hashtextextended('user ' || %s, 0))) waited "
            "ON CONFLICT (thread_id) DO NOTHING",
            (thread_id, user_id, name, user_id),
        )
    owned = await conn.execute("SELECT FROM threads WHERE thread_id = %s", (thread_id,))
    if owned.rowcount != 1:
        raise ThreadOwnerError(
            f"Thread '{name}' is not one that '{user_id}' can read, continue or begin. Give it another name, or begin "
            "one by a random id (a UUID of version 4 or 7)."
        )


async def thread_called(conn: Connection, user_id: str, called: str) -> UUID:
    """Return the user's thread of an id, or of a name in whatever case.

    Raises:
        NotFoundError: There is none.
    """
    called = called.strip().strip("\"'`")
    cursor = await conn.execute(
        "SELECT thread_id FROM threads WHERE thread_id = %s OR lower(name) = lower(%s) "
        "ORDER BY thread_id = %s DESC, name = %s DESC, updated_at DESC LIMIT 1",
        (key := thread_key(user_id, called), called, key, called),
    )
    if row := await cursor.fetchone():
        found: UUID = row["thread_id"]
        return found
    latest = ", ".join(repr(thread["name"]) for thread in await threads(conn, _NAMED))
    raise NotFoundError(
        f'There is no thread {called!r}. The latest are: {latest or "none"}; "current" stands for this conversation.'
    )


async def threads(conn: Connection, limit: int = 100) -> list[Row]:
    """List the user's threads, the latest first: thread_id, name, created_at, updated_at, messages."""
    cursor = await conn.execute(
        "SELECT t.*, (SELECT count(*) FROM messages m WHERE m.thread_id = t.thread_id) AS messages "
        "FROM threads t ORDER BY updated_at DESC LIMIT %s",
        (limit,),
    )
    return await cursor.fetchall()


async def add(conn: Connection, user_id: str, new: NewMessage) -> None:
    """Add a message, unless it is there already (a replayed write)."""
    text = clean(new.content)
    await conn.execute(
        "INSERT INTO messages (id, user_id, thread_id, run_id, role, content, tokens, said_as) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO NOTHING",
        (new.id, user_id, new.thread_id, new.run_id, new.role, text, tokens.count(text), new.said_as),
    )
    await conn.execute("UPDATE threads SET updated_at = now() WHERE thread_id = %s", (new.thread_id,))


async def open_messages(conn: Connection, thread_id: UUID, but: UUID | None = None) -> list[Row]:
    """Read the messages of the branch that no summary covers, oldest first, without the one that is being answered."""
    cursor = await conn.execute(
        "SELECT id, seq, role, content, tokens, created_at FROM messages "
        "WHERE thread_id = %s AND summary_id IS NULL AND NOT aside AND id IS DISTINCT FROM %s ORDER BY seq",
        (thread_id, but),
    )
    return await cursor.fetchall()


async def of_run(conn: Connection, thread_id: UUID, run_id: str) -> list[Row]:
    """Read what a run has stored, oldest first."""
    cursor = await conn.execute(
        "SELECT id, role, content, said_as FROM messages WHERE thread_id = %s AND run_id = %s ORDER BY seq",
        (thread_id, run_id),
    )
    return await cursor.fetchall()


async def message(conn: Connection, message_id: UUID) -> Row | None:
    """Read one message by its id."""
    cursor = await conn.execute("SELECT * FROM messages WHERE id = %s", (message_id,))
    return await cursor.fetchone()


def passage(row: Row) -> Passage:
    """Lay out a message: who spoke and when, and the words."""
    return Passage(str(row["id"]), f"{row['role']} · {stamp(row['created_at'])}", row["content"])
