import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.models.written_calls import WrittenCalls, arguments_of, id_meant, name_meant

NAMES = ["find", "get_current_time"]
WRITTEN = [
    '<tool_call>\n{"name": "find", "arguments": {"query": "tides"}}\n</tool_call>',
    '<tool_call>{"name": "find", "arguments": "{\\"query\\": \\"tides\\"}"}',
    '{"name": "find", "parameters": {"query": "tides"}}',
    '```json\n{"tool": "find", "args": {"query": "tides"}}\n```',
    '{"type": "function", "function": {"name": "find", "arguments": {"query": "tides"}}}',
    '[TOOL_CALLS][{"name": "find", "arguments": {"query": "tides"}}]',
    '[TOOL_CALLS]find[ARGS]{"query": "tides"}',
    '<|python_tag|>{"name": "functions.find", "parameters": {"query": "tides"}}',
    '<function=find>{"query": "tides"}</function>',
    "<tool_call>\n<function=find>\n<parameter=query>\ntides\n</parameter>\n</function>\n</tool_call>",
]
NO_CALLS = [
    '{"name": "Ada", "age": 36}',
    '{"name": "find"} is what you would send.',
    '{"name": "other_tool", "arguments": {}}',
    '```json\n{"find": 1}\n```',
    "find(query='tides')",
    "[1] says so.",
    "",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_a_call_that_is_written_as_text_is_found(text: str) -> None:
    rest, calls = WrittenCalls(NAMES).split(text)
    assert [(c["name"], c["args"]) for c in calls] == [("find", {"query": "tides"})]
    assert rest == ""


@pytest.mark.parametrize("text", WRITTEN)
def test_no_beginning_of_it_would_be_said(text: str) -> None:
    assert all(WrittenCalls(NAMES).may_begin(text[:end], begins=True) for end in range(1, len(text)))


@pytest.mark.parametrize("text", NO_CALLS)
def test_an_answer_is_no_call(text: str) -> None:
    assert WrittenCalls(NAMES).split(text) == (text, [])


def test_words_beside_a_call_stay() -> None:
    rest, calls = WrittenCalls(NAMES).split(f"I look it up.\n{WRITTEN[0]}")
    assert (rest, len(calls)) == ("I look it up.", 1)


@pytest.mark.parametrize("text", ['{"city": "Rome"', "[1] says", "Plain", "1. <b>one</b>"])
def test_other_answers_are_not_held_back(text: str) -> None:
    assert not WrittenCalls(NAMES).may_begin(text, begins=True)


@given(st.dictionaries(st.text(), st.none() | st.integers() | st.text(), min_size=1), st.integers(0, 2))
def test_arguments_are_read_however_often_they_were_encoded(args: dict[str, Any], times: int) -> None:
    raw: Any = args
    for _ in range(times):
        raw = json.dumps(raw)
    assert arguments_of(raw) == args


@pytest.mark.parametrize("raw", [None, "", "null", " ", "{}", {}])
def test_no_arguments_are_an_empty_object(raw: Any) -> None:
    assert arguments_of(raw) == {}


@pytest.mark.parametrize("raw", ['["tides"]', '"tides"', "{} {}", '{"a": tr', "7"])
def test_what_is_no_object_is_refused(raw: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        arguments_of(raw)


@pytest.mark.parametrize(
    "said",
    ["find", "findfind", "findfindfind", "functions.find", "default_api:find", "find<|channel|>commentary", " Find "],
)
def test_the_tool_that_was_meant_is_called(said: str) -> None:
    assert name_meant(said, NAMES) == "find"


def test_a_name_that_is_not_offered_stays() -> None:
    assert name_meant("bonbon", ["other"]) == "bonbon"
    assert name_meant("bonbon", ["bon", "bonbon"]) == "bonbon"


def test_an_id_is_meant_once() -> None:
    assert id_meant("call_1call_1") == "call_1"
    assert id_meant("1111") == "1111"
    assert id_meant(None) == ""
