"""Reads every memory at once into the window, each segment within its share of it."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any
from uuid import UUID

from ricordo.common.together import together
from ricordo.graph.context import context_of, thread_of, user_of
from ricordo.graph.limits import SUMMARY_SHARE, Limits, limits_of
from ricordo.graph.resources import get_resources
from ricordo.graph.tracing import as_retriever
from ricordo.graph.window import Segment, Window
from ricordo.stores.pages import fenced_count, head_and_tail
from ricordo.stores.passages import Passage
from ricordo.stores.search.vectors import Query

SHARES = {"Knowledge Base": 0.25, "Workflow": 0.05, "Entity": 0.05, "Summary": SUMMARY_SHARE, "User": 0.05}
"""Most of the window that each segment may take; the conversation has the rest, and compaction keeps it in bounds."""
_FEW_WORDS = 16  # tokens
_SEARCHED = 3_000, 1_000  # characters
_NONE = {
    **dict.fromkeys(("Knowledge Base", "Workflow", "Entity"), "nothing relevant is stored"),
    "User": "nothing relevant, and no standing preference or fact of high importance; recall finds all others",
}
"""Why a segment has nothing to show, where there may be something stored."""


async def read_window(runtime: Any, question: str, question_id: UUID | None) -> Window:
    """Read all memories for a question and lay out the window.

    Args:
        runtime: The node's runtime.
        question: The question's text.
        question_id: Its row in conversation memory, which is left out of the conversation segment.
    """
    context, limits, thread_id = context_of(runtime), limits_of(runtime), thread_of(runtime)
    manager = get_resources().manager.for_user(user_of(runtime))
    ready = asyncio.ensure_future(manager.query(_searched(question)))  # embedded once, awaited by all that need it

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
        "User": found(manager.read_user_memory, context.user_memory_k),
    }
    traced = [as_retriever(f"{name} Memory", question, manager.user_id, read) for name, read in reads.items()]
    results = dict(zip(reads, await together(*traced), strict=True))
    return Window(question, {name: segment(name, passages, limits) for name, passages in results.items()})


def _searched(question: str) -> str:
    """Return what is searched for: of a very long question its beginning and end, where people say what they want."""
    head, tail = _SEARCHED
    return question if len(question) <= head + tail else f"{question[:head]}\n{question[-tail:]}"


def segment(name: str, passages: list[Passage], limits: Limits) -> Segment:
    """Fill a segment by rank as far as its share goes; the first passage always has a place, cut if it must be.

    Of summaries every id has a place, since what they cover is nowhere else: their descriptions are cut.
    """
    if name not in SHARES:
        return Segment(name, tuple(passages))
    room = int(SHARES[name] * limits.window)
    if name == "Summary":
        each = room // max(1, len(passages))
        return Segment(name, tuple(_within(passage, each, limits) for passage in passages))
    kept: list[Passage] = []
    for passage in passages:
        cost = limits.count(passage.render(1))
        if cost <= room or not kept:
            kept.append(_within(passage, room, limits))
        if cost > room:
            break
        room -= cost
    return Segment(name, tuple(kept), _NONE.get(name, Segment.empty))


def _within(passage: Passage, room: int, limits: Limits) -> Passage:
    """Cut a passage to the room for it; of its text a few words stay in any case."""
    if limits.count(passage.render(1)) <= room:
        return passage
    left = max(_FEW_WORDS, room - limits.count(replace(passage, text="").render(1)))
    return replace(passage, text=head_and_tail(passage.text, left, fenced_count(limits.count), "cut"))
