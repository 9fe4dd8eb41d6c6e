"""Reads every memory at once into the window, each segment within its share of it."""

import asyncio
from collections.abc import Coroutine
from typing import Any
from uuid import UUID

from graph.context import context_of, thread_of, user_of
from graph.limits import Limits, limits_of
from graph.resources import get_resources
from graph.together import together
from graph.window import Segment, Window
from stores.pages import head_and_tail
from stores.passages import Passage
from stores.vectors import Query

SHARES = {"Knowledge Base": 0.25, "Workflow": 0.05, "Entity": 0.05, "Summary": 0.1, "User": 0.05}
"""Most of the window that each segment may take; the conversation has the rest, and compaction keeps it in bounds."""


async def read_window(runtime: Any, question: str, question_id: UUID | None) -> Window:
    """Read all memories for a question and lay out the window.

    Args:
        runtime: The node's runtime.
        question: The question's text.
        question_id: Its row in conversation memory, which is left out of the conversation segment.
    """
    context, limits, thread_id = context_of(runtime), limits_of(runtime), thread_of(runtime)
    manager = get_resources().manager.for_user(user_of(runtime))
    ready = asyncio.ensure_future(manager.query(question))  # embedded once, awaited by all that need it

    async def found(read: Any, k: int) -> list[Passage]:
        query: Query = await ready
        result: list[Passage] = await read(query, k)
        return result

    reads: dict[str, Coroutine[Any, Any, list[Passage]]] = {
        "Conversation": manager.read_conversational_memory(thread_id, but=question_id),
        "Knowledge Base": found(manager.read_knowledge_base, context.knowledge_base_k),
        "Workflow": found(manager.read_workflow, context.workflow_k),
        "Entity": found(manager.read_entity, context.entity_k),
        "Summary": manager.read_summary_context(thread_id),
    }
    results = dict(zip(reads, await together(*reads.values()), strict=True))
    segments = {name: _segment(name, passages, limits) for name, passages in results.items()}
    return Window(question, segments)


def _segment(name: str, passages: list[Passage], limits: Limits) -> Segment:
    """Fill a segment by rank as far as its share goes; the first passage always has a place, cut if it must be."""
    if name not in SHARES:
        return Segment(name, tuple(passages))
    room = int(SHARES[name] * limits.window)
    kept: list[Passage] = []
    for passage in reversed(passages) if name == "Summary" else passages:
        cost = limits.count(passage.render(1))
        if cost > room and kept:
            break
        if cost > room:
            cut = head_and_tail(passage.text, room, limits.count, "passage cut")
            kept.append(Passage(passage.id, passage.head, cut))
            break
        room -= cost
        kept.append(passage)
    return Segment(name, tuple(reversed(kept) if name == "Summary" else kept))
