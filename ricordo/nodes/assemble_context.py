"""Store the question, read every memory at once, build the window."""

import time
from uuid import UUID

from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage
from langgraph.runtime import Runtime

from ricordo.common.text import clean, make_id
from ricordo.common.together import together
from ricordo.graph.branch import answered, follow
from ricordo.graph.context import Context, thread_of, user_of
from ricordo.graph.exchange import is_exchange
from ricordo.graph.memories import read_window
from ricordo.graph.resources import get_resources
from ricordo.graph.state import State, StateUpdate
from ricordo.graph.timing import timed
from ricordo.graph.window import Window
from ricordo.models.tokens import text_of
from ricordo.stores.conversation import thread_key
from ricordo.stores.manager import MemoryManager

_KEPT_MESSAGES = 100  # of the visible dialogue; memory has all of it


@timed
async def assemble_context(state: State, runtime: Runtime[Context]) -> StateUpdate:
    """Begin a turn: all of it is deterministic, the model has no say.

    Raises:
        ThreadOwnerError: The thread belongs to another user.
        DatabaseError: The database cannot be reached.
    """
    asked = _asked(state["messages"])
    question = clean(text_of(asked[-1])) if asked else ""
    fresh: StateUpdate = {
        "messages": _leftovers(state["messages"]),
        "run_id": _run_id(runtime, asked),
        "question_id": None,
        "started_at": time.time(),
        "iterations": 0,
        "offered": [],
        "tools_offered": [],
        "tool_calls": [],
        "compactions": [],
        "usage": None,
        "exhausted": False,
        "overflows": 0,
        "stop_reason": None,
        "error": None,
    }
    if not question.strip():
        empty = "The question is empty: say what you want to know."
        return fresh | {"window": Window(""), "stop_reason": "error", "error": empty}
    manager = get_resources().manager.for_user(user_of(runtime))
    thread_id = thread_of(runtime)
    ids = [make_id("question", thread_key(manager.user_id, thread_id), m.id, text_of(m)) for m in asked]
    await follow(runtime, answered(state["messages"]), ids)
    *before, now = zip(ids, asked, strict=True)
    await _store(manager, thread_id, fresh["run_id"], before)  # they belong in this turn's window
    _, window = await together(
        _store(manager, thread_id, fresh["run_id"], [now]), read_window(runtime, question, ids[-1])
    )
    return fresh | {"question_id": str(ids[-1]), "window": window}


def _asked(messages: list[AnyMessage]) -> list[HumanMessage]:
    """Return the user messages since the last answer: the question, and before it what no turn has answered."""
    answered = max((i for i, m in enumerate(messages) if m.type == "ai" and not is_exchange(m)), default=-1)
    return [m for m in messages[answered + 1 :] if isinstance(m, HumanMessage)]


async def _store(manager: MemoryManager, thread_id: str, run_id: str, asked: list[tuple[UUID, HumanMessage]]) -> None:
    """Store the messages in their order; those of a turn that died are there already."""
    for message_id, message in asked:
        text = text_of(message)
        if text.strip():
            await manager.write_conversational_memory(
                thread_id, "user", text, run_id=run_id, message_id=message_id, said_as=message.id
            )


def _run_id(runtime: Runtime[Context], asked: list[HumanMessage]) -> str:
    """Return an id that a replay of this turn has too."""
    info = runtime.execution_info
    return (info and info.run_id) or str(make_id("run", asked[-1].id if asked else time.time()))


def _leftovers(messages: list[AnyMessage]) -> list[RemoveMessage]:
    """Remove what a turn that died left of its tool exchange, and the oldest messages beyond those that are kept."""
    dialogue = [m for m in messages if not is_exchange(m)]
    kept = {m.id for m in dialogue[-_KEPT_MESSAGES:]}
    return [RemoveMessage(id=m.id) for m in messages if m.id and m.id not in kept]
