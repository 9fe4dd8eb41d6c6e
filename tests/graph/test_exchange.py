import json

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.messages.tool import invalid_tool_call

from ricordo.graph.exchange import exchange_of, groups_of, repaired, sound_reply

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=20)


def asks(*ids: str) -> AIMessage:
    return AIMessage("", tool_calls=[ToolCall(name="t", args={}, id=i) for i in ids])


def result(call_id: str) -> ToolMessage:
    return ToolMessage("done", tool_call_id=call_id)


def test_the_exchange_is_what_follows_the_question() -> None:
    old, question, call = AIMessage("old"), HumanMessage("?"), asks("a")
    assert exchange_of({"messages": [HumanMessage("before"), old, question, call]}) == [call]
    assert exchange_of({"messages": []}) == []


def test_a_call_and_all_its_results_are_one_group() -> None:
    exchange: list[AnyMessage] = [asks("a", "b"), result("a"), result("b"), asks("c"), result("c")]
    assert groups_of(exchange) == [exchange[:3], exchange[3:]]


def test_a_call_without_a_result_gets_one() -> None:
    call = asks("a", "b")
    whole = repaired([call, result("b")])
    assert [m.tool_call_id for m in whole if isinstance(m, ToolMessage)] == ["a", "b"]
    assert whole[1].text == "Not run: the run was interrupted."


def test_a_result_without_a_call_leaves() -> None:
    assert repaired([result("x"), asks("a"), result("a"), result("y")]) == [asks("a"), result("a")]


@given(
    st.lists(st.one_of(st.lists(st.sampled_from("abc"), max_size=3, unique=True), st.sampled_from("abc")), max_size=12)
)
def test_what_is_repaired_is_what_providers_take(steps: list[list[str] | str]) -> None:
    exchange: list[AnyMessage] = [asks(*step) if isinstance(step, list) else result(step) for step in steps]
    pending: list[str] = []
    for message in repaired(exchange):
        if isinstance(message, ToolMessage):
            pending.remove(message.tool_call_id)
        else:
            assert not pending
            pending = [str(c["id"]) for c in message.tool_calls] if isinstance(message, AIMessage) else []
    assert not pending


@given(name=ANY_TEXT, call_id=ANY_TEXT, text=ANY_TEXT, value=ANY_TEXT)
def test_whatever_a_model_says_can_be_stored_and_sent_back(name: str, call_id: str, text: str, value: str) -> None:
    said = AIMessage(
        text,
        tool_calls=[ToolCall(name=name, args={value: [value, {"deep": value}]}, id=call_id)],
        invalid_tool_calls=[invalid_tool_call(name=name, args=value, id=call_id)],
    )
    sound = sound_reply(said)
    ids = [c["id"] for c in [*sound.tool_calls, *sound.invalid_tool_calls]]
    assert all(ids), "every call has an id"
    assert len(set(ids)) == len(ids), "of its own"
    sent = json.dumps([sound.text, sound.tool_calls, sound.invalid_tool_calls], ensure_ascii=False)
    assert "\\u0000" not in sent
    assert sent.encode()


def test_good_replies_stay_as_they_are() -> None:
    said = AIMessage("Fine.", tool_calls=[ToolCall(name="get_time", args={"a": [1, None, "x"]}, id="c" * 1500)])
    sound = sound_reply(said)
    assert (sound.text, sound.tool_calls) == (said.text, said.tool_calls)


def test_a_refusal_is_the_answer() -> None:
    assert sound_reply(AIMessage("", additional_kwargs={"refusal": "I can't help with that."})).text.startswith(
        "I can't"
    )
