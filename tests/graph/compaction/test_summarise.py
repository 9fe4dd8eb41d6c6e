"""Summaries: a model's where it is one, extraction where the model fails in any way."""

import json
import re
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ricordo.common.settings import Settings
from ricordo.graph.compaction.summarise import _AT_ONCE, _summariser, parts_of, summarise
from ricordo.graph.context import Context
from ricordo.graph.limits import Limits, limits_of
from ricordo.graph.resources import Resources, in_use
from ricordo.models import tokens
from ricordo.offline.extractive import StructuredSummary
from ricordo.stores.toolbox.box import toolbox
from tests.support.stand_ins.openai_script import ChatRequest, Reply, say, text_of
from tests.support.stand_ins.openai_server import OpenAIServer

HISTORY = [
    ("user", "We must ship the lighthouse lamp LX-40 to Genoa before 12 March; Rosalind pays 900 euro for it."),
    ("assistant", "Noted: lamp LX-40, Genoa, 12 March, 900 euro. I booked the barge Miranda with captain Orsino."),
    ("user", "Then we decided to insure it. What is still open is who signs the customs form."),
    ("assistant", "The customs form is open; Viola or Sebastian could sign it."),
] * 3
GOOD = StructuredSummary(
    description="Shipping lamp LX-40 to Genoa by barge Miranda",
    purpose="Ship the lighthouse lamp LX-40 to Genoa before 12 March.",
    facts=["Rosalind pays 900 euro", "The barge Miranda with captain Orsino is booked"],
    decisions=["insure the lamp"],
    open_items=["who signs the customs form: Viola or Sebastian"],
    named_things=["Rosalind", "Miranda", "Orsino"],
)


class Summariser:
    """A model server whose internal replies a test sets, and a turn's limits that name it."""

    def __init__(self, server: OpenAIServer, resources: Resources) -> None:
        self.server = server
        self.resources = resources
        self.limits: Limits = limits_of(SimpleNamespace(context=Context(context_window=8_000)))

    def replies(self, reply: Reply) -> None:
        self.server.play_by(lambda _: say("unused"), lambda _: reply)

    def impatient(self) -> None:
        """Wait for a second, no longer."""
        self.resources.settings = self.resources.settings.model_copy(update={"summary_timeout_seconds": 1})

    async def __call__(self, history: list[tuple[str, str]], **options: Any) -> StructuredSummary:
        return await summarise(history, self.limits, **options)


@pytest.fixture
async def summariser(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Summariser]:
    with OpenAIServer() as server:
        for name, value in server.settings().items():
            monkeypatch.setenv(name, value)
        settings = Settings(summary_timeout_seconds=60, max_retries=0)
        nothing = cast("Any", None)  # no database, no embeddings: only the model is asked
        resources = Resources(settings, nothing, nothing, nothing, toolbox)
        resources.chat_model(settings.chat_model)  # its first import takes longer than the patience here
        with in_use(resources):
            yield Summariser(server, resources)
        await resources.close_models()
        assert server.violations == []


def _is_extractive(summary: StructuredSummary) -> bool:
    """Whether all that a summary says stands in the history."""
    said = " ".join(text for _, text in HISTORY)
    return all(fact.rstrip(" …") in said for fact in [summary.purpose, *summary.facts, *summary.decisions])


async def test_a_models_summary_is_taken_as_it_is(summariser: Summariser) -> None:
    summariser.replies(say(GOOD.model_dump_json()))
    assert await summariser(HISTORY) == GOOD
    (request,) = summariser.server.internal
    assert all(line.startswith("> ") for line in text_of(request.messages[1]).splitlines()[1:]), "history is data"


@pytest.mark.parametrize(
    "reply",
    [
        say(""),
        say("{}"),
        say(json.dumps({"description": ""})),
        say("xqzt blarg fnord wibble zork plugh"),
        say(json.dumps({"description": "zork", "facts": ["blarg fnord wibble plugh xyzzy"] * 3})),
        say(json.dumps({"description": "lamp", "facts": ["the lamp LX-40 goes to Genoa on 12 March"] * 200})),
        say('{"description": "lamp LX-40", "facts": ["Rosal'),
        say("", status=500, error="The server had an error."),
        say("", status=400, error="Invalid value.", code="bad"),
        say(GOOD.model_dump_json(), cut=40),
    ],
    ids=[
        "nothing",
        "no-fields",
        "empty",
        "garbage",
        "structured-garbage",
        "ten-times",
        "cut",
        "500",
        "400",
        "broken-off",
    ],
)
async def test_what_is_no_summary_is_replaced_by_extraction(summariser: Summariser, reply: Reply) -> None:
    summariser.replies(reply)
    made = await summariser(HISTORY)
    assert made.description
    assert _is_extractive(made)
    assert tokens.count(made.render()) < sum(tokens.count(text) for _, text in HISTORY)


