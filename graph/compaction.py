"""Puts old turns of a thread under summaries; nothing is lost, each message is covered once."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from graph.limits import Limits
from graph.summarise import summarise
from stores.conversation import thread_key
from stores.manager import MemoryManager
from stores.passages import Passage
from stores.summary import NewSummary
from stores.text import make_id

_MOST_SUMMARIES = 12
"""Descriptions of a thread in the window; beyond that the older half goes under a summary of summaries."""


@dataclass(frozen=True)
class Compacted:
    """What one summary took in."""

    summary_id: UUID
    description: str
    covered: int
    """Messages (or summaries) now under it."""


def role_of(passage: Passage) -> str:
    """Return who spoke: the first word of a conversation passage's head."""
    return passage.head.split(" ", 1)[0]


def turns_of(passages: Sequence[Passage]) -> list[list[Passage]]:
    """Split a conversation into turns; a turn begins with the user's message."""
    turns: list[list[Passage]] = []
    for passage in passages:
        if role_of(passage) == "user" or not turns:
            turns.append([])
        turns[-1].append(passage)
    return turns


async def cover(
    manager: MemoryManager, thread_id: str, passages: Sequence[Passage], limits: Limits
) -> Compacted | None:
    """Summarise messages and put them under the summary, in one transaction.

    Returns:
        None if there is nothing to cover, or another compaction has covered some of it meanwhile.
    """
    if not passages:
        return None
    made = await summarise([(role_of(p), p.text) for p in passages], limits)
    key, covers = thread_key(manager.user_id, thread_id), [UUID(p.id) for p in passages]
    new = NewSummary(
        make_id("summary", key, *covers), key, made.description, made.render(), covers, structured=made.model_dump()
    )
    if not await manager.write_summary(new):
        return None
    return Compacted(new.id, new.description, len(covers))


async def fold(manager: MemoryManager, thread_id: str, limits: Limits) -> Compacted | None:
    """Put the older half of a thread's summaries under a summary of summaries, once there are many."""
    tops = await manager.summaries(thread_id)
    if len(tops) <= _MOST_SUMMARIES:
        return None
    old = tops[: len(tops) // 2]
    made = await summarise([("summary", f"{row['description']}\n{row['content']}") for row in old], limits)
    key, covers = thread_key(manager.user_id, thread_id), [row["id"] for row in old]
    level = 1 + max(row["level"] for row in old)
    new = NewSummary(
        make_id("summary", key, *covers),
        key,
        made.description,
        made.render(),
        covers,
        level=level,
        structured=made.model_dump(),
    )
    return Compacted(new.id, new.description, len(covers)) if await manager.write_summary(new) else None


async def compact_thread(
    manager: MemoryManager, thread_id: str, limits: Limits, *, but: UUID | None = None
) -> list[Compacted]:
    """Summarise all of a thread that no summary covers, but for the message that is being answered."""
    passages = await manager.read_conversational_memory(thread_id, but=but)
    made = [await cover(manager, thread_id, passages, limits), await fold(manager, thread_id, limits)]
    return [one for one in made if one]
