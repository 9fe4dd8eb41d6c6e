"""Summaries over a real database: all messages covered once, whatever happens, and all of them read back."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ricordo.common.errors import NotFoundError
from ricordo.common.settings import Settings
from ricordo.graph.compaction.history import compact_thread, cover, fold, turns_of
from ricordo.graph.context import Context
from ricordo.graph.limits import Limits, limits_of
from ricordo.graph.resources import Resources, in_use
from ricordo.stores.manager import MemoryManager
from ricordo.stores.passages import Passage
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.vectors import ensure_space
from ricordo.stores.toolbox.box import toolbox
from tests.support.small_embedder import small_embedder

ROOT = Path(__file__).parents[3]


@pytest.fixture
async def memory(db: Database, tmp_path: Path) -> AsyncIterator[MemoryManager]:
    embedder = small_embedder()
    await ensure_space(db.dsn, embedder)
    manager = MemoryManager(db, embedder, "ada")
    with in_use(Resources(Settings(home=tmp_path, model="offline"), db, embedder, manager, toolbox)):
        yield manager


@pytest.fixture
def limits(memory: MemoryManager) -> Limits:  # noqa: ARG001 - its resources are open
    return limits_of(SimpleNamespace(context=Context(context_window=8_000)))


async def talk(memory: MemoryManager, turns: int, start: int = 0) -> list[str]:
    said = []
    for n in range(start, start + turns):
        said += [f"Question {n}: how many barges came on day {n}?", f"On day {n} there came {n} barges."]
        await memory.write_conversational_memory("t", "user", said[-2])
        await memory.write_conversational_memory("t", "assistant", said[-1])
    return said


async def read_back(memory: MemoryManager, summary_id: Any) -> list[str]:
    """Return the messages under a summary, read page by page."""
    lines: list[str] = []
    page = 1
    while True:
        text = await memory.read_summary_memory(str(summary_id), page, budget=300)
        lines += re.findall(r"(?m)^> (.*)$", text)
        if f"page={page + 1})" not in text:
            return lines
        page += 1


async def tree(memory: MemoryManager) -> tuple[list[Any], list[Any]]:
    """Return all messages and all summaries of the thread."""
    async with memory.db.transaction(memory.user_id) as conn:
        messages = await (await conn.execute("SELECT * FROM messages ORDER BY seq")).fetchall()
        summaries = await (await conn.execute("SELECT * FROM summary ORDER BY first_seq, level")).fetchall()
    return messages, summaries


async def assert_whole(memory: MemoryManager) -> None:
    """Check that each message and each summary is under one summary at most, and marked by the one that covers it."""
    messages, summaries = await tree(memory)
    covered = Counter(i for s in summaries for i in s["covers"])
    assert not [i for i, times in covered.items() if times > 1], "covered twice"
    parents = {i: s["id"] for s in summaries for i in s["covers"]}
    assert {m["id"]: m["summary_id"] for m in messages} == {m["id"]: parents.get(m["id"]) for m in messages}
    assert {s["id"]: s["parent"] for s in summaries} == {s["id"]: parents.get(s["id"]) for s in summaries}


async def test_messages_go_under_a_summary_and_come_back_word_for_word(memory: MemoryManager, limits: Limits) -> None:
    said = await talk(memory, 4)
    passages = await memory.read_conversational_memory("t")
    made = await cover(memory, "t", passages[:6], limits)
    assert made
    assert made.covered == 6
    assert await read_back(memory, made.summary_id) == said[:6]
    assert [p.text for p in await memory.read_conversational_memory("t")] == said[6:]
    (shown,) = await memory.read_summary_context("t")
    assert (shown.id, shown.text) == (str(made.summary_id), made.description)
    assert "covers=6" in shown.head
    await assert_whole(memory)


async def test_what_is_covered_is_not_covered_again(memory: MemoryManager, limits: Limits) -> None:
    await talk(memory, 3)
    passages = await memory.read_conversational_memory("t")
    assert await cover(memory, "t", passages[:4], limits)
    assert await cover(memory, "t", passages[:4], limits) is None
    assert await cover(memory, "t", passages[2:], limits) is None, "a part of it is covered: all of it stays"
    assert len(await memory.read_conversational_memory("t")) == 2
    assert await cover(memory, "t", [], limits) is None
    await assert_whole(memory)


async def test_many_compactions_at_once_wait_for_each_other(memory: MemoryManager, limits: Limits) -> None:
    await talk(memory, 12)
    passages = await memory.read_conversational_memory("t")
    spans = [(0, 6), (0, 6), (2, 10), (8, 12), (10, 20), (12, 24), (0, 24), (20, 24)]
    made = await asyncio.gather(*(cover(memory, "t", passages[a:b], limits) for a, b in spans))
    assert any(made)
    await assert_whole(memory)
    covered = sum(one.covered for one in made if one)
    assert covered + len(await memory.read_conversational_memory("t")) == 24


async def test_a_whole_thread_is_summarised_but_for_the_question(memory: MemoryManager, limits: Limits) -> None:
    said = await talk(memory, 3)
    asked = await memory.write_conversational_memory("t", "user", "And today?")
    (made,) = await compact_thread(memory, "t", limits, but=asked)
    assert await read_back(memory, made.summary_id) == said
    assert [p.text for p in await memory.read_conversational_memory("t")] == ["And today?"]
    assert await compact_thread(memory, "t", limits, but=asked) == []
    assert str(made) == f"6 messages under summary {made.summary_id}"


async def test_summaries_of_summaries_keep_the_chain(memory: MemoryManager, limits: Limits) -> None:
    said: list[str] = []
    for n in range(60):
        said += await talk(memory, 1, start=n)
        await compact_thread(memory, "t", limits)
        assert len(await memory.read_summary_context("t")) <= limits.most_summaries
        if n % 20 == 19:
            await assert_whole(memory)
    shown = await memory.read_summary_context("t")
    assert [line for p in shown for line in await read_back(memory, p.id)] == said, "in order, none twice, none lost"
    _, summaries = await tree(memory)
    assert 1 <= max(s["level"] for s in summaries) <= 4, "the tree stays flat"
    assert shown[-1].text
    assert summaries[-1]["level"] == 0, "what was spoken last stays apart"


async def test_a_nested_summary_tells_on_which_page_each_part_begins(memory: MemoryManager, limits: Limits) -> None:
    for n in range(limits.most_summaries + 1):
        await talk(memory, 1, start=n)
        passages = await memory.read_conversational_memory("t")
        await cover(memory, "t", passages, limits)
    (nested,) = await fold(memory, "t", limits)
    first = await memory.read_summary_memory(str(nested.summary_id), budget=2_000)
    contents = re.findall(r"(?m)^- from page \d+: .*Question (\d+)", first)
    assert contents == [str(n) for n in range(nested.covered)]


async def test_fewer_summaries_are_shown_where_the_window_is_small(memory: MemoryManager) -> None:
    small = limits_of(SimpleNamespace(context=Context(context_window=2_000)))
    one = limits_of(SimpleNamespace(context=Context(context_window=2_000, summary_k=1)))
    said: list[str] = []
    for n in range(8):
        said += await talk(memory, 1, start=n)
        await compact_thread(memory, "t", small)
    assert len(await memory.read_summary_context("t")) == 2
    await fold(memory, "t", one)
    (last,) = await memory.read_summary_context("t")
    assert await read_back(memory, last.id) == said
    await assert_whole(memory)


async def test_summaries_open_for_their_owner_alone(memory: MemoryManager, limits: Limits) -> None:
    await talk(memory, limits.most_summaries + 2)
    for _ in range(limits.most_summaries + 1):
        passages = await memory.read_conversational_memory("t")
        await cover(memory, "t", passages[:2], limits)
    (nested,) = await fold(memory, "t", limits)
    messages, summaries = await tree(memory)
    stranger = memory.for_user("bea")
    for id_ in [nested.summary_id, *(s["id"] for s in summaries), *(m["id"] for m in messages)]:
        with pytest.raises(NotFoundError, match="no summary"):
            await stranger.read_summary_memory(str(id_))
    assert await stranger.read_summary_context("t") == []


def test_a_turn_begins_with_the_user() -> None:
    roles = ["assistant", "user", "assistant", "user", "user", "assistant", "assistant"]
    passages = [Passage(str(i), f"{role} · now", "") for i, role in enumerate(roles)]
    assert [[p.id for p in turn] for turn in turns_of(passages)] == [["0"], ["1", "2"], ["3"], ["4", "5", "6"]]


_CHILD = """
import asyncio, os, sys
from pathlib import Path
from types import SimpleNamespace
from ricordo.graph.compaction.history import cover, fold
from ricordo.graph.context import Context
from ricordo.graph.limits import limits_of
from ricordo.graph.resources import Resources, in_use
from ricordo.common.settings import Settings
from ricordo.stores import summary
from ricordo.stores.postgres.database import Database
from ricordo.stores.manager import MemoryManager
from ricordo.stores.toolbox.box import toolbox
from tests.support.small_embedder import small_embedder