async def test_a_silent_model_is_waited_for_no_longer_than_the_setting(summariser: Summariser) -> None:
    summariser.replies(say(GOOD.model_dump_json(), delay=60))
    summariser.impatient()
    assert _is_extractive(await summariser(HISTORY))


async def test_nor_longer_than_what_is_left_of_the_turn(summariser: Summariser) -> None:
    summariser.replies(say(GOOD.model_dump_json(), delay=60))
    assert _is_extractive(await summariser(HISTORY, seconds=0.05))


async def test_many_parts_of_a_silent_model_share_one_patience(summariser: Summariser) -> None:
    summariser.replies(say(GOOD.model_dump_json(), delay=60))
    summariser.impatient()
    history = [(role, f"{i} {text} " * 20) for i in range(8) for role, text in HISTORY]
    assert len(parts_of(history, _summariser(summariser.limits))) > _AT_ONCE
    await summariser(history)
    assert len(summariser.server.internal) <= _AT_ONCE, "when the first have waited in vain, no other is sent"


async def test_a_server_without_structured_output_may_answer_in_prose(summariser: Summariser) -> None:
    summariser.replies(say("Shipping lamp LX-40 to Genoa\n- Rosalind pays 900 euro\n- captain Orsino is booked\n"))
    made = await summariser(HISTORY)
    assert made.description == "Shipping lamp LX-40 to Genoa"
    assert made.facts == ["Rosalind pays 900 euro", "captain Orsino is booked"]


async def test_half_characters_of_a_model_are_cleaned(summariser: Summariser) -> None:
    reply = GOOD.model_copy(update={"purpose": GOOD.purpose + "MARK"}).model_dump_json()
    summariser.replies(say(reply.replace("MARK", "\\u0000\\ud800")))
    assert (await summariser(HISTORY)).purpose == GOOD.purpose + "\ufffd"


async def test_a_history_of_any_length_is_read_whole_in_parts(summariser: Summariser) -> None:
    def reply(request: ChatRequest) -> Reply:
        return say(json.dumps({"description": "a part", "facts": [_source(request)[:120]]}))

    summariser.server.play_by(lambda _: say("unused"), reply)
    history = [(role, f"Entry {i}. {text} " * 4) for i in range(20) for role, text in HISTORY[:4]]
    history.insert(30, ("user", "".join(f"step {i} of the long plan; " for i in range(3_000))))
    await summariser(history)
    requests = summariser.server.internal
    assert len(requests) > 5
    assert max(request.tokens for request in requests) < summariser.limits.window / 2, "each part fits the summariser"
    seen = "\n".join(_source(request) for request in requests)
    assert set(re.findall(r"\b\d+\b", seen)) >= {str(i) for i in range(3_000)}
    assert all(text in seen for _, text in history if text.startswith("Entry"))


def _source(request: ChatRequest) -> str:
    return "\n".join(line.removeprefix("> ") for line in text_of(request.messages[1]).splitlines()[1:])


async def test_an_endless_history_does_not_ask_the_model_endlessly(summariser: Summariser) -> None:
    summariser.replies(say(GOOD.model_dump_json()))
    made = await summariser([("user", "".join(f"word{i} " for i in range(60_000)))])
    assert 1 < len(summariser.server.internal) <= 16
    assert made.facts


async def test_a_short_text_is_its_own_summary(summariser: Summariser) -> None:
    made = await summariser([("user", "Call Viola at noon.")])
    assert made.render() == "Call Viola at noon."
    assert summariser.server.internal == []


async def test_messages_without_text_have_a_summary(summariser: Summariser) -> None:
    assert (await summariser([])).description
    assert (await summariser([("user", "  ")])).description
