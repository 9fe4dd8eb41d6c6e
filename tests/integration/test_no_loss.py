"""Whatever is killed and whenever: the question is kept, nothing is stored twice, no tool with an effect runs twice."""

import asyncio
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ricordo.graph.notebook import open_agent
from tests.support import dying_agent
from tests.support.command import answer_of, start
from tests.support.langgraph_server import ROOT, bare_environment, until
from tests.support.stand_ins.openai_script import ChatRequest, Reply, call, say
from tests.support.stand_ins.openai_server import OpenAIServer

FIRST, SECOND = "Please note that the ferry leaves at noon.", "When does it leave?"
_DRIVER = [sys.executable, dying_agent.__file__]
MOMENTS = [
    "assemble_context",
    "check_window",
    "compact",
    "retrieve_tools",
    "llm",
    "execute_tools",
    "tool",
    "check_window:2",
    "llm:2",
    "persist_workflow",
    "end",
]


def rows(dsn: str, query: str) -> list[Any]:
    with psycopg.connect(dsn) as conn:
        return [row[0] if len(row) == 1 else row for row in conn.execute(query.encode()).fetchall()]


def said(dsn: str) -> list[Any]:
    return rows(dsn, "SELECT role, content FROM messages ORDER BY seq")


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_turn_that_is_killed_loses_no_question_and_doubles_nothing(
    moment: str, dsn: str, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    settings = {"RICORDO_DATABASE_URL": dsn, "RICORDO_HOME": str(tmp_path), "NOTES": str(notes)}
    if moment == "compact":
        settings |= {"RICORDO_CONTEXT_WINDOW": "2000", "RICORDO_COMPACT_ABOVE": "0.2", "RICORDO_COMPACT_TO": "0.1"}
    openai_server.play(call("note_down", {"text": "noon"}), say("It is noted."))
    environment = bare_environment(PYTHONPATH=str(ROOT), **settings, **openai_server.settings())
    died = await asyncio.create_subprocess_exec(*_DRIVER, moment, FIRST, "t", env=environment)
    assert await died.wait() == -signal.SIGKILL

    os.environ["RICORDO_DATABASE_URL"] = dsn
    asked = len(openai_server.main)
    openai_server.play(say("At noon."))
    async with open_agent() as agent:
        answer = await agent.ask(SECOND, "t")
    assert answer.answer == "At noon."
    kept = moment != "assemble_context"
    assert openai_server.main[asked].segment("Conversation").count(f"> {FIRST}") == kept
    expected = [("user", FIRST)] * kept + [("assistant", "It is noted.")] * (moment == "end")
    assert said(dsn) == [*expected, ("user", SECOND), ("assistant", "At noon.")]
    assert rows(dsn, "SELECT count(*) FROM workflow") == [int(moment == "end")]
    effects = notes.read_text().splitlines() if notes.exists() else []
    assert effects == ["noon"] * (moment in MOMENTS[MOMENTS.index("tool") :])
    assert len(rows(dsn, "SELECT id FROM tool_log")) == len(effects)


async def test_two_asks_at_once_on_one_thread_are_served_one_after_the_other(
    dsn: str, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    settings = {"RICORDO_DATABASE_URL": dsn, "RICORDO_HOME": str(tmp_path), **openai_server.settings()}
    openai_server.play_by(lambda request: say(f"Answer to {request.question}", delay=1))
    both = [start("ask", f"Note {name}.", "--thread", "t", "--json", settings=settings) for name in ("ARIEL", "OBERON")]
    answers = [answer_of(process)["answer"] for process in both]
    assert answers == ["Answer to Note ARIEL.", "Answer to Note OBERON."]
    one, two = openai_server.main  # whichever came first
    turns = [(request.question, f"Answer to {request.question}") for request in (one, two)]
    assert said(dsn) == [row for asked, told in turns for row in (("user", asked), ("assistant", told))]
    assert f"> {one.question}" in two.segment("Conversation")


async def test_a_second_ask_that_may_not_wait_is_refused_in_words_and_stores_nothing(
    dsn: str, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    settings = {"RICORDO_DATABASE_URL": dsn, "RICORDO_HOME": str(tmp_path), **openai_server.settings()}
    go = threading.Event()

    def slowly(_: ChatRequest) -> Reply:
        go.wait()
        return say("Slowly said.")

    openai_server.play_by(slowly)
    first = start("ask", "Take your time.", "--thread", "t", "--json", settings=settings)
    await until(lambda: openai_server.main)
    second = start("ask", "Me first!", "--thread", "t", settings=settings | {"RICORDO_THREAD_WAIT_SECONDS": "0"})
    with second:
        printed, complained = second.communicate()
    go.set()
    assert second.returncode != 0
    assert "under way" in complained
    assert printed == ""
    assert answer_of(first)["answer"] == "Slowly said."
    assert said(dsn) == [("user", "Take your time."), ("assistant", "Slowly said.")]
