"""A user is deleted with every trace, and nobody else is touched."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import numpy as np
import psycopg
import pytest
from langchain_core.runnables import RunnableConfig

from ricordo.common.errors import InputError, ThreadBusyError
from ricordo.common.text import make_id
from ricordo.graph.thread.checkpoints import open_checkpointer
from ricordo.models.embeddings import Embedder
from ricordo.stores.conversation import thread_key
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import EVERYONE, Database
from ricordo.stores.postgres.migrate import migrate
from ricordo.stores.search.vectors import Prepared, Unit, VectorMemory, ensure_space
from ricordo.stores.sharing import add_share, change_team
from ricordo.stores.thread_lock import ThreadLocks
from ricordo.stores.tool_log import LoggedCall
from ricordo.stores.toolbox.box import toolbox
from ricordo.stores.users import delete_user, list_users
from tests.support.harness import Harness, calls, open_harness, says
from tests.support.traces import counts, traces

ANNA, BERTA = "anna-4711", "berta-0815"
MARK = "zanzibarfulmar"


@pytest.fixture
async def harness(db: Database, embedder: Embedder, tmp_path: Path) -> AsyncIterator[Harness]:
    async with open_harness(db, embedder, tmp_path) as opened:
        yield opened


async def live(harness: Harness, user: str) -> None:
    """Leave a trace in every memory there is."""
    db, memory = harness.resources.db, harness.memory(user)
    clock = ("get_current_time", {"detailed": False})
    for thread in ("diary", "plans"):
        said = f"The boat of {MARK.title()} Quill is the {user} {MARK}."
        await harness.ask(said, calls(clock), says(f"Noted: {MARK}."), thread_id=thread, user_id=user)
    await memory.write_knowledge_base(f"{MARK} burns peat. {user}", {"source": f"{MARK}.txt", "title": MARK})
    call = LoggedCall(thread_key(user, "diary"), "run", 1, "c", MARK, {MARK: user})
    await memory.write_tool_log(call, "success", MARK)
    facts = VectorMemory("user_memory", harness.resources.embedder)
    async with db.transaction(user) as conn:
        unit = Unit(make_id(user, MARK), f"{MARK} {user}", {"type": "fact", "origin": "user", "tags": [MARK]})
        await facts.write(conn, user, [unit])
        await facts.prepare(conn, user, [Unit(make_id(user, n), f"{MARK} {n}", {}) for n in range(9)])
        assert (await conn.execute("SELECT FROM embedding_cache")).rowcount == 9


def ids_of(dsn: str, user: str) -> list[str]:
    with psycopg.connect(dsn) as conn:
        rows = conn.execute("SELECT thread_id::text FROM threads WHERE user_id = %s", (user,)).fetchall()
    return [row[0] for row in rows]


async def test_every_trace_of_a_user_is_gone_and_nothing_of_another(harness: Harness, dsn: str) -> None:
    db = harness.resources.db
    for user in (ANNA, BERTA):
        await live(harness, user)
    await add_share(db, ANNA, kind="user_memory", with_user=BERTA, tag=MARK)
    await add_share(db, BERTA, kind="knowledge_base", with_user=ANNA)
    await change_team(db, "crew", add=[ANNA, BERTA])
    needles = [ANNA, *ids_of(dsn, ANNA)]
    assert len(needles) == 3
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("VACUUM ANALYZE")  # so that the statistics hold samples too
    held = "\n".join(traces(dsn, needles))
    for table in ("checkpoints", "checkpoint_blobs", "messages", "user_memory.content", "entity", "shares.with_user"):
        assert f" {table}" in held
    assert "statistics" in held
    before = counts(dsn, ANNA)
    deleted = await delete_user(db, ANNA)
    assert deleted.threads == 2
    assert deleted.rows["threads"] == 2
    assert deleted.rows["checkpoints"] > 0
    assert deleted.rows["messages"] == 4
    assert traces(dsn, needles) == []
    after = counts(dsn, ANNA)
    changed = {key for key in before | after if before.get(key) != after.get(key)}
    assert changed == {("shares", BERTA), ("team_members", EVERYONE), ("ended_threads", EVERYONE)}
    assert [user.user_id for user in await list_users(db)] == [BERTA]
    assert f"the {BERTA} {MARK}" in (await harness.memory(BERTA).read_conversational_memory("diary"))[0].text
    await delete_user(db, BERTA)
    assert traces(dsn, [MARK, MARK.title(), BERTA]) == [], "not a word of what was said is left"


async def test_of_five_thousand_rows_beside_others_exactly_those_go(db: Database, embedder: Embedder, dsn: str) -> None:
    await ensure_space(db.dsn, embedder)
    memory, noise = VectorMemory("user_memory", embedder), np.random.default_rng(1)
    for user, count in ((ANNA, 5000), (BERTA, 300), ("a", 10), (f"{ANNA}%", 10)):
        columns = {"type": "fact", "origin": "import"}
        units = [Unit(make_id(user, n), f"gull {n} tern {n % 7}", columns) for n in range(count)]
        vectors = noise.standard_normal((count, embedder.dims)).astype(np.float32)
        async with db.transaction(user) as conn:
            await memory.write(conn, user, Prepared(units, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)))
    before, told = counts(dsn, ANNA), []
    deleted = await delete_user(db, ANNA, progress=lambda *step: told.append(step))
    assert deleted.rows == {"user_memory": 5000, "user_memory_terms": deleted.rows["user_memory_terms"]}
    assert counts(dsn, ANNA) == before | {("ended_threads", EVERYONE): 1}, "servers are told"
    assert {what for what, *_ in told} == {"deleting", "tidying"}
    assert told[-1][1] == told[-1][2]


async def test_a_user_without_a_row_is_deleted_without_effect(db: Database) -> None:
    deleted = await delete_user(db, "nobody")
    assert (deleted.threads, deleted.rows) == (0, {})


@pytest.mark.parametrize("name", ["*", "", "\x00"])
async def test_the_deployment_itself_is_no_user(db: Database, name: str) -> None:
    with pytest.raises(InputError, match="no user that could be deleted"):
        await delete_user(db, name)


async def test_a_turn_under_way_is_waited_for_and_then_all_of_it_goes(harness: Harness, dsn: str) -> None:
    reached, go = asyncio.Event(), asyncio.Event()

    @toolbox.register_tool(side_effect=False, examples=["wait for the tide"])
    async def wait_for_the_tide() -> str:
        """Wait for the tide."""
        reached.set()
        await go.wait()
        return MARK

    try:
        script = calls(("wait_for_the_tide", {})), says(f"{MARK} it is.")
        turn = asyncio.create_task(harness.ask(f"Wait for {MARK}.", *script, user_id=ANNA))
        await reached.wait()
        deletion = asyncio.create_task(delete_user(harness.resources.db, ANNA))
        await asyncio.sleep(0.5)
        assert not deletion.done()
        go.set()
        assert (await turn).answer == f"{MARK} it is."
        deleted = await deletion
    finally:
        toolbox.remove("wait_for_the_tide")
    assert deleted.rows["messages"] == 2, "question and answer: the whole turn"
    assert traces(dsn, [ANNA, MARK, str(thread_key(ANNA, "t"))]) == []


async def test_a_turn_that_does_not_end_keeps_everything(harness: Harness, dsn: str) -> None:
    await live(harness, ANNA)
    before = counts(dsn, "")
    locks = ThreadLocks(dsn)
    async with locks.hold(thread_key(ANNA, "diary"), "diary", 1):
        with pytest.raises(ThreadBusyError, match="diary"):
            await delete_user(harness.resources.db, ANNA, wait_seconds=0.2)
    await locks.close()
    assert counts(dsn, "") == before


async def test_whoever_speaks_again_begins_anew(harness: Harness) -> None:
    await live(harness, ANNA)
    await delete_user(harness.resources.db, ANNA)
    answer = await harness.ask("Hello again.", says("Hello."), thread_id="diary", user_id=ANNA)
    assert answer.answer == "Hello."
    assert MARK not in harness.window()
    assert len(await harness.memory(ANNA).read_conversational_memory("diary")) == 2


async def test_a_run_elsewhere_cannot_write_a_checkpoint_of_a_deleted_thread(harness: Harness, dsn: str) -> None:
    await live(harness, ANNA)
    thread = str(thread_key(ANNA, "diary"))
    async with open_checkpointer(dsn) as saver:
        kept = await saver.aget_tuple({"configurable": {"thread_id": thread}})
        assert kept
        await delete_user(harness.resources.db, ANNA)
        config: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        with pytest.raises(psycopg.errors.RaiseException, match="deleted with its user"):
            await saver.aput(config, kept.checkpoint, kept.metadata, {})
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            await harness.memory(ANNA).write_tool_log(
                LoggedCall(thread_key(ANNA, "diary"), "run", 2, "c", "f", {}), "success", MARK
            )
        await harness.memory(ANNA).claim_thread("diary")
        await saver.aput(config, kept.checkpoint, kept.metadata, {})


async def test_users_are_listed_with_what_they_hold(harness: Harness) -> None:
    assert await list_users(harness.resources.db) == []
    await live(harness, ANNA)
    await harness.memory(BERTA).write_knowledge_base("Peat.", {"source": "peat.txt"})
    anna, berta = await list_users(harness.resources.db)
    assert (anna.user_id, anna.rows["threads"], anna.rows["messages"]) == (ANNA, 2, 4)
    assert anna.last_seen is not None
    assert berta.rows == {"documents": 1, "knowledge_base": 1}
    assert berta.last_seen is None


@pytest.fixture
def own_server(server: str, empty_dsn: str) -> Iterator[str]:
    """A database by an ordinary user who owns all of it and passes no policy, as on a server of one's own."""
    user, database = f"u_{uuid4().hex}", urlsplit(empty_dsn).path[1:]
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(f"CREATE ROLE {user} LOGIN CREATEROLE".encode())
        conn.execute(f"ALTER DATABASE {database} OWNER TO {user}".encode())
    with psycopg.connect(empty_dsn, autocommit=True) as conn:
        conn.execute("CREATE EXTENSION vector; CREATE EXTENSION pg_trgm")
        conn.execute(f"GRANT USAGE, CREATE ON SCHEMA public TO {user}".encode())
    yield urlsplit(empty_dsn)._replace(netloc=f"{user}@").geturl()
    with psycopg.connect(empty_dsn, autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {database} OWNER TO postgres".encode())
        conn.execute(f"DROP OWNED BY {user} CASCADE".encode())
        conn.execute(f"DROP ROLE {user}".encode())


async def test_an_owner_who_is_no_superuser_lists_and_deletes_users_too(
    own_server: str, empty_dsn: str, embedder: Embedder
) -> None:
    await migrate(own_server)
    await ensure_space(own_server, embedder)
    async with Database.open(own_server) as db:
        for user, other in ((ANNA, BERTA), (BERTA, ANNA)):
            memory = MemoryManager(db, embedder, user)
            await memory.write_conversational_memory("t", "user", f"{MARK} {user}")
            await memory.write_knowledge_base(f"{MARK} {user}", {"source": "s"})
            await add_share(db, user, kind="user_memory", with_user=other)
            await change_team(db, "crew", add=[user])
        assert [user.user_id for user in await list_users(db)] == [ANNA, BERTA]
        needles = [ANNA, *ids_of(empty_dsn, ANNA)]
        before = counts(empty_dsn, ANNA)
        await delete_user(db, ANNA)
        assert traces(empty_dsn, needles) == []
        after = counts(empty_dsn, ANNA)
        changed = {key for key in before | after if before.get(key) != after.get(key)}
        assert changed == {("shares", BERTA), ("team_members", EVERYONE), ("ended_threads", EVERYONE)}
