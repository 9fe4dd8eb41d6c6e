"""The list of all users' threads."""

from uuid import UUID, uuid4

from ricordo.stores.conversation import claim_thread
from ricordo.stores.postgres.database import Database
from ricordo.stores.thread_list import begun


async def add(db: Database, user: str, name: str, *, with_state: bool = True) -> UUID:
    thread = uuid4()
    async with db.transaction(user) as conn:
        await claim_thread(conn, user, thread, name)
    async with db.as_owner() as conn:
        if with_state:
            await conn.execute(
                "INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint) VALUES (%s, '1', '{}')", (str(thread),)
            )
    return thread


async def test_threads_of_all_users_are_listed_the_latest_last(db: Database) -> None:
    threads = [await add(db, user, f"of {user}") for user in ("ann", "bob", "cid")]
    async with db.as_owner() as conn:
        assert [row["thread_id"] for row in await begun(conn)] == threads
        assert [row["thread_id"] for row in await begun(conn, limit=2)] == threads[1:]
        one = await begun(conn, thread_id=threads[0])
    assert [(row["user_id"], row["name"]) for row in one] == [("ann", "of ann")]


async def test_a_thread_without_a_state_is_left_out(db: Database) -> None:
    thread = await add(db, "ann", "deleted in the list", with_state=False)
    async with db.as_owner() as conn:
        assert await begun(conn) == []
        assert await begun(conn, thread_id=thread) == []
