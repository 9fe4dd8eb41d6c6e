"""A change of embedding model: resumable, beside a running agent, and without a vector of the old model in the end."""

import asyncio
import json
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from psycopg import sql

from ricordo.common.errors import DatabaseError, EmbeddingMismatchError
from ricordo.common.text import make_id
from ricordo.models.embeddings import Embedder, open_embedder
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.connection import alone, connect
from ricordo.stores.postgres.database import EVERYONE, Database
from ricordo.stores.search.embedding_space import TABLES, ensure_space
from ricordo.stores.search.reembed import reembed
from ricordo.stores.search.vectors import Prepared, Unit, VectorMemory, make_query
from tests.support.command import start

_MANY = 160


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    return open_embedder("minilm")


async def one(dsn: str, query: str, *params: object) -> Any:
    async with await connect(dsn) as conn:
        cursor = await conn.execute(query.encode(), params)
        return next(iter((await cursor.fetchone() or {"": None}).values()))


async def vector_indexes(dsn: str) -> list[str]:
    async with await connect(dsn) as conn:
        cursor = await conn.execute("SELECT indexdef FROM pg_indexes WHERE indexdef LIKE '%hnsw%' ORDER BY 1")
        return [row["indexdef"] for row in await cursor.fetchall()]


async def fill(db: Database, embedder: Embedder) -> None:
    await ensure_space(db.dsn, embedder)
    for user in ("anna", "berta"):
        memory = MemoryManager(db, embedder, user)
        await memory.write_knowledge_base(f"The lamp of {user} burns whale oil.", {"source": "lamp.txt"})
        await memory.write_workflow("t", "run", "Light the lamp.", [], "answer")
    everyone = MemoryManager(db, embedder, EVERYONE)
    await everyone.write_knowledge_base("The forge burns coal.", {"source": "forge.txt"})
    async with db.transaction("anna") as conn:
        units = [Unit(make_id(n), f"cached {n}", {}) for n in range(9)]
        await VectorMemory("workflow", embedder).prepare(conn, "anna", units)


async def models(dsn: str) -> set[str]:
    found: set[str] = set()
    for table in TABLES:
        async with await connect(dsn) as conn:
            query = sql.SQL("SELECT DISTINCT embedding_model AS m FROM {}").format(sql.Identifier(table))
            cursor = await conn.execute(query)
            found |= {row["m"] for row in await cursor.fetchall()}
    return found


async def test_everything_is_embedded_anew_and_nothing_old_is_left(
    db: Database, embedder: Embedder, minilm: Embedder
) -> None:
    await fill(db, embedder)
    with pytest.raises(EmbeddingMismatchError, match="ricordo reembed"):
        await ensure_space(db.dsn, minilm)
    told: list[tuple[str, int, int]] = []
    done = await reembed(db, minilm, progress=lambda *step: told.append(step))
    assert (done.before, done.model) == (embedder.model_id, minilm.model_id)
    assert done.units == {"knowledge_base": 3, "workflow": 2}
    assert await models(db.dsn) == {minilm.model_id}
    indexes = await vector_indexes(db.dsn)
    assert len(indexes) == len(TABLES)
    assert all(minilm.model_id in index for index in indexes)
    assert await one(db.dsn, "SELECT count(*) FROM embedding_cache") == 0
    assert await one(db.dsn, "SELECT model || coalesce(target, '') FROM embedding_space") == minilm.model_id
    assert ("embedding", 5, 5) in told
    assert ("indexing", len(TABLES), len(TABLES)) in told
    await ensure_space(db.dsn, minilm)
    with pytest.raises(EmbeddingMismatchError):
        await ensure_space(db.dsn, embedder)
    best = (await MemoryManager(db, minilm, "anna").read_knowledge_base("What does the lamp burn?"))[0]
    assert best.text == "The lamp of anna burns whale oil."


async def test_vectors_are_those_that_the_new_model_gives(db: Database, embedder: Embedder, minilm: Embedder) -> None:
    await fill(db, embedder)
    await reembed(db, minilm)
    (expected,) = await minilm.passages(["Light the lamp."])
    likeness = await one(
        db.dsn,
        "SELECT 1 - (embedding <=> %s::real[]::halfvec) FROM workflow WHERE user_id = 'anna'",
        [float(x) for x in expected],
    )
    assert likeness > 0.999


