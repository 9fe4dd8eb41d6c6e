"""Conversation memory follows the branch of the thread that the client is on."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.config import get_config

from ricordo.common.text import clean
from ricordo.graph.context import thread_of, user_of
from ricordo.graph.exchange import is_exchange
from ricordo.graph.resources import get_resources
from ricordo.models.tokens import text_of

QUESTION = 20_000
"""Characters of a question that stay in the state."""
MEMORY_LEADS = "__ricordo_memory_leads"
"""In a run's `configurable`: the run goes on from the thread's latest state, and memory knows more than that has. Of a
turn that died, the question is in memory alone."""

THREAD_HELD = "__ricordo_thread_held"
"""In a run's `configurable`: what is called before an effect, since the thread may have been lost (`ThreadLocks`)."""


async def follow(runtime: Any, messages: Sequence[AnyMessage], rows: Sequence[UUID]) -> None:
    """Make the messages that memory shows of this thread those of the state.

    Args:
        runtime: The node's runtime.
        messages: What user and assistant said, as the state has it.
        rows: Stored messages that belong to it too.

    Raises:
        DatabaseError: The database cannot be reached.
    """
    if get_config()["configurable"].get(MEMORY_LEADS):
        return
    manager = get_resources().manager.for_user(user_of(runtime))
    said = {m.id: clean(text_of(m)) for m in messages if m.id}
    # Of a longer one the state has the beginning alone.
    await manager.follow_branch(
        thread_of(runtime), {i: text if len(text) < QUESTION else None for i, text in said.items()}, rows
    )


def dialogue_of(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return what user and assistant said, without tool exchanges."""
    return [m for m in messages if isinstance(m, HumanMessage) or (m.type == "ai" and not is_exchange(m))]


def answered(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the dialogue up to the latest answer."""
    dialogue = dialogue_of(messages)
    last = max((i for i, m in enumerate(dialogue) if m.type == "ai"), default=-1)
    return dialogue[: last + 1]
