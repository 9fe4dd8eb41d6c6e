"""Out of the database and back in: the same answers, all of it or nothing, and again without effect."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from psycopg import sql

from ricordo.common.errors import InputError
from ricordo.models.embeddings import Embedder
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.vectors import ensure_space
from ricordo.stores.user_memory.query import Filter
from ricordo.stores.user_memory.store import UserMemory
from ricordo.stores.user_memory.transfer import export_memory, import_memory
from ricordo.stores.user_memory.work import Said
from tests.support.remembering import HATES, LOVES, TEA, contents, found, set_back

QUESTIONS = ("Does the user like jazz?", "What do I drink?", "Where is the boat?", "30 November 2026")


@pytest.fixture
async def manager(db: Database, embedder: Embedder) -> MemoryManager:
    await ensure_space(db.dsn, embedder)
    return MemoryManager(db, embedder, "anna")


@pytest.fixture
def memory(manager: MemoryManager) -> UserMemory:
    return manager.user_memory


async def live_a_little(memory: UserMemory) -> None:
    """Store, repeat, replace and forget."""
    thread = uuid4()
    old = (await memory.remember(Said(LOVES, "preference", "high", ["music"], thread_id=thread))).memory
    await set_back(memory, old["id"], 10)
    for text in ("I love jazz a lot", TEA, "The boat lies\u2028at berth\n12 \U0001f6f6"):
        await memory.remember(Said(text, "preference", thread_id=thread, message_id=uuid4()))
    await memory.remember(Said(HATES, "preference", "high", thread_id=thread))
    gone = (await memory.remember(Said("The user has a parrot", origin="tool"))).memory
    await memory.forget(str(gone["id"]), "asked")


async def wipe(memory: UserMemory) -> None:
    async with memory.db.transaction(memory.user_id) as conn:
        for table in ("user_memory", "user_memory_sources", "user_memory_audit"):
            await conn.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)), ())
    assert await memory.list(Filter(state="all")) == []


async def seen(memory: UserMemory) -> dict[str, Any]:
    """Return all that can be known of a user's memories, scores included."""
    week_ago = datetime.now(UTC) - timedelta(days=7)
    rows = await memory.list(Filter(state="all"))
    shown = [await memory.show(str(row["id"])) for row in rows if row["deleted_at"] is None]
    answers: dict[str, Any] = {}
    for question in QUESTIONS:
        hits = await memory.recall(question, 10)
        answers[question] = [(hit.content, round(hit.score, 4)) for hit in hits]
        answers[f"{question} a week ago"] = await found(memory, question, as_of=week_ago)
    events = [{k: v for k, v in e.items() if k != "seq"} for e in await memory.history()]
    return {
        "rows": [{k: v for k, v in row.items() if k not in {"seq", "place"}} for row in rows],
        "sources": [[s for many in sources.values() for s in many] for _, sources in shown],
        "critical": [row["content"] for row in await memory.critical()],
        "events": [e for e in events if e["action"] not in {"export", "import"}],
        "answers": answers,
    }


async def test_after_export_wipe_and_import_everything_is_as_it_was(memory: UserMemory) -> None:
    await live_a_little(memory)
    before = await seen(memory)
    lines = await export_memory(memory)
    await wipe(memory)
    done = await import_memory(memory, "\n".join(lines).split("\n"))
    assert (done.memories, done.known) == (5, 0)
    assert await seen(memory) == before
    assert (await memory.undo(days=30)).memory["content"] == "The user has a parrot"


async def test_a_second_import_changes_nothing(memory: UserMemory) -> None:
    await live_a_little(memory)
    before = await seen(memory)
    lines = await export_memory(memory)
    for _ in range(2):
        done = await import_memory(memory, lines)
        assert (done.memories, done.known, done.events) == (0, 5, 0)
    assert await seen(memory) == before