def die_after(module, name):
    work = getattr(module, name)
    async def wrapped(*args, **kwargs):
        result = await work(*args, **kwargs)
        os.kill(os.getpid(), 9)
        return result
    setattr(module, name, wrapped)

async def main(dsn, home, point):
    embedder = small_embedder()
    async with Database.open(dsn) as db:
        memory = MemoryManager(db, embedder, "ada")
        with in_use(Resources(Settings(home=Path(home), model="offline"), db, embedder, memory, toolbox)):
            limits = limits_of(SimpleNamespace(context=Context(context_window=8_000)))
            if point == "race":
                print("ready", flush=True)
                sys.stdin.readline()
                while passages := await memory.read_conversational_memory("t"):
                    await cover(memory, "t", passages[:4], limits)
                    await fold(memory, "t", limits)
                return
            if point == "written":
                die_after(memory.summary, "write")
            elif point == "marked":
                die_after(summary, "mark")
            elif point == "stored":
                die_after(summary, "store")
            await cover(memory, "t", (await memory.read_conversational_memory("t"))[:4], limits)

asyncio.run(main(*sys.argv[1:]))
"""


def child(memory: MemoryManager, home: Path, point: str, **pipes: Any) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", _CHILD, memory.db.dsn, str(home), point]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True, **pipes)


@pytest.mark.parametrize("point", ["written", "marked", "stored"])
async def test_a_compaction_that_is_killed_leaves_all_or_nothing(
    memory: MemoryManager, limits: Limits, tmp_path: Path, point: str
) -> None:
    said = await talk(memory, 4)
    assert await asyncio.to_thread(child(memory, tmp_path, point).wait, 120) == -signal.SIGKILL
    await assert_whole(memory)
    left = await memory.read_conversational_memory("t")
    assert [p.text for p in left] == said
    assert await cover(memory, "t", left[:4], limits), "the same summary can be made again"
    await assert_whole(memory)


async def test_two_processes_that_compact_one_thread_lose_nothing(memory: MemoryManager, tmp_path: Path) -> None:
    said = await talk(memory, 30)
    racers = [child(memory, tmp_path, "race", stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
    for racer in racers:
        assert racer.stdout
        assert await asyncio.to_thread(racer.stdout.readline) == "ready\n"
    outcomes = await asyncio.gather(*(asyncio.to_thread(racer.communicate, "go\n", 120) for racer in racers))
    assert [racer.returncode for racer in racers] == [0, 0], outcomes
    await assert_whole(memory)
    shown = await memory.read_summary_context("t")
    assert [line for p in shown for line in await read_back(memory, p.id)] == said
