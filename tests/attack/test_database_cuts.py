"""The database is cut off in the middle of turns, or has few connections: the next turn goes on, and no answer is lost.

`ATTACK_CUTS=200 ATTACK_SEED=1 pytest tests/attack/test_database_cuts.py` cuts as often, and as that seed says.
"""

import asyncio
import os
import random
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest

from ricordo import tools
from ricordo.common.errors import DatabaseError
from ricordo.graph.notebook import Agent
from ricordo.graph.resources import in_use
from ricordo.graph.thread.checkpoints import checkpointer_of
from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.connection import connect
from ricordo.stores.postgres.database import Database
from tests.support.harness import Harness, ScriptedChat, calls, open_harness, says

_CUTS = int(os.environ.get("ATTACK_CUTS", "12"))
_SEED = int(os.environ.get("ATTACK_SEED", "1"))
_TURNS = 60


async def cut_all(dsn: str) -> None:
    """End every other session of the database, as an administrator does, or a server that is started anew."""
    async with await connect(dsn) as admin:
        await admin.execute(
            "SELECT pg_terminate_backend(pid, 10_000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.fixture
async def harness(db: Database, embedder: Embedder, tmp_path: Path) -> AsyncIterator[Harness]:
    async with open_harness(db, embedder, tmp_path) as opened:
        yield opened


@pytest.fixture
def effects() -> Any:
    """What a tool with an effect has done, whose call cuts off the database if it is told to."""
    done: list[str] = []

    @tools.toolbox.register_tool(group="test", tags=["note"], examples=["note it down"], pinned=True)
    async def note_down(text: str) -> str:
        """Write a line into the notebook.

        Args:
            text: The line.
        """
        done.append(text)
        return "Noted."

    yield done
    tools.toolbox.remove("note_down")


async def test_after_every_connection_was_cut_the_next_turn_goes_on(harness: Harness) -> None:
    await harness.ask("First?", says("One."))
    await cut_all(harness.resources.db.dsn)
    assert (await harness.ask("Second?", says("Two."))).answer == "Two."


async def test_an_answer_is_given_although_the_lock_was_lost_while_it_was_made(harness: Harness) -> None:
    dsn = harness.resources.db.dsn

    @tools.toolbox.register_tool(group="test", tags=["cut"], examples=["cut it off"], pinned=True)
    async def cut_off() -> str:
        """Cut the database off."""
        await cut_all(dsn)
        return "Cut."

    try:
        answer = await harness.ask("Cut it off.", calls(("cut_off", {})), says("It is cut off."))
    finally:
        tools.toolbox.remove("cut_off")
    assert answer.answer == "It is cut off."


async def test_cuts_at_random_moments_double_no_effect_and_lose_no_answer(harness: Harness, effects: list[str]) -> None:
    chance = random.Random(_SEED)  # noqa: S311 - no secret
    dsn = harness.resources.db.dsn
    seconds = 0.2
    answered: list[str] = []
    for number in range(_CUTS):
        harness.model.script[:] = [calls(("note_down", {"text": str(number)})), says(f"Answer {number}.")]

        async def cutting(delay: float) -> None:
            await asyncio.sleep(delay)
            await cut_all(dsn)

        cutter = asyncio.create_task(cutting(chance.uniform(0, seconds)))
        with suppress(DatabaseError):
            answered.append((await harness.agent.ask(f"Note {number}.", f"t{number % 3}")).answer)
        await cutter
        answer = await harness.ask(f"Still there after {number}?", says(f"Yes, {number}."), thread_id=f"t{number % 3}")
        answered.append(answer.answer)
    assert len(effects) == len(set(effects))
    async with harness.resources.db.transaction("default") as conn:
        rows = await (await conn.execute("SELECT content FROM messages WHERE role = 'assistant'")).fetchall()
    stored = [row["content"] for row in rows]
    assert set(answered) <= set(stored)
    assert len(stored) == len(set(stored))


async def test_sixty_turns_at_once_on_a_small_pool_are_all_answered(
    dsn: str, embedder: Embedder, harness: Harness
) -> None:
    model = ScriptedChat(script=[says("Yes.") for _ in range(_TURNS)])
    async with Database.open(dsn, max_connections=2) as small:
        resources = harness.resources
        resources.db, resources.manager = small, type(resources.manager)(small, embedder)
        resources.models["scripted"] = model
        with in_use(resources):
            async with checkpointer_of(small) as saver, aclosing(Agent(resources, saver)) as agent:
                answers = await asyncio.gather(*(agent.ask(f"Number {n}?", f"t{n}") for n in range(_TURNS)))
    assert [answer.answer for answer in answers] == ["Yes."] * _TURNS
