"""The threads of all users, for the server's list of them."""

from typing import Any
from uuid import UUID

from psycopg import AsyncConnection


async def begun(
    conn: AsyncConnection[dict[str, Any]], *, thread_id: UUID | None = None, limit: int = 1000
) -> list[dict[str, Any]]:
    """List the threads that have a state to go on from, the latest last: thread_id, user_id, name.

    Args:
        conn: A connection of the database's owner: the application's role sees one user's threads.
        thread_id: This one alone; None for all.
        limit: The latest so many.
    """
    cursor = await conn.execute(
        "SELECT * FROM (SELECT thread_id, user_id, name, updated_at FROM threads t "
        "WHERE (%(id)s::uuid IS NULL OR thread_id = %(id)s) "
        "AND EXISTS (SELECT FROM checkpoints c WHERE c.thread_id = t.thread_id::text) "
        "ORDER BY updated_at DESC LIMIT %(limit)s) latest ORDER BY updated_at",
        {"id": thread_id, "limit": limit},
    )
    return await cursor.fetchall()
