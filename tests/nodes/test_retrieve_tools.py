"""Which tools a model call carries, seen by the model."""

import json
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from langchain_core.exceptions import ModelInvalidRequestError

from ricordo.common.errors import ContextOverflowError
from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.database import Database
from ricordo.stores.toolbox.box import toolbox
from tests.support.harness import Harness, calls, open_harness, says

ALWAYS = ["read_toolbox", "remember", "recall"]
STEPS = {
    "find_users": "Find users of the shop by their name.",
    "send_mail": "Send an e-mail with a text to an address.",
    "tell_weather": "Tell the weather of a town.",
    "convert_money": "Convert an amount of money to another currency.",
    "resize_picture": "Resize a picture to a width and a height.",
}


@pytest.fixture(autouse=True)
def steps() -> Iterator[None]:
    """Tools of another kind than the shipped ones."""

    def register(name: str, about: str) -> None:
        async def step(text: str = "") -> str:
            return (
                json.dumps([{"name": "Alice Liddell", "mail": "alice@example.org"}]) if name == "find_users" else text
            )

        step.__name__, step.__doc__ = name, about
        toolbox.register_tool(step, group="steps", side_effect=False)

    for name, about in STEPS.items():
        register(name, about)
    yield
    for name in STEPS:
        toolbox.remove(name)


@pytest.fixture
async def narrow(db: Database, embedder: Embedder, tmp_path: Path) -> AsyncIterator[Harness]:
    """The harness with one new tool a step."""
    async with open_harness(db, embedder, tmp_path, tools_per_step=1) as opened:
        yield opened


async def test_the_tool_of_a_later_step_enters_after_the_first_observation(narrow: Harness) -> None:
    await narrow.ask(
        "Find the users named Alice and mail the result.",
        calls(("find_users", {"text": "Alice"})),
        calls(("send_mail", {"text": "Alice Liddell"})),
        says("Sent."),
    )
    first, second, _ = narrow.model.offered
    assert first == [*ALWAYS, "find_users"]
    assert second == [*ALWAYS, "find_users", "send_mail"]


async def test_what_the_model_says_of_its_next_step_brings_the_tool(narrow: Harness) -> None:
    await narrow.ask(
        "Plan my trip to see the tea party.",
        calls(("read_toolbox", {"query": "zzz", "k": 1}), text="I need to know the weather of that town."),
        says("Take an umbrella."),
    )
    assert "tell_weather" in narrow.model.offered[1]


async def test_what_read_toolbox_finds_is_offered_in_the_next_step(narrow: Harness) -> None:
    await narrow.ask(
        "What time is it?",
        calls(("read_toolbox", {"query": "make a picture smaller", "k": 2})),
        says("Late."),
    )
    first, second = narrow.model.offered
    assert "resize_picture" not in first
    found = [tool["name"] for tool in json.loads(narrow.results()[0])]
    assert found[0] == "resize_picture"
    assert set(found) <= set(second)


async def test_a_tool_once_offered_stays_in_its_place_for_the_turn(harness: Harness) -> None:
    answer = await harness.ask(
        "Convert ten dollars, then mail it.",
        calls(("convert_money", {"text": "10"})),
        calls(("read_toolbox", {"query": "weather", "k": 3})),
        calls(("tell_weather", {"text": "fog"})),
        says("Done."),
    )
    offered = harness.model.offered
    assert answer.tools_offered == offered
    for before, after in pairwise(offered):
        assert after[: len(before)] == before


async def test_a_new_turn_begins_anew(narrow: Harness) -> None:
    await narrow.ask("Convert ten dollars.", says("Done."))
    await narrow.ask("What is the weather in town?", says("Fog."))
    assert narrow.model.offered[-1] == [*ALWAYS, "tell_weather"]


async def test_the_number_of_tools_is_bounded_and_what_is_asked_for_has_its_place(
    db: Database, embedder: Embedder, tmp_path: Path
) -> None:
    async with open_harness(db, embedder, tmp_path, tools_per_step=3, max_tools=6) as harness:
        await harness.ask(
            "What time is it?",
            calls(("get_current_time", {"detailed": False})),
            calls(("read_toolbox", {"query": "resize a picture", "k": 1})),
            says("Late."),
        )
        assert max(map(len, harness.model.offered)) <= 6
        assert "resize_picture" in harness.model.offered[-1]


async def test_a_tool_that_was_set_aside_or_lacks_its_setting_is_not_offered(harness: Harness) -> None:
    await toolbox.set_enabled(harness.resources.db, "tell_weather", enabled=False)
    try:
        await harness.ask(
            "Search the web for the weather in town.",
            calls(("read_toolbox", {"query": "weather; search the web", "k": 20}), ("tell_weather", {"text": "x"})),
            says("I cannot."),
        )
    finally:
        await toolbox.set_enabled(harness.resources.db, "tell_weather", enabled=True)
    for offered in harness.model.offered:
        assert not {"tell_weather", "search_tavily"} & set(offered)
    found, refused = harness.results()
    assert "tell_weather" not in found
    assert "search_tavily" not in found
    assert "There is no tool 'tell_weather'" in refused


async def test_a_tool_that_is_gone_between_the_choice_and_the_call_is_an_error_message(narrow: Harness) -> None:
    def remove(_: object) -> object:
        toolbox.remove("tell_weather")
        return calls(("tell_weather", {"text": "x"}))

    answer = await narrow.ask("What is the weather in town?", remove, says("It is gone."))  # type: ignore[arg-type]  # any reply
    assert answer.tool_calls[0]["status"] == "error"
    assert answer.answer == "It is gone."
    assert "tell_weather" not in narrow.model.offered[-1]


async def test_a_pointer_brings_the_tool_that_follows_it(db: Database, embedder: Embedder, tmp_path: Path) -> None:
    async def flood() -> str:
        """Pour out the whole ledger."""
        return "ledger line\n" * 20_000

    toolbox.register_tool(flood, side_effect=False)
    try:
        async with open_harness(db, embedder, tmp_path, tools_per_step=1) as harness:
            await harness.ask("Pour out the ledger.", calls(("flood", {})), says("It is long."))
            first, second = harness.model.offered
            assert "read_tool_log" not in first
            assert "read_tool_log" in second
    finally:
        toolbox.remove("flood")


async def test_a_tool_whose_schema_the_provider_refuses_is_left_out_and_the_model_asked_again(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    def refusal(name: str) -> Exception:
        return ModelInvalidRequestError(f"Invalid schema for function '{name}': In context=(), 'type' is missing.")

    wanted = "Tell me the weather of a town and resize the picture."
    answer = await harness.ask(wanted, refusal("tell_weather"), refusal("resize_picture"), says("Rain."))
    assert (answer.answer, answer.iterations) == ("Rain.", 1)
    first, second, third = harness.model.offered
    assert second == [name for name in first if name != "tell_weather"]
    assert third == [name for name in second if name != "resize_picture"]
    assert answer.tools_offered == [third]
    assert len([record for record in caplog.records if "which is left out" in record.getMessage()]) == 2
    assert "Invalid schema for function" in toolbox.notices["tell_weather"]
    await harness.ask(wanted, says("Rain."))
    assert not {"tell_weather", "resize_picture"} & {*harness.model.offered[-1]}


async def test_a_step_that_was_too_long_for_the_provider_is_not_searched_for_again(narrow: Harness) -> None:
    too_long = ContextOverflowError("too long")
    await narrow.ask("Find the users named Alice and mail the result.", too_long, says("Here they are."))
    first, again = narrow.model.offered
    assert again == first
