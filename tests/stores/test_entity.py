"""Entities: one for each thing, whatever it is called, with every mention of it."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo.common.text import make_id
from ricordo.stores.entity import Entity, name_key
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.vectors import ensure_space
from ricordo.stores.turn import Turn
from tests.support.small_embedder import small_embedder


@pytest.fixture
async def memory(db: Database) -> MemoryManager:
    embedder = small_embedder()
    await ensure_space(db.dsn, embedder)
    return MemoryManager(db, embedder, "anna")


async def told(memory: MemoryManager, *entities: Entity) -> UUID:
    """Store a message that speaks of some things."""
    message = await memory.write_conversational_memory("t", "user", " ".join(e.mention for e in entities) or "x")
    await memory.write_entity(entities, message)
    return message


async def read(memory: MemoryManager, query: str) -> list[dict[str, Any]]:
    async with memory.db.transaction(memory.user_id) as conn:
        return await (await conn.execute(query.encode())).fetchall()


async def names(memory: MemoryManager) -> dict[str, list[str]]:
    return {row["name"]: row["aliases"] for row in await read(memory, "SELECT name, aliases FROM entity ORDER BY seq")}


MEMGPT = Entity("MemGPT", "system", "MemGPT (Memory GPT) pages.", ("Memory GPT",))


async def test_a_thing_is_found_under_every_name_it_was_given(memory: MemoryManager) -> None:
    await told(memory, MEMGPT)
    await told(memory, Entity("memory  GPT", "name", "Memory GPT is old."))
    assert await names(memory) == {"MemGPT": ["Memory GPT"]}
    [passage] = await memory.read_entity("Memory")
    assert passage.text.splitlines() == [
        "MemGPT (system), also called Memory GPT",
        "MemGPT (Memory GPT) pages.",
        "Memory GPT is old.",
    ]


async def test_two_things_become_one_when_somebody_says_so(memory: MemoryManager) -> None:
    first = await told(memory, Entity("Memory GPT", "name", "Memory GPT is slow."))
    second = await told(memory, Entity("MemGPT", "system", "MemGPT is fast."))
    assert len(await names(memory)) == 2
    third = await told(memory, MEMGPT)
    assert await names(memory) == {"Memory GPT": ["MemGPT"]}, "the older one has the name"
    mentions = await read(memory, "SELECT DISTINCT message_id FROM entity_mentions")
    assert {row["message_id"] for row in mentions} == {first, second, third}
    assert len(await read(memory, "SELECT FROM entity_names")) == 2
    [passage] = await memory.read_entity("MemGPT")
    assert "MemGPT is fast." in passage.text


async def test_a_chain_of_names_is_one_thing_in_whatever_order_it_is_told(memory: MemoryManager) -> None:
    await told(memory, Entity("A", "name", "A."), Entity("C", "name", "C, or B.", ("B",)), Entity("D", "name", "D."))
    await told(memory, Entity("D", "name", "D, or A.", ("A",)), Entity("B", "name", "B, or A.", ("A",)))
    held = await names(memory)
    assert len(held) == 1
    assert {*held, *next(iter(held.values()))} == {"A", "B", "C", "D"}


async def test_another_user_who_calls_something_else_so_is_not_concerned(memory: MemoryManager) -> None:
    berta = memory.for_user("berta")
    await told(berta, Entity("Memory GPT", "name", "Memory GPT is my cat."))
    await told(memory, MEMGPT)
    assert await names(berta) == {"Memory GPT": []}
    assert await names(memory) == {"MemGPT": ["Memory GPT"]}


async def test_a_replayed_write_changes_nothing(memory: MemoryManager) -> None:
    message = await told(memory, MEMGPT)
    before = [await read(memory, f"SELECT * FROM {t}") for t in ("entity_names", "entity_mentions")]  # noqa: S608 - ours
    await memory.write_entity([MEMGPT], message)
    assert [await read(memory, f"SELECT * FROM {t}") for t in ("entity_names", "entity_mentions")] == before  # noqa: S608


async def test_twenty_turns_at_once_make_one_thing(memory: MemoryManager) -> None:
    entities = [Entity("MemGPT", "system", f"MemGPT {n}.", (("Memory GPT",), ("MGPT",), ())[n % 3]) for n in range(20)]
    await asyncio.gather(*(told(memory, entity) for entity in entities))
    held = await names(memory)
    assert list(held) == ["MemGPT"]
    assert set(held["MemGPT"]) == {"Memory GPT", "MGPT"}
    assert len(await read(memory, "SELECT FROM entity_mentions")) == 20


async def test_what_the_assistant_said_is_a_mention_of_its_answer(memory: MemoryManager) -> None:
    question = await memory.write_conversational_memory("t", "user", "Who is Quill?")
    asked = Entity("Quill", "name", "Who is Quill?")
    answered = Entity("Prospero Quill", "name", "Prospero Quill keeps lamps.", answered=True)
    key = make_id("thread", "anna", "t")
    turn = Turn(key, "run", question, "Who is Quill?", "Prospero Quill keeps lamps.", "answer", [], [asked, answered])
    await memory.finish_turn(turn)
    rows = await read(
        memory, "SELECT e.name, m.role FROM entity_mentions x JOIN entity e ON e.id = x.entity_id "
        "JOIN messages m ON m.id = x.message_id ORDER BY m.seq"
    )  # fmt: skip
    assert [(row["name"], row["role"]) for row in rows] == [("Quill", "user"), ("Prospero Quill", "assistant")]


async def test_a_mention_goes_with_its_message_and_names_with_their_entity(memory: MemoryManager) -> None:
    message = await told(memory, MEMGPT)
    async with memory.db.transaction("anna") as conn:
        await conn.execute("DELETE FROM messages WHERE id = %s", (message,))
        assert (await conn.execute("SELECT FROM entity_mentions")).rowcount == 0
        await conn.execute("DELETE FROM entity")
        assert (await conn.execute("SELECT FROM entity_names")).rowcount == 0


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    turns=st.lists(
        st.lists(
            st.builds(
                lambda name, aliases: Entity(name, "name", f"{name}.", tuple(aliases)),
                st.sampled_from("ABCDEFGHIé"),
                st.lists(st.sampled_from("abcdefghie"), max_size=2),
            ),
            max_size=4,
        ),
        max_size=5,
    )
)
async def test_names_are_one_exactly_where_a_chain_of_statements_says_so(
    memory: MemoryManager, turns: list[list[Entity]]
) -> None:
    own = memory.for_user(str(uuid4()))
    groups: list[set[str]] = []
    for turn in turns:
        await told(own, *turn)
        for entity in turn:
            met = {name_key(name) for name in (entity.name, *entity.aliases)}
            groups = [group for group in groups if not group & met] + [met.union(*(g for g in groups if g & met))]
    owned: dict[Any, set[str]] = {}
    for row in await read(own, "SELECT key, entity_id FROM entity_names"):
        owned.setdefault(row["entity_id"], set()).add(row["key"])
    assert sorted(map(sorted, owned.values())) == sorted(map(sorted, groups))
    assert {row["id"] for row in await read(own, "SELECT id FROM entity")} == set(owned)


def test_a_name_is_the_same_whatever_its_case_accents_and_spaces() -> None:
    assert name_key("  Perché   NO ") == name_key("perche no")
