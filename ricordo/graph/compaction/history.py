"""Puts old turns of a thread under summaries; nothing is lost, each message is covered once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from ricordo.common.text import make_id
from ricordo.graph.compaction.summarise import Spoken, summarise
from ricordo.graph.limits import Limits
from ricordo.stores.conversation import Row, thread_key
from ricordo.stores.manager import MemoryManager
from ricordo.stores.passages import Passage
from ricordo.stores.summary import NewSummary

_FEWEST = 2  # summaries worth one above them


@dataclass(frozen=True)
class Compacted:
    """What one summary took in."""

    summary_id: UUID
    description: str
    covered: int
    """Messages (or summaries) now under it."""
    level: int = 0

    def __str__(self) -> str:
        what = "summaries" if self.level else "messages"
        return f"{self.covered} {what} under summary {self.summary_id}"


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
    manager: MemoryManager,
    thread_id: str,
    passages: Sequence[Passage],
    limits: Limits,
    *,
    seconds: float | None = None,
) -> Compacted | None:
    """Summarise messages and put them under the summary, in one transaction.

    Args:
        manager: The memories of the thread's user.
        thread_id: The thread.
        passages: Messages of it that no summary covers, whole.
        limits: The turn's limits; they name the model.
        seconds: Time for the model.

    Returns:
        None if there is nothing to cover, or another compaction has covered some of it meanwhile.
    """
    if not passages:
        return None
    covers = [UUID(p.id) for p in passages]
    source = [(role_of(p), p.text) for p in passages]
    return await _put_under(manager, thread_id, source, covers, limits, seconds=seconds)


async def fold(
    manager: MemoryManager, thread_id: str, limits: Limits, *, seconds: float | None = None
) -> list[Compacted]:
    """Put summaries under summaries of summaries until the window can show all that are left."""
    made: list[Compacted] = []
    while len(tops := await manager.summaries(thread_id)) > limits.most_summaries:
        old = _oldest_of_a_level(tops)
        source = [("summary", f"{row['description']}\n{row['content']}") for row in old]
        level = 1 + max(row["level"] for row in old)
        ids = [row["id"] for row in old]
        one = await _put_under(manager, thread_id, source, ids, limits, level=level, seconds=seconds)
        if one is None:  # another process is at it
            break
        made.append(one)
    return made


def _oldest_of_a_level(tops: Sequence[Row]) -> Sequence[Row]:
    """Choose what goes under one summary: neighbours of one level, so that the tree stays flat.

    The latest summary stays apart where there are others; what was spoken last is asked for most.
    """
    levels = Counter(row["level"] for row in tops)
    level, members = max(levels.items(), key=lambda item: (item[1], -item[0]))
    chosen = [row for row in tops if row["level"] == level]
    if chosen[-1] is tops[-1] and members > _FEWEST:
        chosen = chosen[:-1]
    return chosen if members >= _FEWEST else tops[:_FEWEST]


async def _put_under(
    manager: MemoryManager,
    thread_id: str,
    source: Sequence[Spoken],
    covers: Sequence[UUID],
    limits: Limits,
    *,
    level: int = 0,
    seconds: float | None = None,
) -> Compacted | None:
    made = await summarise(source, limits, seconds=seconds)
    key = thread_key(manager.user_id, thread_id)
    new = NewSummary(
        make_id("summary", key, *covers),
        key,
        made.description,
        made.render(),
        covers,
        level=level,
        structured=made.model_dump(),
    )
    return Compacted(new.id, new.description, len(covers), level) if await manager.write_summary(new) else None


async def compact_thread(
    manager: MemoryManager, thread_id: str, limits: Limits, *, but: UUID | None = None
) -> list[Compacted]:
    """Summarise all of a thread that no summary covers, but for the message that is being answered."""
    passages = await manager.read_conversational_memory(thread_id, but=but)
    covered = await cover(manager, thread_id, passages, limits)
    return [*([covered] if covered else []), *await fold(manager, thread_id, limits)]