async def test_another_user_gets_copies_and_the_first_keeps_all(manager: MemoryManager, memory: UserMemory) -> None:
    await live_a_little(memory)
    before = await seen(memory)
    lines = await export_memory(memory)
    other = manager.for_user("berta").user_memory
    for new in (5, 0):
        assert (await import_memory(other, lines)).memories == new
    assert await contents(other) == await contents(memory)
    line, sources = await other.show(str((await other.recall("jazz"))[0].id))
    assert [row["content"] for row in line] == [LOVES, HATES]
    assert all(s["thread_id"] is None for many in sources.values() for s in many)
    assert await seen(memory) == before


async def test_a_line_needs_no_more_than_its_content(memory: UserMemory) -> None:
    lines = ["\ufeff" + json.dumps({"content": TEA}), "", '{"content": "the user loves  GREEN tea", "tags": ["Tea"]}']
    done = await import_memory(memory, lines)
    assert (done.memories, done.known) == (1, 1)
    [row] = await memory.list()
    assert (row["content"], row["origin"], row["type"]) == (TEA, "import", "fact")
    assert (await import_memory(memory, lines)).memories == 0
    assert len((await memory.show(str(row["id"])))[1][row["id"]]) == 2


async def test_dates_without_a_zone_are_utc(memory: UserMemory) -> None:
    past = {"content": "The user lives in Rome", "valid_from": "2020-01-01T10:00", "valid_to": "2021-01-01T10:00+01:00"}
    await import_memory(memory, [json.dumps(past)])
    assert await contents(memory) == []
    for moment, there in (("2020-01-01T10:00", 1), ("2020-01-01T09:59", 0), ("2021-01-01T09:00", 0)):
        as_of = datetime.fromisoformat(moment).replace(tzinfo=UTC)
        assert len(await contents(memory, as_of=as_of)) == there, moment


KEY = str(uuid4())
BAD = [
    "{",
    "[1, 2]",
    "{}",
    '{"content": ""}',
    '{"content": "x", "colour": "red"}',
    '{"content": "x", "type": "wish"}',
    '{"content": "x", "kind": "poem"}',
    '{"content": "x", "version": 2}',
    '{"content": "x", "id": "1"}',
    json.dumps({"content": "x" * 4001}),
    json.dumps({"content": "x", "tags": ["t" * 61]}),
    json.dumps({"content": "x", "valid_from": "2026-01-02", "valid_to": "2026-01-01"}),
    json.dumps({"content": "x", "id": KEY, "superseded_by": str(uuid4())}),
    json.dumps({"content": "x", "id": KEY, "valid_to": "2999-01-01", "superseded_by": str(uuid4())}),
    json.dumps({"content": "x", "id": KEY, "valid_to": "2999-01-01", "superseded_by": KEY}),
    json.dumps({"kind": "event", "id": KEY, "at": "2026-01-01", "actor": "nobody", "action": "remember"}),
]


@pytest.mark.parametrize("bad", BAD)
async def test_one_bad_line_is_named_and_nothing_is_imported(memory: UserMemory, bad: str) -> None:
    with pytest.raises(InputError, match=r"^Line 3 cannot be imported"):
        await import_memory(memory, [json.dumps({"content": TEA}), "", bad, json.dumps({"content": LOVES})])
    assert await memory.list(Filter(state="all")) == []
    assert await memory.history() == []


async def test_an_id_that_is_taken_by_somebody_else_is_named(manager: MemoryManager, memory: UserMemory) -> None:
    row = (await memory.remember(Said(TEA))).memory
    other = manager.for_user("berta").user_memory
    with pytest.raises(InputError, match=r"Line 1 .* its id is taken"):
        await import_memory(other, [json.dumps({"content": LOVES, "id": str(row["id"])})])
    assert await contents(other) == []


async def test_an_import_tells_how_far_it_is(memory: UserMemory) -> None:
    told: list[tuple[int, int]] = []
    lines = [json.dumps({"content": f"The user owns boat number {n}"}) for n in range(70)]
    await import_memory(memory, lines, progress=lambda done, of: told.append((done, of)))
    assert told == [(64, 70), (70, 70)]
    assert len(await memory.list()) == 70
