"""Store the question, read every memory at once, build the window."""

import time
from collections.abc import Iterable, Sequence

from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime

from ricordo.common.text import clean, make_id
from ricordo.common.together import together
from ricordo.graph.context import Context, thread_of, user_of
from ricordo.graph.memories import read_window
from ricordo.graph.resources import get_resources
from ricordo.graph.state import State, StateUpdate
from ricordo.graph.thread.again import again
from ricordo.graph.thread.branch import MEMORY_LEADS, answered, follow
from ricordo.graph.thread.incoming import Said, incoming, is_dialogue, unseen
from ricordo.graph.timing import timed
from ricordo.graph.window import Window
from ricordo.models.tokens import text_of
from ricordo.stores.conversation import Row, thread_key
from ricordo.stores.manager import MemoryManager

_KEPT_MESSAGES = 100  # of the visible dialogue; memory has all of it


@timed
async def assemble_context(state: State, runtime: Runtime[Context]) -> StateUpdate:
    """Begin a turn: all of it is deterministic, the model has no say.

    Raises:
        ThreadOwnerError: The thread belongs to another user.
        DatabaseError: The database cannot be reached.
    """
    manager, thread_id = get_resources().manager.for_user(user_of(runtime)), thread_of(runtime)
    thread = thread_key(manager.user_id, thread_id)
    came = incoming(state, thread)
    run_id = _run_id(runtime, came.asked)
    before_us = again(came, await _rows(manager, thread_id, run_id), thread, run_id)
    came, asked = before_us.came, before_us.came.asked
    question = clean(text_of(asked[-1])) if asked else ""
    fresh: StateUpdate = {
        "messages": [*_leftovers(state["messages"]), *before_us.gone, *asked],
        "run_id": run_id,
        "question_id": None,
        "attachments": [dict(block) for block in came.media],
        "left_out": [],
        "instructions": came.instructions,
        "started_at": time.monotonic(),
        "again": before_us.stored,
        "iterations": 0,
        "offered": [],
        "tools_offered": [],
        "tool_calls": [],
        "compactions": [],
        "usage": None,
        "exhausted": False,
        "overflows": 0,
        "refused": 0,
        "stop_reason": None,
        "error": None,
    }
    if before_us.answer:
        # Its answer is stored, with all that the turn's end writes.
        return fresh | {
            "messages": [*fresh["messages"], before_us.answer],
            "window": Window(""),
            "stop_reason": "answer",
        }
    if not question.strip():
        empty = "The question is empty: say what you want to know."
        return fresh | {"window": Window(""), "stop_reason": "error", "error": empty}
    before: list[Said] = [(i, "user", text_of(m), m.id) for i, m in zip(came.ids, asked, strict=True)]
    now = before.pop()
    await follow(runtime, answered(state["messages"]), came.ids)
    if came.before:
        known = await manager.read_conversational_memory(thread_id)
        before = [*unseen(came.before, known, thread), *before]
    await _store(manager, thread_id, run_id, before)  # they belong in this turn's window
    _, window = await together(_store(manager, thread_id, run_id, [now]), read_window(runtime, question, came.ids[-1]))
    return fresh | {"question_id": str(came.ids[-1]), "window": window}


async def _store(manager: MemoryManager, thread_id: str, run_id: str, said: Iterable[Said]) -> None:
    """Store messages in their order; those of a turn that died are there already."""
    for message_id, role, text, said_as in said:
        if text.strip():
            await manager.write_conversational_memory(
                thread_id, role, text, run_id=run_id, message_id=message_id, said_as=said_as
            )


async def _rows(manager: MemoryManager, thread_id: str, run_id: str) -> list[Row]:
    """Read what the run has stored; nothing where no run is ever taken up again."""
    return [] if get_config()["configurable"].get(MEMORY_LEADS) else await manager.messages_of_run(thread_id, run_id)


def _run_id(runtime: Runtime[Context], asked: Sequence[HumanMessage]) -> str:
    """Return an id that a replay of this turn has too: the server's; LangGraph's is of a run's first attempt alone."""
    info = runtime.execution_info
    given = get_config()["configurable"].get("run_id")
    return str(given or "") or (info and info.run_id) or str(make_id("run", asked[-1].id if asked else time.time()))


def _leftovers(messages: list[AnyMessage]) -> list[RemoveMessage]:
    """Remove what a turn that died left of its tool exchange, what is no dialogue, and the oldest messages."""
    dialogue = [m for m in messages if is_dialogue(m)]
    kept = {m.id for m in dialogue[-_KEPT_MESSAGES:]}
    return [RemoveMessage(id=m.id) for m in messages if m.id and m.id not in kept]