async def test_again_without_a_change_does_nothing(db: Database, embedder: Embedder) -> None:
    await fill(db, embedder)
    before = await vector_indexes(db.dsn)
    done = await reembed(db, embedder)
    assert (done.before, done.units) == (embedder.model_id, {})
    assert await vector_indexes(db.dsn) == before


async def test_an_empty_database_takes_the_model(db: Database, minilm: Embedder) -> None:
    assert (await reembed(db, minilm)).before is None
    await ensure_space(db.dsn, minilm)


async def test_two_at_once_do_not_get_in_each_others_way(db: Database, embedder: Embedder, minilm: Embedder) -> None:
    await fill(db, embedder)
    async with alone(db.dsn, "reembed", "at it"):
        with pytest.raises(DatabaseError, match="Another process is embedding"):
            await reembed(db, minilm)
    assert (await reembed(db, minilm)).units


async def test_killed_in_the_middle_it_goes_on_while_agents_of_both_models_answer(
    db: Database, embedder: Embedder, minilm: Embedder, tmp_path: Path
) -> None:
    await ensure_space(db.dsn, embedder)
    old = VectorMemory("user_memory", embedder)
    noise = "gull tern auk fulmar petrel skua " * 6
    units = [Unit(make_id(n), f"note {n} {noise}", {"type": "fact", "origin": "user"}) for n in range(_MANY)]
    units[7] = Unit(make_id(7), "The harbour master is called Ingrid.", {"type": "fact", "origin": "user"})
    vectors = np.random.default_rng(1).standard_normal((_MANY, embedder.dims)).astype(np.float32)
    async with db.transaction("anna") as conn:
        await old.write(conn, "anna", Prepared(units, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)))
    settings = {"RICORDO_HOME": str(tmp_path), "RICORDO_DATABASE_URL": db.dsn, "RICORDO_EMBEDDINGS": "minilm"}
    count = "SELECT count(*) FROM user_memory WHERE embedding_model = %s"
    process = start("reembed", "--json", settings=settings)
    ends_at = time.monotonic() + 240
    while not (done := await one(db.dsn, count, minilm.model_id)):
        assert process.poll() is None
        assert time.monotonic() < ends_at
        await asyncio.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    done = await one(db.dsn, count, minilm.model_id)
    assert 0 < done < _MANY
    assert len(await vector_indexes(db.dsn)) == len(TABLES), "the old index serves until the end"

    for model in (embedder, minilm):
        await ensure_space(db.dsn, model)
        query = await make_query(model, "Who is the harbour master?")
        async with db.transaction("anna") as conn:
            assert (await VectorMemory("user_memory", model).search(conn, query, 3))[0].content == units[7].content

    again = start("reembed", "--json", settings=settings)
    printed, said = await asyncio.to_thread(again.communicate)
    assert again.returncode == 0, said
    report = json.loads(printed)
    assert report["units"] == {"user_memory": _MANY - done}, "what was done is not done again"
    assert await models(db.dsn) == {minilm.model_id}


async def test_what_agents_write_meanwhile_is_embedded_too(
    db: Database, embedder: Embedder, minilm: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(db, embedder)
    passages = minilm.passages
    written: list[bool] = []

    async def meanwhile(texts: list[str], **options: Any) -> Any:
        if not written:
            written.append(True)
            for user in ("anna", "zoe"):
                late = MemoryManager(db, embedder, user)
                await late.write_workflow("t", "late", "Put the lamp out.", [], "answer")
            async with db.transaction("anna") as conn:
                unit = Unit(make_id("changed"), "x", {"run_id": "r", "request": "x", "outcome": "x"})
                await late.workflow.write(conn, "anna", [unit])
        return await passages(texts, **options)

    monkeypatch.setattr(minilm, "passages", meanwhile)
    await reembed(db, minilm)
    assert await models(db.dsn) == {minilm.model_id}
    assert await one(db.dsn, "SELECT count(*) FROM workflow") == 5


async def test_an_index_that_a_crash_left_unfinished_is_built_anew(
    db: Database, embedder: Embedder, minilm: Embedder
) -> None:
    await fill(db, embedder)
    await reembed(db, minilm)
    async with await connect(db.dsn) as conn:
        await conn.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid IN (SELECT oid FROM pg_class "
            "WHERE relname LIKE 'workflow%384')"
        )
    await reembed(db, minilm)
    query = (
        "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "WHERE c.relname LIKE %s AND i.indisvalid"
    )
    assert await one(db.dsn, query, "workflow%384") == 1
