from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from ricordo.models.thinking import RAW, Speech, as_said, spoken, thinking_of, with_thinking

WITH_THINKING = [
    ("<think>It is late.</think>Good night.", "Good night."),
    ("<think>\nIt is\n\nlate.\n</think>\n\nGood night.", "Good night."),
    ("<thinking>It is late.</thinking> Good night.", "Good night."),
    ("<seed:think>It is late.</seed:think>Good night.", "Good night."),
    ("[THINK]It is late.[/THINK]Good night.", "Good night."),
    ("Let me see.\n<think>Hm.</think>\nGood night.", "Let me see.\nGood night."),
    ("It is late.\n</think>\n\nGood night.", "Good night."),
    ("Let me see. <think>Hm.</think> Good night.", "Let me see. Good night."),
    ("<think>It is late, and cut off", ""),
    ("<think></think>Good night.", "Good night."),
]
WITHOUT = [
    "Good night.",
    "",
    "Write `<think>` and `</think>` around it.",
    "```\n<think>\nx\n</think>\n```\nThat is the form.",
    "1 < 2 and [THINK about it",
    "Between a line and\n<think> there is no end",
    "a <b>bold</b> word and <thought",
]


@pytest.mark.parametrize(("said", "words"), WITH_THINKING)
def test_thinking_is_no_part_of_what_is_said(said: str, words: str) -> None:
    assert spoken(said) == words


@pytest.mark.parametrize("said", WITHOUT)
def test_words_about_the_tags_stay(said: str) -> None:
    assert spoken(said) == said


@given(st.sampled_from([said for said, _ in WITH_THINKING if "<think" in said or "[THINK" in said]), st.data())
def test_a_stream_says_the_same_in_any_pieces(said: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(said)), max_size=len(said))))
    speech = Speech(hold=False)
    pieces = [speech.take(said[a:b]) for a, b in zip([0, *cuts], [*cuts, len(said)], strict=True)]
    assert "".join([*pieces, speech.take("", last=True)]) == spoken(said)


@given(st.text(alphabet="a <>[]/`\nthinkTHINK", max_size=60), st.data())
def test_any_text_in_pieces_is_said_as_in_one(said: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(said)), max_size=8)))
    speech = Speech(hold=True)
    pieces = [speech.take(said[a:b]) for a, b in zip([0, *cuts], [*cuts, len(said)], strict=True)]
    assert "".join([*pieces, speech.take("", last=True)]) == spoken(said)


def test_thinking_without_its_opening_is_not_streamed_by_a_model_that_is_known_for_it() -> None:
    speech = Speech(hold=True)
    assert [speech.take(piece) for piece in ("It is ", "late.</th", "ink>\n\nGood", " night.")] == [
        "",
        "",
        "Good",
        " night.",
    ]
    assert speech.unopened


def test_halves_of_a_character_in_two_pieces_are_said_as_one_and_nothing_is_said_that_cannot_be_sent() -> None:
    speech = Speech(hold=False)
    assert [
        speech.take("a\ud83d"),
        speech.take("\ude00\x00b\ude00"),
        speech.take("\ud83d"),
        speech.take("", last=True),
    ] == [
        "a",
        "\U0001f600b\ufffd",
        "",
        "\ufffd",
    ]


def test_words_come_at_once_where_nothing_is_held() -> None:
    speech = Speech(hold=False)
    assert [speech.take(piece) for piece in ("Good ", "night.")] == ["Good ", "night."]


def test_signed_blocks_go_back_as_they_came() -> None:
    blocks: list[Any] = [
        {"type": "thinking", "thinking": "It is late.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "eA=="},
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "t1", "name": "find", "input": {}},
    ]
    kept = with_thinking(AIMessage(blocks), "Let me see.")
    assert kept["content"] == blocks[:3], "the calls stand in tool_calls, mended"


def test_fields_beside_the_content_go_back() -> None:
    reply = AIMessage("", additional_kwargs={"reasoning_content": "Hm.", "tool_calls": [{}], "refusal": None})
    assert with_thinking(reply, "")["additional_kwargs"] == {"reasoning_content": "Hm."}


def test_thinking_in_the_text_goes_back_in_the_text() -> None:
    raw = "<think>Hm.</think>Let me see."
    kept = AIMessage(**with_thinking(AIMessage(raw), spoken(raw)))
    assert kept.text == "Let me see."
    sent = as_said(kept)
    assert (sent.text, RAW in sent.additional_kwargs) == (raw, False)


def test_what_goes_back_is_counted() -> None:
    blocks: list[Any] = [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I weigh it."}]}
    ]
    assert thinking_of(AIMessage(blocks)) == "I weigh it."
    assert thinking_of(AIMessage("", additional_kwargs={"reasoning_content": "Hm."})) == "Hm."
    assert thinking_of(AIMessage("Plain.")) == ""
