from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from ricordo.graph.thread.incoming import incoming, unseen
from ricordo.stores.passages import Passage

THREAD = uuid4()


def state(*messages: Any, **more: Any) -> Any:
    return {"messages": list(messages), **more}


def test_the_question_is_what_no_answer_follows() -> None:
    came = incoming(state(HumanMessage("One.", id="1"), AIMessage("Yes."), HumanMessage("Two.", id="2")), THREAD)
    assert [m.text for m in came.asked] == ["Two."]
    assert [m.text for m in came.before] == ["One.", "Yes."]


def test_a_routers_words_are_no_answer() -> None:
    came = incoming(state(HumanMessage("One.", id="1"), AIMessage("Over to Ricordo.")), THREAD)
    assert [m.text for m in came.asked] == ["One."]
    assert came.before == []


def test_a_question_that_a_turn_has_answered_is_not_asked_again() -> None:
    asked = HumanMessage("One.", id="1")
    first = incoming(state(asked), THREAD)
    again = incoming(state(asked, AIMessage("Yes."), question_id=str(first.ids[-1]), run_id="r"), THREAD)
    assert again.asked == []


def test_what_was_said_before_is_taken_on_a_fresh_state_alone() -> None:
    said = [HumanMessage("One.", id="1"), AIMessage("Yes."), HumanMessage("Two.", id="2")]
    assert incoming(state(*said, run_id="an earlier turn"), THREAD).before == []


def test_system_messages_are_instructions() -> None:
    came = incoming(state(SystemMessage("Be brief."), HumanMessage("One."), SystemMessage("In verse.")), THREAD)
    assert came.instructions == "Be brief.\n\nIn verse."


def test_only_what_memory_does_not_hold_is_stored() -> None:
    before: list[Any] = [HumanMessage("One.", id="1"), AIMessage("Yes.", id="2"), HumanMessage("Two.", id="3")]
    known = [Passage("a", "user · today", "One."), Passage("b", "assistant · today", "Yes.")]
    assert [(role, text) for _, role, text, _ in unseen(before, known, THREAD)] == [("user", "Two.")]
    assert len(unseen(before, [], THREAD)) == 3


def test_thinking_in_a_history_that_a_caller_brings_is_no_memory() -> None:
    before: list[Any] = [HumanMessage("What does <think> do?"), AIMessage("<think>Hm.</think>Yes.")]
    assert [text for _, _, text, _ in unseen(before, [], THREAD)] == ["What does <think> do?", "Yes."]
