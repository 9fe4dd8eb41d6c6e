"""A start with thousands of new tools: it goes on at once, and they are embedded in the background."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.connection import connect
from ricordo.stores.postgres.database import EVERYONE, Database
from ricordo.stores.toolbox.box import Toolbox
from ricordo.stores.toolbox.start import begin, catch_up
from tests.support.toolboxes import TOOLS, Counting, Held, best, box_of, many_and

MANY_TOOLS = many_and(**TOOLS)
WEATHER = "今天会下雨吗"


async def stored(db: Database) -> int:
    async with db.transaction(EVERYONE) as conn:
        row = await (await conn.execute("SELECT count(*) AS n FROM toolbox")).fetchone()
        return int(row["n"]) if row else 0


@asynccontextmanager
async def catching_up(box: Toolbox, db: Database, embedder: Embedder) -> AsyncIterator["asyncio.Task[None]"]:
    task = asyncio.create_task(catch_up(box, db, embedder))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_few_new_tools_are_embedded_before_a_start_goes_on(db: Database, counting: Counting) -> None:
    box = box_of(TOOLS)
    assert await begin(box, db, counting)
    assert counting.texts == 2 * len(TOOLS)
    assert await best(box, WEATHER) == "tell_weather"


async def test_many_new_tools_are_found_by_their_words_before_any_is_embedded(db: Database, counting: Counting) -> None:
    box = box_of(MANY_TOOLS)
    assert not await begin(box, db, counting)
    assert counting.texts == 0
    assert await best(box, "tell me the weather of the town") == "tell_weather"
    assert await best(box, "polish the lamp of number 77") == "polish_77"


async def test_what_is_embedded_is_seen_and_kept_while_the_rest_is_being_embedded(
    db: Database, counting: Counting
) -> None:
    held = Held(counting.real, after=2 * 32)
    box = box_of({"tell_weather": TOOLS["tell_weather"]} | many_and())
    await begin(box, db, held)
    async with catching_up(box, db, held):
        await held.waits.wait()
        assert await best(box, WEATHER) == "tell_weather", "it is of the first batch"
        assert await best(box, "polish the lamp of number 77") == "polish_77", "it is of a later one"
        box.register_tool(box_of({"brew_tea": "Brew a pot of tea."}).get("brew_tea").source)
        assert await best(box, "brew some tea") == "brew_tea"
    assert await stored(db) == 32


async def test_the_next_start_goes_on_where_a_cancelled_one_was(db: Database, counting: Counting) -> None:
    held = Held(counting.real, after=2 * 32, chance=True)
    box = box_of(MANY_TOOLS)
    await begin(box, db, held)
    async with catching_up(box, db, held):
        await held.waits.wait()
    counting.chance = True
    box = box_of(MANY_TOOLS)
    assert await begin(box, db, counting), "few are left"
    assert counting.texts == 2 * (len(MANY_TOOLS) - 32)
    assert await stored(db) == len(MANY_TOOLS)


async def test_all_are_embedded_in_the_end_which_is_told(
    db: Database, counting: Counting, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    box = box_of(MANY_TOOLS)
    await begin(box, db, counting)
    await catch_up(box, db, counting)
    assert await best(box, WEATHER) == "tell_weather"
    assert counting.texts == 2 * len(MANY_TOOLS)
    assert f"{len(MANY_TOOLS)} new tools are embedded, 0 are left" in caplog.text
    assert await begin(box_of(MANY_TOOLS), db, counting), "the next start has nothing to do"
    assert counting.texts == 2 * len(MANY_TOOLS)


async def test_two_processes_that_start_at_once_embed_a_tool_once(db: Database, counting: Counting) -> None:
    held = Held(counting.real, chance=True)
    boxes = [box_of(MANY_TOOLS) for _ in range(2)]
    for box in boxes:
        assert not await begin(box, db, held)
    async with catching_up(boxes[0], db, held) as one, catching_up(boxes[1], db, held) as other:
        await held.waits.wait()
        while not await somebody_waits(db):  # noqa: ASYNC110 - PostgreSQL tells nobody
            await asyncio.sleep(0.01)
        held.may_go_on.set()
        await asyncio.gather(one, other)
    assert held.texts == 2 * len(MANY_TOOLS)


async def somebody_waits(db: Database) -> bool:
    async with db.transaction(EVERYONE) as conn:
        waiting = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        return await (await conn.execute(waiting)).fetchone() is not None


async def test_a_failure_of_the_database_is_told_and_made_up_for(
    db: Database, counting: Counting, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    held = Held(counting.real, chance=True)
    box = box_of(MANY_TOOLS)
    await begin(box, db, held)
    monkeypatch.setattr("ricordo.stores.toolbox.start._AGAIN_SECONDS", 0)
    async with catching_up(box, db, held) as task:
        await held.waits.wait()
        async with await connect(db.dsn) as conn:
            await conn.execute("ALTER TABLE toolbox RENAME TO away")
        held.may_go_on.set()
        while "Embedding new tools failed" not in caplog.text:  # noqa: ASYNC110 - a log has no event
            await asyncio.sleep(0.01)
        async with await connect(db.dsn) as conn:
            await conn.execute("ALTER TABLE away RENAME TO toolbox")
        await task
    assert await stored(db) == len(MANY_TOOLS)
