import json

from ricordo.stores.conversation import thread_key
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import Database
from tests.cli.conftest import Run
from tests.support.small_embedder import small_embedder


async def test_pruning_tells_first_and_then_takes(run: Run, db: Database) -> None:
    memory = MemoryManager(db, small_embedder(), "anna")
    await memory.write_conversational_memory("old", "user", "Hello, I was here.")
    await memory.write_conversational_memory("new", "user", "Hello, I am here.")
    async with db.as_owner("anna") as conn:
        old = thread_key("anna", "old")
        await conn.execute("UPDATE threads SET updated_at = now() - interval '40 days' WHERE thread_id = %s", (old,))

    nothing = run("prune")
    assert nothing.returncode == 0, nothing.stderr
    assert b"nothing to remove" in nothing.stderr, "by default threads stay"

    told = run("prune", "--dry-run", "--json", RICORDO_KEEP_THREADS_DAYS="30")
    report = json.loads(told.stdout)
    assert (report["dry_run"], report["threads"], report["messages"]) == (True, 1, 1)
    assert len(await memory.threads()) == 2

    taken = run("prune", RICORDO_KEEP_THREADS_DAYS="30")
    assert b"gone:" in taken.stderr
    assert taken.stdout == b"threads\t1\nmessages\t1\n"
    assert [thread["name"] for thread in await memory.threads()] == ["new"]
