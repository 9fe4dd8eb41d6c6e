"""Several agents in one process: each turn has the resources of its own agent."""

import asyncio
import os

import psycopg
import pytest
from pydantic import SecretStr

from ricordo.common.errors import ConfigurationError
from ricordo.common.settings import Settings, get_settings
from ricordo.graph.notebook import call_agent, open_agent
from ricordo.graph.resources import get_resources
from ricordo.models.embeddings import Embedder
from ricordo.stores.toolbox.box import toolbox
from tests.support.toolboxes import TOOLS, Held, best, box_of, many_and


def of(dsn: str) -> Settings:
    return get_settings().model_copy(update={"database_url": SecretStr(dsn)})


def said(dsn: str) -> list[str]:
    with psycopg.connect(dsn) as conn:
        return [row[0] for row in conn.execute("SELECT content FROM messages WHERE role = 'user' ORDER BY seq")]


async def test_two_agents_each_keep_to_their_own_database(dsn: str, empty_dsn: str) -> None:
    async with open_agent(of(dsn)) as one, open_agent(of(empty_dsn)) as two:
        await one.ask("I am called Anselm.", thread_id="q")
        await two.ask("I am called Beatrice.", thread_id="q")
        await one.ask("What time is it?", thread_id="q")
    assert said(dsn) == ["I am called Anselm.", "What time is it?"]
    assert said(empty_dsn) == ["I am called Beatrice."]


async def test_an_agent_goes_on_while_and_after_another_one_was_open(dsn: str) -> None:
    os.environ["RICORDO_DATABASE_URL"] = dsn
    get_settings.cache_clear()
    async with open_agent() as agent:
        other = asyncio.create_task(asyncio.to_thread(call_agent, "What time is it?", "inner"))
        while not other.done():
            assert (await agent.ask("What time is it in Rome?", thread_id="outer")).stop_reason == "answer"
        assert "UTC" in await other
        assert (await agent.ask("And what day is it?", thread_id="outer")).stop_reason == "answer"


async def test_a_tool_may_ask_ricordo(dsn: str) -> None:
    os.environ["RICORDO_DATABASE_URL"] = dsn
    get_settings.cache_clear()

    @toolbox.register_tool(side_effect=False, examples=["consult the oracle"])
    def consult_the_oracle() -> str:
        """Consult the oracle."""
        return call_agent("What time is it?", "oracle")

    try:
        async with open_agent() as agent:
            answer = await agent.ask("Please consult the oracle now", thread_id="outer")
    finally:
        toolbox.remove("consult_the_oracle")
    assert [(call["name"], call["status"]) for call in answer.tool_calls] == [("consult_the_oracle", "success")]


async def test_a_turn_is_answered_while_many_new_tools_are_still_being_embedded(
    dsn: str, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(embedder)
    monkeypatch.setattr("ricordo.graph.resources.chosen_embedder", lambda _: held)
    many = box_of(many_and(**TOOLS))
    for tool in many:
        toolbox.register_tool(tool.source)
    try:
        async with open_agent(of(dsn)) as agent:
            await held.waits.wait()
            assert (await agent.ask("What time is it?", thread_id="q")).stop_reason == "answer"
            assert await best(toolbox, "polish the lamp of number 77") == "polish_77"
            held.may_go_on.set()
            while await best(toolbox, "今天会下雨吗") != "tell_weather":  # noqa: ASYNC110 - another task does it
                await asyncio.sleep(0.01)
    finally:
        for tool in many:
            toolbox.remove(tool.name)
    assert held.texts > 2 * len(many)


def test_without_any_the_way_to_open_them_is_told() -> None:
    with pytest.raises(ConfigurationError, match="open_agent"):
        get_resources()
