"""A run that is run again, since the server's own list was older than memory when it was killed: what it did stands.

With each replay the input's messages get new ids, and a model chooses other words and calls by other ids. So what the
run has left is looked for by the run and the place in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolCall

from ricordo.common.text import clean
from ricordo.graph.thread.incoming import Incoming
from ricordo.models.tokens import text_of
from ricordo.stores.conversation import Row
from ricordo.stores.turn import answer_id


@dataclass(frozen=True)
class Again:
    """A turn's input, as far as its run has stored it before."""

    came: Incoming
    """The input, its messages under the ids that they had the first time."""
    gone: Sequence[RemoveMessage]
    """Takes the messages that stand for the same under other ids out of the state."""
    stored: bool
    """Whether the run has stored anything."""
    answer: AIMessage | None
    """The run's answer, if it was given."""


def again(came: Incoming, rows: Sequence[Row], thread: UUID, run_id: str) -> Again:
    """Compare a turn's input with what its run has left in memory.

    Args:
        came: The input.
        rows: The messages that the run has stored, in their order; none if it is new.
        thread: The thread's id.
        run_id: The run's id.
    """
    there = [row for row in rows if row["id"] in came.ids]
    free = [row for row in rows if row["role"] == "user" and row not in there]
    kept: list[tuple[HumanMessage, UUID]] = []
    gone = []
    for message, message_id in zip(came.asked, came.ids, strict=True):
        same = None
        if not any(row["id"] == message_id for row in there):
            same = _taken(free, message) or _taken(there, message)
        if same is None:
            kept.append((message, message_id))
            continue
        gone.append(RemoveMessage(id=str(message.id)))
        if same["id"] not in came.ids:
            kept.append((message.model_copy(update={"id": same["said_as"]}), same["id"]))
    last = rows[-1] if rows else None
    answered = last is not None and last["id"] == answer_id(thread, run_id, last["content"])
    return Again(
        replace(came, asked=[message for message, _ in kept], ids=[message_id for _, message_id in kept]),
        gone,
        bool(rows),
        AIMessage(last["content"], id=last["said_as"]) if last and answered else None,
    )


def _taken(rows: list[Row], message: AnyMessage) -> Row | None:
    """Take the first row of the same words out of the list."""
    same = next((row for row in rows if row["content"] == clean(text_of(message))), None)
    if same:
        rows.remove(same)
    return same


def reply_of(calls: Sequence[Row], step: int) -> AIMessage | None:
    """Return the reply whose calls were begun in a step before; None if none was.

    Args:
        calls: The run's log entries.
        step: Which model call of the turn asked for them.
    """
    begun = [call for call in calls if call["step"] == step]
    if not begun:
        return None
    made = [ToolCall(name=call["tool"], args=call["args"], id=call["call_id"]) for call in begun]
    return AIMessage(begun[0]["said"], tool_calls=made, response_metadata={"finish_reason": "tool_calls"})
