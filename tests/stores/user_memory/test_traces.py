"""Forgotten is forgotten: in workflows and in entities too."""

from typing import Any
from uuid import UUID

import pytest

from ricordo.stores.conversation import thread_key
from ricordo.stores.entity import Entity
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.vectors import ensure_space
from ricordo.stores.user_memory.firewall import share_of, states
from ricordo.stores.user_memory.work import Said
from tests.support.small_embedder import small_embedder


@pytest.fixture
async def memory(db: Database) -> MemoryManager:
    embedder = small_embedder()
    await ensure_space(db.dsn, embedder)
    return MemoryManager(db, embedder, "anna")


async def spoken(memory: MemoryManager, text: str, *entities: str, run: str = "run", thread: str = "t") -> UUID:
    """Store a message with the entities that it speaks of."""
    message = await memory.write_conversational_memory(thread, "user", text, run_id=run)
    await memory.write_entity([Entity(name, "name", text) for name in entities], message)
    return message


async def remembered(memory: MemoryManager, content: str, message: UUID | None = None) -> str:
    said = Said(content, thread_id=thread_key("anna", "t") if message else None, message_id=message)
    return str((await memory.user_memory.remember(said)).memory["id"])


async def workflow(memory: MemoryManager, request: str, run: str, thread: str = "t") -> None:
    await memory.claim_thread(thread)
    step = {"tool": "search", "args": {"query": "x"}, "status": "success"}
    await memory.write_workflow(thread, run, request, [step], "answer: done")


async def column(memory: MemoryManager, query: str) -> set[Any]:
    async with memory.db.transaction(memory.user_id) as conn:
        return {row["it"] for row in await (await conn.execute(query.encode())).fetchall()}


REQUESTS = "SELECT request AS it FROM workflow"
ENTITIES = "SELECT name AS it FROM entity"
MENTIONS = "SELECT mention AS it FROM entity_mentions"


async def test_what_was_forgotten_is_in_no_workflow(memory: MemoryManager) -> None:
    message = await spoken(memory, "I am allergic to walnuts, so be careful.", run="said")
    await workflow(memory, "Plan a dinner for two, be careful.", "said")
    await workflow(memory, "Am I allergic to walnuts?", "asked", "other")
    await workflow(memory, "Where do walnuts grow?", "unrelated", "other")
    key = await remembered(memory, "The user is allergic to walnuts.", message)
    await memory.user_memory.forget(key, "asked")
    assert await column(memory, REQUESTS) == {"Where do walnuts grow?"}


@pytest.mark.parametrize(
    ("old", "new", "asks"),
    [
        ("My budget for the voyage is £300.", "My budget for the voyage is ¥300.", "Plan a voyage, my budget is {}."),
        ("My blood type is B+.", "My blood type is B-.", "What may blood type {} give?"),
    ],
)
async def test_a_correction_by_a_sign_alone_reaches_workflows_too(
    memory: MemoryManager, old: str, new: str, asks: str
) -> None:
    wrong, right = (said.rstrip(".").rsplit(" ", 1)[1] for said in (old, new))
    await remembered(memory, old)
    for number, value in enumerate((wrong, right)):
        await workflow(memory, asks.format(value), f"run {number}", "other")
    await remembered(memory, new)
    assert await column(memory, REQUESTS) == {asks.format(right)}


async def test_what_was_forgotten_is_mentioned_nowhere_and_nobody_is_left_without_a_mention(
    memory: MemoryManager,
) -> None:
    message = await spoken(memory, "My dentist is Prospero Quill in Tarnfeld.", "Prospero Quill", "Tarnfeld")
    await spoken(memory, "Tarnfeld has a harbour.", "Tarnfeld", thread="other")
    await spoken(memory, "Is Prospero Quill in Tarnfeld my dentist?", "Prospero Quill", thread="other")
    await memory.user_memory.forget(await remembered(memory, "The user's dentist is Prospero Quill.", message), "asked")
    assert await column(memory, ENTITIES) == {"Tarnfeld"}
    assert await column(memory, MENTIONS) == {"Tarnfeld has a harbour."}
    [passage] = await memory.read_entity("Tarnfeld")
    assert passage.text == "Tarnfeld (name)\nTarnfeld has a harbour.", "it is described by what is left"
    assert "Quill" not in str(await memory.read_entity("Who is the dentist Prospero Quill?"))


async def test_a_replaced_statement_goes_and_what_took_its_place_stays(memory: MemoryManager) -> None:
    old = await spoken(memory, "I live in Skerry Point.", "Skerry Point", run="old")
    await workflow(memory, "I live in Skerry Point, find a bus.", "old")
    await spoken(memory, "I live in Tarnfeld Bay.", "Tarnfeld Bay", run="new")
    await workflow(memory, "I live in Tarnfeld Bay, find a bus.", "new")
    await remembered(memory, "I live in Skerry Point.", old)
    await remembered(memory, "I live in Tarnfeld Bay.")
    assert await column(memory, REQUESTS) == {"I live in Tarnfeld Bay, find a bus."}
    assert await column(memory, ENTITIES) == {"Tarnfeld Bay"}


async def test_another_users_memories_are_left_alone(memory: MemoryManager) -> None:
    berta = memory.for_user("berta")
    await spoken(berta, "I live in Skerry Point.", "Skerry Point")
    await workflow(berta, "I live in Skerry Point, find a bus.", "old")
    await memory.user_memory.forget(await remembered(memory, "I live in Skerry Point."), "asked")
    assert await column(berta, REQUESTS)
    assert await column(berta, ENTITIES)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("The user loves jazz.", "Request: Please remember that I love jazz"),
        ("Mi piace il caffè amaro.", "Ricorda che mi piace il CAFFE amaro!"),
        ("用户住在东京。", "我住在东京，帮我找车。"),
        ("The user takes 20 mg of lisinopril.", "Do I take 20 mg of lisinopril?"),
    ],
)
def test_a_text_has_what_a_statement_says_in_whatever_words_are_around_it(content: str, text: str) -> None:
    assert states(content, text)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("The user loves jazz.", "Find jazz concerts in Tarnfeld."),
        ("The user's PIN is 4711.", "The PIN is 4712."),
        ("The user takes 20 mg of lisinopril.", "What is lisinopril?"),
    ],
)
def test_a_text_on_the_same_subject_need_not_have_it(content: str, text: str) -> None:
    assert not states(content, text)


def test_the_share_of_words_leaves_out_those_of_a_name() -> None:
    assert share_of("Prospero Quill left.", "Prospero Quill is my dentist.", beside="Prospero Quill") == 0
    assert share_of("Prospero Quill.", "Anything.", beside="Prospero Quill") == 1
