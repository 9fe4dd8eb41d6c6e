"""Forgetting, its undoing, its end, and the trail of all that was done."""

from datetime import UTC, datetime
from itertools import pairwise
from uuid import uuid4

import pytest
from psycopg import sql

from ricordo.common.errors import NotFoundError
from ricordo.models.embeddings import Embedder
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.vectors import ensure_space
from ricordo.stores.user_memory.store import UserMemory
from ricordo.stores.user_memory.work import Said
from tests.support.remembering import HATES, LOVES, TEA, contents, found


@pytest.fixture
async def memory(db: Database, embedder: Embedder) -> UserMemory:
    await ensure_space(db.dsn, embedder)
    return MemoryManager(db, embedder, "anna").user_memory


async def test_what_is_forgotten_is_gone_from_all_that_is_read_and_comes_back(memory: UserMemory) -> None:
    old = (await memory.remember(Said(LOVES, "preference", "high"))).memory
    new = (await memory.remember(Said(HATES, "preference", "high"))).memory
    done = await memory.forget(str(new["id"]), "asked")
    assert [row["id"] for row in done.with_it] == [old["id"]], "its earlier words go with it"
    assert await found(memory, "jazz") == await found(memory, "jazz", as_of=datetime.now(UTC)) == []
    assert await memory.critical() == []
    assert len(await contents(memory, state="forgotten")) == 2
    with pytest.raises(NotFoundError, match="undo"):
        await memory.forget(str(new["id"]), "again")
    with pytest.raises(NotFoundError, match="undo"):
        await memory.update(str(old["id"]), importance="low")

    back = await memory.undo(days=30)
    assert (back.memory["id"], back.holds) == (new["id"], None)
    assert await found(memory, "jazz") == [HATES]
    assert await contents(memory, state="superseded") == [LOVES]


async def test_forgetting_old_words_leaves_what_holds(memory: UserMemory) -> None:
    old = (await memory.remember(Said(LOVES))).memory
    new = (await memory.remember(Said(HATES))).memory
    done = await memory.forget(str(old["id"]), "asked")
    assert done.holds is not None
    assert done.holds["id"] == new["id"]
    assert await contents(memory) == [HATES]
    assert await contents(memory, state="superseded") == []


async def test_undo_brings_back_the_last_one_or_the_given_one(memory: UserMemory) -> None:
    jazz, tea = [(await memory.remember(Said(text))).memory for text in (LOVES, TEA)]
    for row in (jazz, tea):
        await memory.forget(str(row["id"]), "asked")
    assert (await memory.undo(days=30)).memory["id"] == tea["id"]
    assert (await memory.undo(str(jazz["id"]), days=30)).memory["id"] == jazz["id"]
    for key in (None, str(jazz["id"])):
        with pytest.raises(NotFoundError, match="forgotten in the last 30 days"):
            await memory.undo(key, days=30)


async def test_what_comes_back_does_not_oust_what_holds_by_now(memory: UserMemory) -> None:
    for meanwhile in (HATES, LOVES):
        jazz = (await memory.remember(Said(LOVES))).memory
        await memory.forget(str(jazz["id"]), "asked")
        now = (await memory.remember(Said(meanwhile))).memory
        back = await memory.undo(str(jazz["id"]), days=30)
        assert back.holds is not None
        assert back.holds["id"] == now["id"]
        assert await contents(memory) == [meanwhile]
        await memory.forget(str(now["id"]), "clean")


async def test_after_its_time_what_was_forgotten_is_gone_for_good(memory: UserMemory) -> None:
    row = (await memory.remember(Said("The user's phone is at Quillfeather"), reason="Quillfeather was said")).memory
    await memory.remember(Said(TEA))
    await memory.forget(str(row["id"]), "Quillfeather is private")
    assert await memory.purge(days=30) == 0
    assert await memory.purge(days=0) == 1
    with pytest.raises(NotFoundError):
        await memory.undo(days=30)
    async with memory.db.transaction("anna") as conn:
        for table in ("user_memory", "user_memory_terms", "user_memory_sources", "user_memory_audit"):
            query = sql.SQL("SELECT t::text FROM {} t WHERE t::text ILIKE '%%quillfeather%%'").format(
                sql.Identifier(table)
            )
            cursor = await conn.execute(query, ())
            assert await cursor.fetchall() == [], f"{table} holds a trace"
    trail = await memory.history(str(row["id"]))
    assert [event["action"] for event in trail] == ["remember", "forget", "purge"]


async def test_the_trail_tells_who_did_what_when_and_why(memory: UserMemory) -> None:
    thread = uuid4()
    old = (await memory.remember(Said(LOVES, thread_id=thread), reason="asked to")).memory
    await memory.remember(Said(LOVES))
    new = (await memory.remember(Said(HATES), reason="changed taste")).memory
    await memory.forget(str(new["id"]), "private", actor="user")
    await memory.undo(days=1, actor="user")
    trail = await memory.history()
    told = [(e["actor"], e["action"], e["memory_id"], e["reason"]) for e in trail]
    assert told[:4] == [
        ("agent", "remember", old["id"], "asked to"),
        ("agent", "repeat", old["id"], ""),
        ("agent", "supersede", old["id"], "changed taste"),
        ("agent", "remember", new["id"], "changed taste"),
    ]
    both = (old["id"], new["id"])
    assert set(told[4:6]) == {("user", "forget", key, "private") for key in both}
    assert set(told[6:]) == {("user", "undo", key, "") for key in both}
    assert trail[0]["thread_id"] == thread
    assert all(a["at"] <= b["at"] for a, b in pairwise(trail))
    assert {e["memory_id"] for e in await memory.history(str(old["id"]))} == {old["id"], new["id"]}
    assert len(await memory.history(limit=2)) == 2
