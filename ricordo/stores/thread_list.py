"""The threads of all users, for the server's list of them."""

from uuid import UUID

from ricordo.stores.conversation import Connection, Row


async def begun(conn: Connection, *, thread_id: UUID | None = None, limit: int = 1000) -> list[Row]:
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
