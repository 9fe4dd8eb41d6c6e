"""Entities by a chat model: what it makes up is left out, and when it fails the rules have the answer."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.database import Database
from tests.support.harness import Harness, open_harness, says

QUESTION = "Tell Ada Byron that the MemGPT crew, or Memory GPT crew, met in Skerry."
ANSWER = "Ada Byron knows."


@pytest.fixture
async def harness(db: Database, embedder: Embedder, tmp_path: Path) -> AsyncIterator[Harness]:
    options: dict[str, Any] = {"entity_extraction": "model", "summary_model": "scripted"}
    async with open_harness(db, embedder, tmp_path, **options) as opened:
        yield opened


def found(*entities: tuple[str, str, list[str]]) -> AIMessage:
    named = [{"name": name, "type": kind, "aliases": aliases} for name, kind, aliases in entities]
    return AIMessage("", tool_calls=[{"name": "_Found", "args": {"entities": named}, "id": "c"}])


async def stored(harness: Harness) -> dict[str, tuple[str, list[str]]]:
    async with harness.resources.db.transaction("default") as conn:
        cursor = await conn.execute("SELECT name, type, aliases FROM entity ORDER BY seq")
        return {row["name"]: (row["type"], row["aliases"]) for row in await cursor.fetchall()}


@pytest.fixture(autouse=True)
def structured(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in model answers a schema by calling the tool of its name, as LangChain's own models do."""

    def with_structured_output(self: Any, schema: dict[str, Any], **_: Any) -> Any:
        def parse(message: AIMessage) -> dict[str, Any]:
            return {"raw": message, "parsed": message.tool_calls[0]["args"] if message.tool_calls else None}

        return self.bind(schema=schema["title"]) | parse

    monkeypatch.setattr("tests.support.harness.ScriptedChat.with_structured_output", with_structured_output)


async def test_what_the_model_finds_is_stored_as_far_as_it_stands_in_the_text(harness: Harness) -> None:
    reply = found(
        ("Ada Byron", "person", ["Countess of Lovelace"]),
        ("MemGPT crew", "Organisation", ["Memory GPT crew"]),
        ("Skerry", "nonsense", []),
        ("Charles Babbage", "person", []),
        ("Sk", "place", []),
        ("", "place", []),
    )
    await harness.ask(QUESTION, says(ANSWER), reply)
    assert await stored(harness) == {
        "Ada Byron": ("person", []),
        "MemGPT crew": ("organisation", ["Memory GPT crew"]),
        "Skerry": ("thing", []),
    }
    asked = "\n".join(str(message.text) for message in harness.model.asked[-1])
    assert f"> {QUESTION}" in asked
    assert f"> {ANSWER}" in asked


@pytest.mark.parametrize(
    "reply", [says("I see no names."), RuntimeError("no such model"), AIMessage("", tool_calls=[])]
)
async def test_when_the_model_fails_names_are_found_by_their_form(
    harness: Harness, reply: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        await harness.ask("We met Prospero Quill and MemGPT.", says(ANSWER), reply)
    assert set(await stored(harness)) == {"Prospero Quill", "MemGPT"}
    assert "found by their form" in caplog.text


async def test_a_model_that_does_not_answer_in_time_is_not_waited_for(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> object:
        await asyncio.sleep(60)
        return []

    monkeypatch.setattr("ricordo.graph.entity_model._asked", never)
    resources = harness.resources
    resources.settings = resources.settings.model_copy(update={"summary_timeout_seconds": 0.2})
    await harness.ask("We met Prospero Quill.", says(ANSWER))
    assert set(await stored(harness)) == {"Prospero Quill"}


async def test_by_default_no_model_is_asked(db: Database, embedder: Embedder, tmp_path: Path) -> None:
    async with open_harness(db, embedder, tmp_path, summary_model="scripted") as harness:
        await harness.ask("We met Prospero Quill.", says(ANSWER))
        assert set(await stored(harness)) == {"Prospero Quill"}
        assert len(harness.model.asked) == 1
