"""The command line and the server are killed at random moments: no effect is doubled, nothing that was told is lost.

`ATTACK_KILLS=100 ATTACK_SEED=1 pytest tests/attack/test_kills.py` kills as often (the server a fifth of it), and as
that seed says.
"""

import asyncio
import json
import os
import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from ricordo.graph.notebook import open_agent
from tests.support.command import start
from tests.support.langgraph_server import LangGraphServer, ask, asking, until
from tests.support.stand_ins.openai_script import ChatRequest, Reply, call, say
from tests.support.stand_ins.openai_server import OpenAIServer

_KILLS = int(os.environ.get("ATTACK_KILLS", "6"))
_SERVER_KILLS = int(os.environ.get("ATTACK_KILLS", "10")) // 5
_SEED = int(os.environ.get("ATTACK_SEED", "1"))
_SECONDS = 0.6  # about what a step takes
_MOMENTS = ("started", "asked", "noted", "told")
_TOOL = '''
import asyncio, os
from ricordo import toolbox

@toolbox.register_tool(group="test", examples=["note it down"], pinned=True, side_effect=True)
async def note_down(text: str) -> str:
    """Write a line into the notebook.

    Args:
        text: The line.
    """
    with open(os.environ["NOTES"], "a") as file:
        file.write(f"{text}\\n")
    await asyncio.sleep(0.3)
    return "Noted."
'''


class Campaign:
    """Turns whose tool has an effect outside of the database, and what must hold of them."""

    def __init__(self, dsn: str, model: OpenAIServer, folder: Path) -> None:
        self.dsn, self.model, self.notes = dsn, model, folder / "notes"
        self.notes.touch()
        (folder / "note_down.py").write_text(_TOOL)
        self.settings = model.settings() | {
            "RICORDO_DATABASE_URL": dsn,
            "RICORDO_HOME": str(folder),
            "RICORDO_TOOLS": str(folder / "note_down.py"),
            "NOTES": str(self.notes),
        }
        self.told: list[str] = []
        """Answers that somebody has seen."""
        self.go = threading.Event()
        """Until it is set, the model makes the turns with the tool wait."""
        self.go.set()
        model.play_by(self.reply)

    def reply(self, request: ChatRequest) -> Reply:
        """Other words and another call each time that the model is asked, as models do."""
        if request.question.startswith("Note ") and not request.results:
            self.go.wait()
            return call("note_down", {"text": request.question})
        return say(f"Answer {request.number} to {request.question}")

    def effects(self) -> list[str]:
        return self.notes.read_text().splitlines()

    def reached(self, moment: str, question: str) -> bool:
        """Whether the turn of a question has come so far."""
        asked = [request for request in self.model.main if request.question == question]
        return {
            "started": True,
            "asked": bool(asked),
            "noted": question in self.effects(),
            "told": any(request.results for request in asked),
        }[moment]

    def said(self) -> list[tuple[str, str]]:
        with psycopg.connect(self.dsn) as conn:
            return conn.execute("SELECT role, content FROM messages ORDER BY seq").fetchall()

    def check(self) -> None:
        """No effect, question or answer is there twice; what was told is there; each effect is in the log once."""
        said = self.said()
        effects = self.effects()
        questions = [text for role, text in said if role == "user"]
        answers = [text for role, text in said if role == "assistant"]
        assert _twice(effects) == []
        assert _twice(questions) == []
        assert _twice([text.partition(" to ")[2] for text in answers]) == []
        assert set(self.told) <= set(answers)
        assert {request.question for request in self.model.main} <= set(questions)
        with psycopg.connect(self.dsn) as conn:
            logged = [row[0] for row in conn.execute("SELECT args->>'text' FROM tool_log").fetchall()]
        assert _twice(logged) == []
        assert set(effects) <= set(logged)


def _twice(texts: list[str]) -> list[str]:
    return [text for text, count in Counter(texts).items() if count > 1]


@pytest.fixture
def campaign(dsn: str, openai_server: OpenAIServer, tmp_path: Path) -> Campaign:
    return Campaign(dsn, openai_server, tmp_path)


async def test_kills_of_the_command_line_double_no_effect_and_lose_no_answer(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(_SEED)  # noqa: S311 - no secret
    monkeypatch.setenv("RICORDO_DATABASE_URL", campaign.dsn)
    for number in range(_KILLS):
        question, thread, moment = f"Note {number}.", f"t{number % 3}", chance.choice(_MOMENTS)
        process = start("ask", question, "--thread", thread, "--json", settings=campaign.settings)
        with process:
            await until(lambda: process.poll() is not None or campaign.reached(moment, question))  # noqa: B023
            await asyncio.sleep(chance.uniform(0, _SECONDS))
            process.kill()
            printed, complained = process.communicate()
        assert process.returncode in {0, -signal.SIGKILL}, complained
        if process.returncode == 0:
            campaign.told.append(json.loads(printed)["answer"])
        async with open_agent() as agent:
            campaign.told.append((await agent.ask(f"Still there after {number}?", thread)).answer)
        campaign.check()


async def test_kills_of_the_server_double_no_effect_and_lose_no_answer(campaign: Campaign, tmp_path: Path) -> None:
    chance = random.Random(_SEED)  # noqa: S311 - no secret
    saved = tmp_path / "work" / ".langgraph_api" / ".langgraph_ops.pckl"
    thread, run = str(UUID(int=chance.getrandbits(128), version=4)), ""
    for number in range(_SERVER_KILLS + 1):
        with LangGraphServer(tmp_path / "work", campaign.settings) as server:
            async with server.client() as client:
                await client.threads.create(thread_id=thread, if_exists="do_nothing")
                if run:
                    await _finished(client, thread, run)
                state = await ask(client, thread, f"Still there after {number}?")
                campaign.told.append(state["messages"][-1]["content"])
                campaign.check()
                if number == _SERVER_KILLS:
                    break
                question, moment = f"Note {number}.", chance.choice(_MOMENTS)
                campaign.go.clear()
                run = (await client.runs.create(thread, "agent", input=asking(question)))["run_id"]
                await until(lambda: campaign.reached("asked", question))  # noqa: B023
                seen = time.time()
                if number % 2 == 0:  # the server's list has the run as one that is under way, and is not written anew
                    await until(lambda: saved.exists() and saved.stat().st_mtime > seen)  # noqa: B023
                campaign.go.set()
                await until(lambda: campaign.reached(moment, question))  # noqa: B023
                await asyncio.sleep(chance.uniform(0, _SECONDS))
            server.stop(signal.SIGKILL)


async def _finished(client: LangGraphClient, thread: str, run: str) -> None:
    """Wait for a run that the last server has left; one that is younger than its list is not known any more."""
    try:
        await asyncio.wait_for(client.runs.join(thread, run), 240)
    except NotFoundError:
        return
