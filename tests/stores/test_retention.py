"""Retention: what goes, what never does, and what is said of it."""

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from psycopg import sql

from ricordo.common.errors import NotFoundError
from ricordo.common.settings import Settings
from ricordo.graph.compaction.history import cover
from ricordo.graph.context import Context
from ricordo.graph.limits import limits_of
from ricordo.graph.thread.checkpoints import open_checkpointer
from ricordo.graph.upkeep import prune_if_due
from ricordo.stores.conversation import thread_key
from ricordo.stores.postgres.database import Database
from ricordo.stores.retention import Keep, Pruned, keep_of, prune
from ricordo.stores.thread_lock import ThreadLocks
from ricordo.stores.user_memory.work import Said
from tests.support.harness import Harness, calls, open_harness, says
from tests.support.small_embedder import small_embedder
from tests.support.talk import read_all, talk

CLOCK = ("get_current_time", {"detailed": False})


@pytest.fixture
async def harness(db: Database, tmp_path: Path) -> AsyncIterator[Harness]:
    async with open_harness(db, small_embedder(), tmp_path) as opened:
        yield opened


async def prune_all(harness: Harness, keep: Keep, *, dry_run: bool = False) -> Pruned:
    async with open_checkpointer(harness.resources.db.dsn) as saver:
        return await prune(harness.resources.db, saver, keep, dry_run=dry_run)


async def age(harness: Harness, days: float, thread: str = "t", user: str = "default") -> None:
    """Make a thread's last turn lie in the past, and its tool log with it."""
    async with harness.resources.db.as_owner(user) as conn:
        key = thread_key(user, thread)
        past = {"days": days, "key": key}
        ago = "now() - make_interval(secs => 86400 * %(days)s::float8) WHERE thread_id = %(key)s"
        await conn.execute(sql.SQL("UPDATE threads SET updated_at = ") + sql.SQL(ago), past)
        await conn.execute(sql.SQL("UPDATE tool_log SET started_at = ") + sql.SQL(ago), past)


async def counts(harness: Harness) -> dict[str, int]:
    """Count the rows of all users."""
    tables = ("threads", "messages", "summary", "tool_log", "checkpoints", "checkpoint_blobs", "checkpoint_writes")
    async with harness.resources.db.as_owner() as conn:
        found = {}
        for table in tables:
            row = await (
                await conn.execute(sql.SQL("SELECT count(*) AS n FROM {}").format(sql.Identifier(table)))
            ).fetchone()
            found[table] = (row or {})["n"]
    return found


async def test_everything_stays_unless_something_is_set(harness: Harness) -> None:
    await harness.ask("What time is it?", calls(CLOCK), says("Late."))
    await age(harness, 10_000)
    before = await counts(harness)
    assert await prune_all(harness, Keep()) == Pruned()
    assert await counts(harness) == before
    by_default = keep_of(Settings())
    assert (by_default.thread_days, by_default.threads) == (None, None)
    assert (by_default.tool_log_days, by_default.tool_log_bytes) == (None, None)


async def test_an_idle_thread_goes_whole_and_others_stay_whole(harness: Harness) -> None:
    for thread, user in (("t", "default"), ("t", "ada"), ("other", "default")):
        await harness.ask("What time is it?", calls(CLOCK), says("Late."), thread_id=thread, user_id=user)
    before = await counts(harness)
    await age(harness, 31)
    pruned = await prune_all(harness, Keep(thread_days=30))
    assert (pruned.threads, pruned.messages, pruned.tool_outputs) == (1, 2, 1)
    assert pruned.checkpoints > 0
    assert pruned.checkpoint_bytes > 0
    after = await counts(harness)
    assert after["threads"] == 2
    assert after["messages"] == 4
    assert after["checkpoints"] == before["checkpoints"] - pruned.checkpoints
    assert not await harness.memory().read_conversational_memory("t")
    assert len(await harness.memory("ada").read_conversational_memory("t")) == 2
    answer = await harness.ask("Are you there?", says("As if we had never met."))
    assert answer.stop_reason == "answer", "the thread's name can be used again"


