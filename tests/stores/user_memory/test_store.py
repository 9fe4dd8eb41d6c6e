"""What is remembered: once, with its time, its sources, and a trail of all that was done."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID, uuid4

import pytest

from ricordo.common.errors import InputError, NotFoundError
from ricordo.models.embeddings import Embedder
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.vectors import ensure_space
from ricordo.stores.user_memory.query import Filter
from ricordo.stores.user_memory.rows import Row
from ricordo.stores.user_memory.store import UserMemory
from ricordo.stores.user_memory.work import Said
from tests.support.remembering import HATES, LOVES, TEA, contents, found, set_back


@pytest.fixture
async def manager(db: Database, embedder: Embedder) -> MemoryManager:
    await ensure_space(db.dsn, embedder)
    return MemoryManager(db, embedder, "anna")


@pytest.fixture
def memory(manager: MemoryManager) -> UserMemory:
    return manager.user_memory


async def test_what_is_remembered_is_recalled_with_where_it_comes_from(memory: UserMemory) -> None:
    thread, message = uuid4(), uuid4()
    said = Said(f"  {TEA}\x00 ", "preference", "high", ["Food", "food ", ""], "user", thread, message)
    stored = await memory.remember(said)
    assert stored.what == "stored"
    [hit] = await memory.recall("What do I drink?")
    assert (hit.id, hit.content, hit.row["type"], hit.row["importance"]) == (
        stored.memory["id"],
        TEA,
        "preference",
        "high",
    )
    assert hit.row["tags"] == ["food"]
    assert (hit.row["origin"], hit.row["thread_id"], hit.row["message_id"]) == ("user", thread, message)
    assert hit.row["valid_to"] is None
    assert 0 < hit.score <= 1


async def test_the_same_is_stored_once_and_gathers_its_sources(memory: UserMemory) -> None:
    first = await memory.remember(Said(LOVES, "preference", "low", ["music"], thread_id=uuid4(), message_id=uuid4()))
    again = await memory.remember(Said("the user  LOVES jazz", "preference", "high", ["fun"], message_id=uuid4()))
    close = await memory.remember(Said("I really love jazz!", "preference", "medium", message_id=uuid4()))
    assert (again.what, close.what) == ("known", "merged")
    [row] = await memory.list()
    assert (row["id"], row["content"], row["importance"]) == (first.memory["id"], LOVES, "high")
    assert row["tags"] == ["music", "fun"]
    _, sources = await memory.show(str(row["id"]))
    assert [s["wording"] for s in sources[row["id"]]] == [LOVES, "the user  LOVES jazz", "I really love jazz!"]


async def test_twenty_calls_at_once_leave_one_row(memory: UserMemory) -> None:
    outcomes = await asyncio.gather(*(memory.remember(Said(TEA, message_id=uuid4())) for _ in range(20)))
    assert sorted(outcome.what for outcome in outcomes) == ["known"] * 19 + ["stored"]
    assert len({outcome.memory["id"] for outcome in outcomes}) == 1
    assert len(await memory.list(Filter(state="all"))) == 1


async def test_opposites_at_once_leave_one_that_holds(memory: UserMemory) -> None:
    await asyncio.gather(*(memory.remember(Said(text)) for text in (LOVES, HATES) * 5))
    assert len(await memory.list()) == 1
    line = sorted(await memory.list(Filter(state="all")), key=lambda row: row["valid_from"])
    for earlier, later in pairwise(line):
        assert earlier["valid_to"] == later["valid_from"], "one holds at a time, without a gap"


async def test_a_contradiction_supersedes_and_the_past_stays_true_of_the_past(memory: UserMemory) -> None:
    old = await memory.remember(Said(LOVES, "preference"))
    await memory.remember(Said(TEA, "preference"))
    await set_back(memory, old.memory["id"], 10)
    new = await memory.remember(Said(HATES, "preference"))
    assert new.what == "replaced"
    assert [row["id"] for row in new.replaced] == [old.memory["id"]]

    assert await found(memory, "Does the user like jazz?") == [HATES]
    last_week = datetime.now(UTC) - timedelta(days=7)
    assert await found(memory, "Does the user like jazz?", as_of=last_week) == [LOVES]
    line, _ = await memory.show(str(old.memory["id"]))
    assert [row["content"] for row in line] == [LOVES, HATES]
    assert line[0]["valid_to"] == line[1]["valid_from"]
    assert line[0]["superseded_by"] == line[1]["id"]
    assert TEA in await contents(memory)


async def test_what_was_replaced_can_come_to_hold_again_and_gets_a_new_time(memory: UserMemory) -> None:
    for text in (LOVES, HATES, "The user loves jazz again."):
        await memory.remember(Said(text))
    assert await contents(memory) == ["The user loves jazz again."]
    assert len(await memory.list(Filter(state="superseded"))) == 2


async def test_a_slot_has_one_value_whatever_the_words(memory: UserMemory) -> None:
    for text in ("L'utente abita a Torino", "The user's dog lives in Rome", "I moved to Milan", "Anna lives in Oslo"):
        await memory.remember(Said(text))
    assert set(await contents(memory)) == {"The user's dog lives in Rome", "I moved to Milan", "Anna lives in Oslo"}


async def test_what_the_user_said_gives_way_to_nobody_else(memory: UserMemory) -> None:
    said = await memory.remember(Said(LOVES, "preference", "high"))
    for origin in ("agent", "tool"):
        refused = await memory.remember(Said(HATES, "preference", origin=origin))
        assert (refused.what, refused.memory["id"]) == ("refused", said.memory["id"])
    assert await contents(memory) == [LOVES]
    assert [event["action"] for event in await memory.history()] == ["remember", "refuse", "refuse"]


async def test_a_source_of_less_trust_cannot_raise_a_memory_and_the_users_word_can(memory: UserMemory) -> None:
    await memory.remember(Said(LOVES, "fact", "low", origin="tool"))
    assert await memory.critical() == []
    await memory.remember(Said(LOVES, "fact", "high", origin="tool"))
    assert await memory.critical() == [], "a tool's word stands in no window by itself"
    await memory.remember(Said(LOVES, "fact", "low", origin="user"))
    [row] = await memory.critical()
    assert (row["origin"], row["importance"]) == ("user", "high")
    await memory.remember(Said(TEA, "fact", "low", origin="user"))
    await memory.remember(Said(TEA, "fact", "high", ["spam"], origin="tool"))
    [tea] = [row for row in await memory.list() if row["content"] == TEA]
    assert (tea["importance"], tea["tags"]) == ("low", [])


async def test_the_window_gets_high_preferences_and_facts_and_the_name(manager: MemoryManager) -> None:
    memory = manager.user_memory
    for said in (
        Said("The user's name is Bo", importance="low"),
        Said("The user prefers short answers", "preference", "high"),
        Said("The user goes to Rome on 3 May 2027", "event", "high"),
        Said("Call Anna", "task", "high"),
        Said(TEA, "preference", "medium"),
        Said("The user may like opera", "preference", "high", origin="agent"),
    ):
        await memory.remember(said)
    shown = await manager.read_user_memory()
    assert [one.text for one in shown] == ["The user prefers short answers", "The user's name is Bo"]
    await memory.remember(Said("The user's name is Bea"))
    assert [one.text for one in await manager.read_user_memory()] == [
        "The user's name is Bea",
        "The user prefers short answers",
    ]


async def test_filters_narrow_a_recall(memory: UserMemory) -> None:
    await memory.remember(Said(LOVES, "preference", "high", ["music"]))
    await memory.remember(Said("The user bought a jazz record", "event", "low", ["music", "shopping"]))
    await memory.remember(Said("Buy a jazz record for Anna", "task", tags=["shopping"]))
    assert set(await found(memory, "jazz", type="event")) == {"The user bought a jazz record"}
    assert set(await found(memory, "jazz", importance="high")) == {LOVES}
    assert len(await found(memory, "jazz", tags=["Shopping"])) == 2
    assert len(await found(memory, "jazz", tags=["shopping", "music"])) == 3
    assert await found(memory, "jazz", origin="tool") == []


async def test_bounds_of_time_hold_the_first_and_every_later_time_it_was_said(memory: UserMemory) -> None:
    old = await memory.remember(Said(LOVES))
    await set_back(memory, old.memory["id"], 30)
    await memory.remember(Said(TEA))
    now = datetime.now(UTC)
    month_ago = {"since": now - timedelta(days=31), "until": now - timedelta(days=29)}
    today = {"since": now - timedelta(days=1)}
    assert await found(memory, "what do I like", **month_ago) == [LOVES]
    assert await found(memory, "what do I like", **today) == [TEA]
    await memory.remember(Said("I love jazz"))
    assert set(await found(memory, "what do I like", **today)) == {TEA, LOVES}
    assert await found(memory, "what do I like", **month_ago) == [LOVES]
    with pytest.raises(InputError, match="swap"):
        await found(memory, "jazz", since=now, until=now - timedelta(days=1))


async def test_an_update_keeps_the_old_words_in_history(memory: UserMemory) -> None:
    old = await memory.remember(Said("The user's cat is called Tom", tags=["pets"], importance="high"))
    changed = await memory.update(str(old.memory["id"]), content="The user's cat is called Tim")
    assert changed.what == "updated"
    assert (changed.memory["tags"], changed.memory["importance"]) == (["pets"], "high")
    again = await memory.update(str(old.memory["id"]), importance="low", tags=["Cats"])
    assert again.memory["id"] == changed.memory["id"], "an old id leads to what holds"
    assert (again.memory["importance"], again.memory["tags"]) == ("low", ["cats"])
    assert await contents(memory) == ["The user's cat is called Tim"]
    assert await contents(memory, state="superseded") == ["The user's cat is called Tom"]
    case = await memory.update(str(old.memory["id"]), content="the user's cat is called TIM")
    assert case.memory["content"] == "the user's cat is called TIM"
    assert len(await memory.list()) == 1


async def test_an_update_to_what_is_known_already_joins_the_two(memory: UserMemory) -> None:
    cat = await memory.remember(Said("The user has a cat"))
    await memory.remember(Said("The user has a dog"))
    joined = await memory.update(str(cat.memory["id"]), content="The user has a dog")
    assert joined.what == "known"
    assert await contents(memory) == ["The user has a dog"]


async def test_an_update_without_a_change_is_an_error_and_one_to_the_same_is_none(memory: UserMemory) -> None:
    row = (await memory.remember(Said(TEA))).memory
    with pytest.raises(InputError, match="Nothing is to be changed"):
        await memory.update(str(row["id"]))
    assert (await memory.update(str(row["id"]), content=TEA, importance="medium")).what == "unchanged"
    assert len(await memory.history()) == 1


async def test_another_origin_cannot_change_the_users_words(memory: UserMemory) -> None:
    row = (await memory.remember(Said(TEA))).memory
    told = await memory.update(str(row["id"]), content="The user loves cola.", source=Said("", origin="agent"))
    assert told.what == "refused"
    assert await contents(memory) == [TEA]


@pytest.mark.parametrize("content", ["", "  \n", "\x00", "x" * 4001])
async def test_nothing_and_too_much_are_refused_in_words(memory: UserMemory, content: str) -> None:
    with pytest.raises(InputError, match=r"empty|at most 4,000"):
        await memory.remember(Said(content))
    assert await memory.list(Filter(state="all")) == []


async def test_memories_are_one_users_alone(manager: MemoryManager) -> None:
    mine = await manager.user_memory.remember(Said(LOVES, "preference", "high"))
    other = manager.for_user("berta").user_memory
    assert (await other.remember(Said(HATES, "preference", "high"))).what == "stored"
    assert await found(other, "jazz") == [HATES]
    key = str(mine.memory["id"])
    for refused in (other.show(key), other.current(key), other.forget(key, ""), other.update(key, importance="low")):
        with pytest.raises(NotFoundError):
            await refused
    assert await contents(manager.user_memory) == [LOVES]
    assert [row["content"] for row in await other.critical()] == [HATES]
    assert await other.history(key) == []


async def test_counts_tell_what_became_of_memories(memory: UserMemory) -> None:
    for text in (LOVES, HATES, TEA):
        row = (await memory.remember(Said(text, "preference"))).memory
    await memory.forget(str(row["id"]), "")
    counts = await memory.stats()
    assert (counts["live"], counts["superseded"], counts["forgotten"], counts["sources"]) == (1, 1, 1, 3)
    assert counts["by_type"] == {"preference": 1}


async def test_a_model_may_replace_what_is_near_and_nothing_else(memory: UserMemory) -> None:
    dark = (await memory.remember(Said("The user prefers dark mode in the editor"))).memory
    await memory.remember(Said("The user has a dog called Rex"))
    asked: list[str] = []

    async def yes_to_all(_content: str, candidates: Sequence[Row]) -> list[UUID]:
        asked.extend(row["content"] for row in candidates)
        async with memory.db.transaction("anna") as conn:
            cursor = await conn.execute("SELECT id FROM user_memory")
            return [uuid4(), *(row["id"] for row in await cursor.fetchall())]

    light = Said("The user prefers light mode in the editor")
    outcome = await memory.remember(light, judge=yes_to_all)
    assert asked == ["The user prefers dark mode in the editor"]
    assert [row["id"] for row in outcome.replaced] == [dark["id"]]
    assert "The user has a dog called Rex" in await contents(memory)
    asked.clear()
    await memory.remember(light, judge=yes_to_all)
    assert asked == [], "what is known need not be judged"
