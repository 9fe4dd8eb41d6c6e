"""What becomes of a turn whose answer was cut short, or whose model takes less than others."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage

from ricordo.graph.context import Context
from ricordo.graph.limits import limits_of
from ricordo.graph.model_call import asking
from tests.support.harness import Harness, says


@pytest.mark.parametrize(
    ("word", "ending", "told"),
    [
        ("length", "length", "reached its limit for one reply"),
        ("content_filter", "content_filter", "content filter stopped it"),
        ("refusal", "refusal", "declined to answer"),
    ],
)
async def test_an_answer_that_was_cut_short_is_marked_in_answer_json_and_memory(
    harness: Harness, word: str, ending: str, told: str
) -> None:
    answer = await harness.ask("Tell me.", AIMessage("Once upon a", response_metadata={"finish_reason": word}))
    assert answer.answer.startswith("Once upon a\n\n(")
    assert told in answer.answer
    assert answer.as_dict()["stop_reason"] == ending
    assert told in (await harness.memory().read_conversational_memory("t"))[-1].text


async def test_an_answer_of_which_the_filter_leaves_nothing_says_so(harness: Harness) -> None:
    answer = await harness.ask("Tell me.", AIMessage("", response_metadata={"finish_reason": "content_filter"}))
    assert answer.stop_reason == "content_filter"
    assert answer.answer.startswith("The answer ends here: the provider's content filter stopped it.")


async def test_a_model_without_tools_answers_without_them_and_it_is_said_once(
    harness: Harness, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bind_tools(*_: Any, **__: Any) -> Any:
        raise NotImplementedError

    monkeypatch.setattr(type(harness.model), "bind_tools", bind_tools)
    with caplog.at_level(logging.WARNING, "ricordo.nodes.llm"):
        first = await harness.ask("Hello?", says("Hello."))
        second = await harness.ask("Again?", says("Again."))
    assert (first.answer, second.answer) == ("Hello.", "Again.")
    assert second.tools_offered == [[]]
    assert caplog.text.count("takes no tools") == 1


async def talk(harness: Harness) -> None:
    for n in range(6):
        await harness.ask(f"Log {n}. " + "The tide was fair. " * 120, says(f"Noted {n}. " + "Calm sea. " * 120))


async def test_a_prompt_is_shortened_until_it_fits_and_the_next_turn_fits_at_once(harness: Harness) -> None:
    await talk(harness)
    carried: list[int] = []
    limit = 3_400  # tokens, which the server does not tell

    def answer(messages: list[Any]) -> AIMessage:
        carried.append(sum(len(str(m.text)) for m in messages) // 4)
        if carried[-1] > limit:
            raise ContextOverflowError("Please reduce the length of the messages.")
        return says("Fits.")

    harness.model.script[:] = [answer] * 9
    assert (await harness.agent.ask("What happened?", "t")).answer == "Fits."
    assert carried[0] > limit >= carried[-1]
    assert harness.resources.usage.window("scripted")
    asked = len(carried)
    assert (await harness.agent.ask("And then?", "t")).answer == "Fits."
    assert len(carried) == asked + 1


async def test_the_window_that_a_provider_names_holds_for_the_next_turn(harness: Harness) -> None:
    await talk(harness)
    words = "This model's maximum context length is 6000 tokens. Your messages resulted in 7100 tokens."
    answer = await harness.ask("What happened?", ContextOverflowError(words), says("Fits."))
    assert (answer.answer, answer.context["window"]) == ("Fits.", 6_000)
    assert (await harness.ask("And then?", says("Fits too."))).context["window"] == 6_000


async def test_one_odd_report_of_use_does_not_shrink_the_window(harness: Harness) -> None:
    odd: Any = {"input_tokens": 11_000, "output_tokens": 5, "total_tokens": 11_005}
    before = harness.resources.usage.ratio("scripted")
    await harness.ask("Hello?", AIMessage("Hello.", usage_metadata=odd))
    assert harness.resources.usage.ratio("scripted") == before


async def test_an_error_of_any_kind_ends_the_turn_in_words(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_PAUSE", 0)
    answer = await harness.ask("Hello?", *[KeyError("choices")] * 3)
    assert answer.stop_reason == "error"
    assert "The chat model scripted failed: 'choices'" in answer.answer


@pytest.mark.usefixtures("harness")
async def test_a_run_cannot_ask_ollama_for_more_than_its_server_was_told_to_hold() -> None:
    asked = Context(model="ollama:llama3", context_window=100_000)
    assert limits_of(SimpleNamespace(context=asked, server_info=None, execution_info=None)).window == 32_000
