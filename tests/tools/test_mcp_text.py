"""What MCP servers return, as text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.tools.mcp_text import failed, text_of
from ricordo.tools.mcp_wire import Answer

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


@given(content=JSON, structured=JSON, error=JSON, schema=JSON)
def test_an_answer_of_any_form_is_text(content: Any, structured: Any, error: Any, schema: Any) -> None:
    answer = Answer(content=content, structuredContent=structured, isError=error)
    assert text_of(answer, schema)


@pytest.mark.parametrize(
    ("said", "structured"),
    [
        (['{"a": 1}'], {"a": 1}),
        (["Oslo: rain"], {"result": "Oslo: rain"}),
        (["1", "2"], {"result": [1, 2]}),
        (['{"a": 1}', '{"a": 2}'], {"result": [{"a": 1}, {"a": 2}]}),
        (["7"], {"result": 7}),
        (["7"], {"result": "7"}),
    ],
)
def test_structured_content_that_the_text_says_already_is_not_said_twice(said: list[str], structured: Any) -> None:
    assert text_of(Answer(content=[text(one) for one in said], structuredContent=structured)) == "\n".join(said)


@pytest.mark.parametrize("structured", [{"count": 3}, {"result": [1]}, {"result": None, "next": 2}])
def test_structured_content_that_says_more_follows_the_text(structured: Any) -> None:
    answer = Answer(content=[text("3 items")], structuredContent=structured)
    assert text_of(answer) == f"3 items\n{json.dumps(structured)}"


def test_a_schema_of_answers_that_cannot_be_used_says_nothing_of_the_answer() -> None:
    answer = Answer(content=[], structuredContent={"a": 1})
    for schema in ({"type": 7}, {"$ref": "https://elsewhere.example/s.json"}, {"pattern": "("}, "none"):
        assert text_of(answer, schema) == '{"a": 1}'


def test_only_what_says_so_is_a_failure() -> None:
    assert [failed(Answer(isError=said)) for said in (True, "true", False, None, 0, "no")] == [True, True] + [False] * 4
    assert text_of(Answer(content=[text("no room")], isError=True), {"type": "object"}) == "no room"
    assert text_of(Answer(isError=True)) == "The tool failed and gave no reason."
    assert text_of(Answer(content=[])) == "Done; the tool returned nothing."
