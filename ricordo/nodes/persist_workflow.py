"""End the turn: write the answer, how it was reached, and what it speaks of."""

from uuid import UUID

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.runtime import Runtime

from ricordo.common.text import make_id
from ricordo.graph import prompt, prompts
from ricordo.graph.context import Context, thread_of, user_of
from ricordo.graph.entities import told_anew
from ricordo.graph.entity_model import find_entities
from ricordo.graph.exchange import exchange_of
from ricordo.graph.limits import Limits, limits_of
from ricordo.graph.resources import get_resources
from ricordo.graph.state import State, StateUpdate
from ricordo.graph.thread.branch import QUESTION
from ricordo.graph.timing import timed
from ricordo.models import tokens
from ricordo.models.chat import OFFLINE
from ricordo.stores.conversation import thread_key
from ricordo.stores.entity import Entity
from ricordo.stores.turn import Turn
from ricordo.stores.user_memory.heard import FROM_MEMORY, WRITERS

_FROM_MEMORY = {*FROM_MEMORY, "search_knowledge_base", "read_tool_log"}
"""Tools that give what is stored already."""

_NO_ANSWER = frozenset({"error", "deadline"})
"""How a turn stops without the model's last word."""


@timed
async def persist_workflow(state: State, runtime: Runtime[Context]) -> StateUpdate:
    """Write the turn's end in one transaction, and leave only question and answer in the state.

    Raises:
        DatabaseError: The database cannot be reached.
    """
    limits, thread_id = limits_of(runtime), thread_of(runtime)
    manager = get_resources().manager.for_user(user_of(runtime))
    exchange = exchange_of(state)
    answer = _answer(state, limits)
    if left_out := state.get("left_out"):
        answer = f"{answer}\n\n{prompts.LEFT_OUT.format(names='; '.join(left_out))}"
    final_id = _answer_id(state, exchange) or str(make_id("answer", thread_id, state["run_id"]))
    final = AIMessage(answer, id=final_id, usage_metadata=state.get("usage"))
    if question_id := state.get("question_id"):
        question, calls = await manager.read_turn(thread_id, state["run_id"], UUID(question_id))
        called = {call["tool"] for call in calls}
        turn = Turn(
            thread_id=thread_key(manager.user_id, thread_id),
            run_id=state["run_id"],
            question_id=UUID(question_id),
            request=question,
            answer=answer,
            stop_reason=state["stop_reason"] or "answer",
            steps=[{name: call[name] for name in ("tool", "args", "status", "error")} for call in calls],
            said_as=final.id,
            entities=await _entities(state, runtime, question, answer, called),
        )
        await manager.finish_turn(turn)
    gone = [RemoveMessage(id=m.id) for m in exchange if m.id and m.id != final.id]
    return {"messages": [*_shortened(state), *gone, final], "stop_reason": state["stop_reason"] or "answer"}


def _shortened(state: State) -> list[AnyMessage]:
    """Return a very long question's beginning, to stand in its place: memory has it, and checkpoints would carry it."""
    asked = next((m for m in reversed(state["messages"]) if isinstance(m, HumanMessage)), None)
    said = tokens.text_of(asked) if asked else ""
    if asked is None or len(said) <= QUESTION or not state.get("question_id"):
        return []
    return [HumanMessage(f"{said[:QUESTION]}\n{prompts.QUESTION_CUT.format(more=len(said) - QUESTION)}", id=asked.id)]


def _answer_id(state: State, exchange: list[AnyMessage]) -> str | None:
    """Return the id under which clients have been streamed the answer, so that they do not see it twice."""
    last = exchange[-1] if exchange else None
    said = isinstance(last, AIMessage) and (state["stop_reason"] or "answer") not in _NO_ANSWER
    return last.id if said and last else None


async def _entities(
    state: State, runtime: Runtime[Context], question: str, answer: str, called: set[str]
) -> list[Entity]:
    """Find what the turn speaks of for the first time, or says anew.

    Nothing in a turn that changed user memory, which alone keeps what it was told; and nothing in the answer to what
    was recalled.
    """
    if not called.isdisjoint(WRITERS):
        return []
    limits = limits_of(runtime)
    found = await find_entities(question, "" if "recall" in called else _said_anew(state, answer, limits), limits)
    window = await prompt.window_of(state, runtime) if found else None
    shown = [p.text for segment in window.segments.values() for p in segment.passages] if window else []
    given = [tokens.text_of(m) for m in exchange_of(state) if isinstance(m, ToolMessage) and m.name in _FROM_MEMORY]
    return told_anew(found, [*shown, *given])


def _said_anew(state: State, answer: str, limits: Limits) -> str:
    """Return what of the answer may name something new: the offline model only quotes what memory has already."""
    return answer if state["stop_reason"] == "answer" and limits.model != OFFLINE else ""


def _answer(state: State, limits: Limits) -> str:
    """Return what the model answered; where it did not, say what was done and what was not."""
    reason = state["stop_reason"] or "answer"
    last = next((m for m in reversed(exchange_of(state)) if isinstance(m, AIMessage) and not m.tool_calls), None)
    said = tokens.text_of(last) if last else ""
    if reason == "answer":
        return said
    stopped = prompts.STOPPED[reason].format(
        limit=limits.max_iterations if reason == "max_iterations" else limits.deadline_seconds, error=state.get("error")
    )
    stopped = stopped if stopped.endswith((".", "!", "?", "。")) else f"{stopped}."
    done = ", ".join(f"{call['name']} ({call['status']})" for call in state["tool_calls"])
    kept = prompts.QUESTION_KEPT if state.get("question_id") else ""
    account = prompts.DONE.format(done=done) if done else kept
    if reason in _NO_ANSWER or not said:
        return f"{stopped} {account}".strip()
    return f"{said}\n\n({stopped})"