async def test_within_a_thread_every_summary_can_still_be_expanded(harness: Harness) -> None:
    said = await talk(harness, 6)
    memory = harness.memory()
    passages = await memory.read_conversational_memory("t")
    made = await cover(memory, "t", passages[:8], limits_of(SimpleNamespace(context=Context(context_window=8_000))))
    assert made
    async with harness.resources.db.as_owner("default") as conn:
        await conn.execute("UPDATE messages SET created_at = now() - interval '900 days'")
    await prune_all(harness, Keep(thread_days=1, tool_log_days=0, tool_log_bytes=0, checkpoints=1))
    whole = await read_all(memory.read_summary_memory, str(made.summary_id))
    assert all(text.strip() in whole for text in said[:8])
    assert [p.text for p in await memory.read_conversational_memory("t")] == said[8:], "nor do open messages go"


async def test_of_many_threads_those_idle_longest_go(harness: Harness) -> None:
    for n in range(4):
        await harness.ask(f"I am {n}.", says("Yes."), thread_id=f"t{n}")
        await age(harness, 4 - n, f"t{n}")
    await harness.ask("I am Ada.", says("Yes."), thread_id="hers", user_id="ada")
    pruned = await prune_all(harness, Keep(threads=2))
    assert pruned.threads == 2
    assert [t["name"] for t in await harness.memory().threads()] == ["t3", "t2"]
    assert len(await harness.memory("ada").threads()) == 1, "the number is for each user"


async def test_old_outputs_lose_their_words_and_say_so(harness: Harness) -> None:
    old = await harness.ask("What time is it?", calls(CLOCK, text="Let me see."), says("Late."))
    await age(harness, 8)
    new = await harness.ask("And now?", calls(CLOCK), says("Later."))
    pruned = await prune_all(harness, Keep(tool_log_days=7))
    assert pruned.tool_outputs == 1
    assert pruned.tool_log_bytes > 0
    memory = harness.memory()
    with pytest.raises(NotFoundError, match="RICORDO_KEEP_TOOL_LOG_DAYS"):
        await memory.read_tool_log(old.tool_calls[0]["log_id"])
    assert await memory.read_tool_log(new.tool_calls[0]["log_id"])
    (row,) = await memory.tool_calls("t", old.run_id)
    assert (row["tool"], row["status"], row["args"], row["said"]) == ("get_current_time", "success", {}, "")
    assert (await prune_all(harness, Keep(tool_log_days=7))).tool_outputs == 0, "once"


async def test_of_a_large_log_the_latest_outputs_stay(harness: Harness) -> None:
    answers = [await harness.ask("What time is it?", calls(CLOCK), says("Late.")) for _ in range(5)]
    async with harness.resources.db.as_owner("default") as conn:
        await conn.execute("UPDATE tool_log SET output = repeat(gen_random_uuid()::text, 1) || repeat('0', 1000)")
        row = await (
            await conn.execute("SELECT pg_column_size(output) + pg_column_size(args) AS n FROM tool_log")
        ).fetchone()
    size = (row or {})["n"]
    pruned = await prune_all(harness, Keep(tool_log_bytes=int(size * 2.5)))
    assert pruned.tool_outputs == 3
    kept = []
    for answer in answers:
        try:
            await harness.memory().read_tool_log(answer.tool_calls[0]["log_id"])
            kept.append(answer.run_id)
        except NotFoundError:
            continue
    assert kept == [answer.run_id for answer in answers[3:]]


async def test_a_turn_under_way_keeps_its_outputs(harness: Harness) -> None:
    await harness.ask("What time is it?", calls(CLOCK), says("Late."), thread_id="ended")
    async with harness.resources.db.as_owner("default") as conn:
        # As if the turn had not come to its answer.
        await conn.execute("DELETE FROM messages WHERE role = 'assistant'")
    assert await prune_all(harness, Keep(tool_log_days=0, tool_log_bytes=0)) == Pruned()
    await age(harness, 2, "ended")
    assert (await prune_all(harness, Keep(tool_log_days=0))).tool_outputs == 1, "no turn lasts for days"


