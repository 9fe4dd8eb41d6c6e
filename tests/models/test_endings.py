"""How a reply ended and what it used, put together from what several providers send."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk

from ricordo.models.endings import ending_of, usage_of


def piece(**about: Any) -> AIMessageChunk:
    return AIMessageChunk(content="", response_metadata=about)


@pytest.mark.parametrize(
    ("about", "ending"),
    [
        ({"finish_reason": "stop"}, "stop"),
        ({"finish_reason": "tool_calls"}, "stop"),
        ({"finish_reason": "length"}, "length"),
        ({"finish_reason": "content_filter"}, "content_filter"),
        ({"finish_reason": "error"}, "error"),
        ({"stop_reason": "end_turn"}, "stop"),
        ({"stop_reason": "max_tokens", "stop_sequence": None}, "length"),
        ({"stop_reason": "refusal"}, "refusal"),
        ({"done_reason": "length", "done": True}, "length"),
        ({"finish_reason": "MAX_TOKENS"}, "length"),
        ({"finish_reason": "SAFETY"}, "content_filter"),
        ({"status": "completed"}, "stop"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ({"model_provider": "openai"}, None),
    ],
)
def test_the_word_of_each_provider_is_understood(about: dict[str, Any], ending: str | None) -> None:
    assert ending_of([piece(model_provider="x"), piece(**about)]) == ending


def test_a_word_that_comes_with_every_piece_is_not_glued_together() -> None:
    assert ending_of([piece(finish_reason="length")] * 3) == "length"


def test_a_refusal_is_one_wherever_it_stands() -> None:
    assert ending_of([AIMessage("", additional_kwargs={"refusal": "No."})]) == "refusal"
    assert ending_of([AIMessage([{"type": "refusal", "refusal": "No."}])]) == "refusal"


def used(prompt: int, said: int) -> AIMessageChunk:
    use: Any = {"input_tokens": prompt, "output_tokens": said, "total_tokens": prompt + said}
    return AIMessageChunk(content="", usage_metadata=use)


@pytest.mark.parametrize(
    ("pieces", "use"),
    [
        ([used(2000, n) for n in range(1, 6)], (2000, 5)),
        ([used(2000, 0), piece(), used(0, 3), used(0, 4)], (2000, 7)),
        ([piece(), used(2000, 9)], (2000, 9)),
        ([used(2000, 1), used(2000, 9)], (2000, 9)),
    ],
    ids=["whole in each", "a part in each", "once", "at both ends"],
)
def test_use_is_added_up_only_where_the_pieces_tell_parts_of_it(
    pieces: list[AIMessageChunk], use: tuple[int, int]
) -> None:
    found = usage_of(pieces)
    assert found
    assert (found["input_tokens"], found["output_tokens"], found["total_tokens"]) == (*use, sum(use))


def test_no_use_is_made_up() -> None:
    assert usage_of([piece(), piece()]) is None
