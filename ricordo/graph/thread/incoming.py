"""What a caller sends: the question, what was said before it, instructions of the run, pictures and files."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from ricordo.common.text import clean, make_id
from ricordo.graph.compaction.history import role_of
from ricordo.graph.exchange import is_exchange
from ricordo.graph.state import State
from ricordo.graph.thread.attachments import Block, media_in, named
from ricordo.models.thinking import spoken
from ricordo.models.tokens import text_of
from ricordo.stores.passages import Passage

Said = tuple[UUID, str, str, str | None]
"""A message for memory: id of its row, role, text, and its id in the state."""


@dataclass(frozen=True)
class Incoming:
    """One turn's input."""

    asked: Sequence[HumanMessage]
    """The question, last, and before it what no turn has answered; attachments are named in the text."""
    ids: Sequence[UUID]
    """Of their rows in conversation memory."""
    media: Sequence[Block]
    """Pictures and files of the question and of what was asked before it."""
    before: Sequence[AnyMessage]
    """What was said before, where the caller brought it and no turn of this thread has seen it."""
    instructions: str
    """System messages of the caller."""


def incoming(state: State, thread: UUID) -> Incoming:
    """Read a turn's input from the messages.

    Args:
        state: With the caller's messages merged into those of the thread.
        thread: The thread's id.
    """
    messages = state["messages"]
    asked = _asked(state, thread)
    first = next((i for i, m in enumerate(messages) if asked and m is asked[0]), 0)
    fresh = state.get("run_id") is None  # no turn has left anything in this state
    system = [text_of(m) for m in messages if isinstance(m, SystemMessage)]
    return Incoming(
        asked=[m if isinstance(m.content, str) else m.model_copy(update={"content": named(m)}) for m in asked],
        ids=[_id(thread, m) for m in asked],
        media=[block for m in asked for block in media_in(m)],
        before=[m for m in messages[:first] if is_dialogue(m) and text_of(m).strip()] if fresh else [],
        instructions=clean("\n\n".join(text for text in system if text.strip())),
    )


def is_dialogue(message: AnyMessage) -> bool:
    """Tell whether a message is of user or assistant, and of no tool exchange."""
    return message.type in {"human", "ai"} and not is_exchange(message)


def _id(thread: UUID, message: AnyMessage) -> UUID:
    return make_id("question", thread, message.id, named(message))


def _asked(state: State, thread: UUID) -> list[HumanMessage]:
    """Return the user messages since the last answer.

    Where a router's words follow the user's, they are no answer: the last question is taken unless a turn had it.
    """
    messages = state["messages"]
    answered = max((i for i, m in enumerate(messages) if m.type == "ai" and not is_exchange(m)), default=-1)
    asked = [m for m in messages[answered + 1 :] if isinstance(m, HumanMessage)]
    if asked:
        return asked
    last = [m for m in messages if isinstance(m, HumanMessage)][-1:]
    return [m for m in last if str(_id(thread, m)) != state.get("question_id")]


def unseen(before: Sequence[AnyMessage], known: Sequence[Passage], thread: UUID) -> list[Said]:
    """Return what was said before that memory does not hold yet.

    Args:
        before: Messages, oldest first.
        known: The thread's conversation as memory has it.
        thread: The thread's id.
    """
    told = {(role_of(passage), passage.text) for passage in known}
    said = [
        (m, "user", named(m)) if isinstance(m, HumanMessage) else (m, "assistant", spoken(named(m))) for m in before
    ]
    start = max((i + 1 for i, (_, role, text) in enumerate(said) if (role, text) in told), default=0)
    return [(_id(thread, m), role, text, m.id) for m, role, text in said[start:]]