async def test_checkpoints_shrink_to_the_latest_and_the_thread_goes_on(harness: Harness) -> None:
    for n in range(4):
        await harness.ask(f"My kite number {n} is red.", says("Noted."))
    before = await counts(harness)
    assert (await prune_all(harness, Keep(checkpoints=100, checkpoint_days=1))).checkpoints == 0
    pruned = await prune_all(harness, Keep(checkpoints=2))
    after = await counts(harness)
    assert after["checkpoints"] == before["checkpoints"] - pruned.checkpoints == 1
    assert after["messages"] == before["messages"]
    assert pruned.checkpoint_bytes > 0
    answer = await harness.ask("And now?", says("Four kites."))
    assert answer.stop_reason == "answer"
    assert "My kite number 0 is red." in harness.segment("Conversation")
    config: Any = {"configurable": {"thread_id": str(thread_key("default", "t"))}}
    state = await harness.agent._graph.aget_state(config)
    assert [m.text for m in state.values["messages"]][:2] == ["My kite number 0 is red.", "Noted."]


async def test_an_idle_threads_history_of_checkpoints_goes_by_age(harness: Harness) -> None:
    for _ in range(3):
        await harness.ask("Yes?", says("Yes."))
    await age(harness, 31)
    assert (await prune_all(harness, Keep(checkpoint_days=30))).checkpoints == (await _written(harness)) - 1


async def _written(harness: Harness) -> int:
    """Return how many checkpoints three short turns leave."""
    for _ in range(3):
        await harness.ask("Yes?", says("Yes."), thread_id="twin")
    async with harness.resources.db.as_owner() as conn:
        key = str(thread_key("default", "twin"))
        row = await (
            await conn.execute("SELECT count(*) AS n FROM checkpoints WHERE thread_id = %s", (key,))
        ).fetchone()
    return int((row or {})["n"])


async def test_a_dry_run_tells_and_takes_nothing(harness: Harness) -> None:
    for _ in range(3):
        await harness.ask("What time is it?", calls(CLOCK), says("Late."))
    await age(harness, 40)
    before = await counts(harness)
    keep = Keep(thread_days=30, tool_log_days=7, checkpoints=1)
    told = await prune_all(harness, keep, dry_run=True)
    assert await counts(harness) == before
    assert (told.threads, told.messages) == (1, 6)
    done = await prune_all(harness, keep)
    assert (done.threads, done.messages, done.summaries) == (told.threads, told.messages, told.summaries)


async def test_a_thread_in_use_is_left_alone(harness: Harness) -> None:
    for _ in range(3):
        await harness.ask("Yes?", says("Yes."))
    await age(harness, 40)
    before = await counts(harness)
    locks = ThreadLocks(harness.resources.db.dsn)
    try:
        async with locks.hold(thread_key("default", "t"), "t", 1):
            pruned = await prune_all(harness, Keep(thread_days=30, checkpoints=1))
    finally:
        await locks.close()
    assert pruned == Pruned(busy_threads=1)
    assert await counts(harness) == before


async def test_upkeep_is_done_once_a_day_by_one_process(harness: Harness) -> None:
    db, settings = harness.resources.db, harness.resources.settings.model_copy(update={"keep_threads_days": 30})
    await harness.ask("Yes?", says("Yes."))
    await age(harness, 40)
    first = await prune_if_due(db, settings)
    assert first
    assert first.threads == 1
    assert await prune_if_due(db, settings) is None, "not again on the same day"
    async with db.as_owner("*") as conn:
        await conn.execute("UPDATE upkeep SET done_at = now() - interval '25 hours'")
    assert await prune_if_due(db, settings) == Pruned()


async def test_a_forgotten_memory_goes_for_good_when_it_can_no_longer_be_brought_back(harness: Harness) -> None:
    memory = harness.memory().user_memory
    kept = await memory.remember(Said("The user plays the cello.", "fact", origin="user"))
    gone = await memory.remember(Said("The user lives in Oslo.", "fact", origin="user"))
    await memory.forget(str(gone.memory["id"]), "no longer true")
    keep = Keep(forgotten_days=0)
    assert (await prune_all(harness, Keep(forgotten_days=30))).forgotten_memories == 0
    assert (await prune_all(harness, keep, dry_run=True)).forgotten_memories == 1
    assert (await prune_all(harness, keep)).forgotten_memories == 1
    assert (await prune_all(harness, keep)).forgotten_memories == 0
    async with harness.resources.db.transaction("default") as conn:
        rows = await (await conn.execute("SELECT id FROM user_memory")).fetchall()
    assert [row["id"] for row in rows] == [kept.memory["id"]]
