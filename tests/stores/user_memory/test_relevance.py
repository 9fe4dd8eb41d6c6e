"""Closeness that means the same in every list: what is unrelated is left out, in several languages."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.models.embeddings import Embedder
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.units import RELATED
from ricordo.stores.search.vectors import ensure_space
from ricordo.stores.user_memory.fields import agreement, fields_of, in_its_field
from ricordo.stores.user_memory.query import Filter
from ricordo.stores.user_memory.work import Said

KEPT = [
    "The user prefers window seats.",
    "L'utente non mangia carne di maiale.",
    "The user's cat is called Pepita.",
    "Der Nutzer trägt Schuhgröße 43.",
    "The user's Wi-Fi is named Kelp.",
]
SEATS, PORK, CAT, SHOES, WIFI = KEPT
ASKED: list[tuple[str, Sequence[str]]] = [
    ("Book me a flight to NYC", [SEATS]),
    ("Prenotami un volo per New York", [SEATS]),
    ("Which seat do I like on a plane?", [SEATS]),
    ("Plan a dinner for six people", [PORK]),
    ("Consigliami una ricetta per cena", [PORK]),
    ("What is my cat's name?", [CAT]),
    ("Come si chiama il mio gatto?", [CAT]),
    ("Comprami un paio di scarpe", [SHOES]),
    ("What is our Wi-Fi called?", [WIFI]),
    ("favourite opera composer", []),
    ("What is the boiling point of ethanol?", []),
    ("Chi ha scritto la Divina Commedia?", []),
]


@pytest.fixture
async def manager(db: Database, embedder: Embedder) -> MemoryManager:
    await ensure_space(db.dsn, embedder)
    return MemoryManager(db, embedder, "ada")


async def test_recall_gives_what_has_to_do_with_the_question_and_nothing_else(manager: MemoryManager) -> None:
    for said in KEPT:
        await manager.user_memory.remember(Said(said))
    for question, expected in ASKED:
        hits = await manager.user_memory.recall(question)
        assert [hit.content for hit in hits] == list(expected), question
        assert all(RELATED <= hit.closeness <= 1 for hit in hits)


async def test_what_names_no_topic_or_a_time_asks_for_all(manager: MemoryManager) -> None:
    for said in KEPT:
        await manager.user_memory.remember(Said(said, tags=["home"]))
    for question in ("What do you know about me?", "Cosa sai di me?", "Tell me everything that I told you"):
        assert len(await manager.user_memory.recall(question)) == len(KEPT), question
    assert len(await manager.user_memory.recall("opera", which=Filter(tags=["home"]))) == len(KEPT)
    assert len(await manager.user_memory.recall("Tell me everything", 2)) == 2


async def test_closeness_does_not_depend_on_what_else_is_there(manager: MemoryManager) -> None:
    await manager.user_memory.remember(Said(SEATS))
    [alone] = await manager.user_memory.recall("seats on a plane")
    for said in KEPT[1:]:
        await manager.user_memory.remember(Said(said))
    [among] = await manager.user_memory.recall("seats on a plane")
    assert among.closeness == pytest.approx(alone.closeness, abs=1e-3)


async def test_every_segment_leaves_out_what_is_unrelated(manager: MemoryManager) -> None:
    await manager.write_knowledge_base("The lighthouse of Skerry was lit in 1854 by oil lamps.", {"source": "a.md"})
    await manager.write_workflow("t", "r", "Convert the tide tables to metres", [], "answer: done")
    for question, found in (("When was the lighthouse lit?", 1), ("Who sells used violins?", 0)):
        assert len(await manager.read_knowledge_base(question)) == found, question
    for question, found in (("Convert these tide tables to feet", 1), ("Who sells used violins?", 0)):
        assert len(await manager.read_workflow(question)) == found, question


async def test_the_nearest_are_given_however_far_they_are(manager: MemoryManager) -> None:
    await manager.user_memory.remember(Said(SEATS))
    assert [row["content"] for row in await manager.user_memory.nearest("favourite opera composer")] == [SEATS]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Trova un treno per Roma", "Ich sitze gern am Fensterplatz", 1),
        ("Suggest a novel", "Adoro i gialli", 1),
        ("Recommend me a good book", "I love long novels", 1),
        ("我想订机票", "I prefer the aisle", 1),
        ("Book a table for two", "I read thrillers", 0),
        ("favourite opera composer", "I prefer window seats", -1),
        ("What is 2 + 2?", "I prefer window seats", 0),
    ],
)
def test_fields_of_life_are_known_by_their_words(one: str, other: str, expected: int) -> None:
    assert agreement(one, other) == agreement(other, one) == expected


@given(st.text(), st.text(), st.floats(0, 1))
def test_a_field_moves_closeness_within_its_bounds(query: str, content: str, closeness: float) -> None:
    assert 0 <= in_its_field(closeness, query, content) <= 1
    assert fields_of(query) <= fields_of(f"{query} flight")
