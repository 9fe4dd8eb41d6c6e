"""Counting: exact for OpenAI's encodings, careful for all others, and fast."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call

from ricordo.models import tokens
from ricordo.models.tokens import ProviderCounts
from tests.support.threads import said


@settings(max_examples=30)
@given(
    st.one_of(st.text(), said(10, 200, 3_000).map(lambda one: one.text)), st.sampled_from(["o200k_base", "cl100k_base"])
)
def test_the_count_is_the_encodings_own(text: str, encoding: str) -> None:
    import bpe_openai  # noqa: PLC0415 - its tables are slow to load

    assert tokens.count(text, encoding) == len(bpe_openai.get_encoding(encoding).encode_ordinary(text))


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("hello world", 2), ("<|endoftext|>", 7), ("a" * 3_000_000, None)]
)
def test_special_words_and_any_length_are_ordinary_text(text: str, count: int | None) -> None:
    assert tokens.count(text) > 0 if count is None else tokens.count(text) == count


def test_half_a_surrogate_pair_counts_as_what_is_sent_in_its_place() -> None:
    assert tokens.count("a\ud800b") == tokens.count("a\ufffdb")


def test_a_count_is_remembered_without_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "the tide is fair " * 60_000
    first = tokens.count(text)
    monkeypatch.setattr(tokens, "_count", lambda *_: pytest.fail("it was counted again"))
    assert tokens.count(text) == first
    assert not any(isinstance(part, str) and len(part) > 20 for key in tokens._known for part in key)


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("openai:gpt-5-mini", "o200k_base"),
        ("openai:gpt-4o", "o200k_base"),
        ("openai:gpt-4.1-mini", "o200k_base"),
        ("openai:gpt-4", "cl100k_base"),
        ("openai:gpt-4-turbo", "cl100k_base"),
        ("openai:gpt-3.5-turbo", "cl100k_base"),
        ("openai:ft:gpt-4o-mini:acme::1", "o200k_base"),
        ("openai:o3-mini", "o200k_base"),
    ],
)
def test_openais_models_are_counted_exactly(model: str, encoding: str) -> None:
    assert tokens.is_exact(model)
    assert tokens.encoding_of(model) == encoding


@pytest.mark.parametrize(
    "model", ["openai:qwen2.5:7b", "ollama:llama3.1:8b", "anthropic:claude-x", "offline", "openai-like:gpt-5"]
)
def test_other_models_are_not_even_on_a_server_that_speaks_openais_protocol(model: str) -> None:
    assert not tokens.is_exact(model)
    assert tokens.encoding_of(model) == "o200k_base"


def test_ids_and_broken_calls_count_too() -> None:
    call = {"name": "look", "args": {"at": "tide"}, "id": "call_1", "type": "tool_call"}
    plain = tokens.count_message(AIMessage("", tool_calls=[call]))
    long_id = "x1-" * 500
    assert tokens.count_message(AIMessage("", tool_calls=[{**call, "id": long_id}])) > plain + 400
    assert tokens.count_message(ToolMessage("high", tool_call_id=long_id)) > 400
    broken = invalid_tool_call(name="look", args='{"at": "tid' + "e" * 3000, id="call_1", error="no JSON")
    assert tokens.count_message(AIMessage("", invalid_tool_calls=[broken])) > 300


def test_text_in_blocks_counts_as_text() -> None:
    blocks = HumanMessage([{"type": "text", "text": "high "}, {"type": "text", "text": "at noon"}])
    assert tokens.count_message(blocks) == tokens.count_message(HumanMessage("high at noon"))


def test_other_models_are_counted_with_a_margin_that_reports_correct() -> None:
    counts = ProviderCounts()
    model = "ollama:llama3"
    assert counts.ratio(model) == pytest.approx(1.2)
    counts.learn(model, 1_000, 1_600)
    assert counts.ratio(model) == pytest.approx(1.6), "raised at once"
    counts.learn(model, 1_000, 1_100)
    assert counts.ratio(model) == pytest.approx(1.55), "lowered slowly"
    for _ in range(200):
        counts.learn(model, 1_000, 400)
    assert counts.ratio(model) == pytest.approx(1.0), "never below one"


@pytest.mark.parametrize(("counted", "reported"), [(0, 100), (1_000, 0), (150, 600), (1_000, -5)])
def test_reports_that_tell_nothing_are_passed_over(counted: int, reported: int) -> None:
    counts = ProviderCounts()
    counts.learn("ollama:llama3", counted, reported)
    assert counts.ratio("ollama:llama3") == pytest.approx(1.2)


def test_an_absurd_report_is_passed_over_and_openais_own_tables_are_not_corrected() -> None:
    counts = ProviderCounts()
    for _ in range(3):
        counts.learn("ollama:llama3", 1_000, 900_000)
    counts.learn("openai:gpt-5-mini", 1_000, 1_600)
    assert counts.ratio("ollama:llama3") == pytest.approx(1.2)
    assert counts.ratio("openai:gpt-5-mini") == pytest.approx(1.0)


def test_a_jump_of_the_ratio_is_believed_when_it_is_reported_twice_in_a_row() -> None:
    counts = ProviderCounts()
    model = "ollama:llama3"
    counts.learn(model, 1_000, 3_900)
    assert counts.ratio(model) == pytest.approx(1.2), "it may come of a picture"
    counts.learn(model, 1_000, 1_200)
    counts.learn(model, 1_000, 3_900)
    assert counts.ratio(model) == pytest.approx(1.2)
    counts.learn(model, 1_000, 3_900)
    assert counts.ratio(model) == pytest.approx(3.9)


def test_a_window_that_was_named_is_known_and_one_that_was_not_is_below_what_was_refused() -> None:
    counts = ProviderCounts()
    counts.learn_window("m", 8_192, 9_000)
    assert counts.window("m") == 8_192
    counts.learn_window("m", None, 7_000)
    counts.learn_window("m", None, 7_500)
    assert counts.window("m") == 7_000


def test_openais_models_are_known_without_their_provider_too() -> None:
    assert tokens.is_exact("gpt-5-mini")
    assert tokens.encoding_of("gpt-4-turbo") == "cl100k_base"
