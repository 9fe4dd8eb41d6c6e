"""How long counting, compacting and reading back take, without a model; on a scratch database."""

import random
import time
from collections.abc import Awaitable, Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

from ricordo.evals.made_up import sentence
from ricordo.evals.metrics import Progress, heading, spread
from ricordo.evals.scratch import scratch_database
from ricordo.graph.compaction.history import cover
from ricordo.graph.context import Context
from ricordo.graph.limits import limits_of
from ricordo.graph.resources import Resources, in_use
from ricordo.graph.window import Segment, Window
from ricordo.models import tokens
from ricordo.stores.manager import MemoryManager
from ricordo.stores.passages import Passage

_FULL_WINDOW = 128_000  # tokens
_MESSAGES = 200
_LONG_THREAD = 1_200  # messages, three windows of 128,000 tokens
_SENTENCES = 4
_PAGE = 4_000  # tokens


async def benchmark_compaction(resources: Resources, *, repeats: int, progress: Progress) -> dict[str, Any]:
    """Measure counting a full window, compacting 200 messages, and a page of a summary of three windows.

    Args:
        resources: Open resources; their database is left alone.
        repeats: How often each is measured.
        progress: Called with what is being done, how much of it is done, and how much there is.

    Returns:
        A JSON-able report; all times in milliseconds.

    Raises:
        DatabaseError: No scratch database can be made.
    """
    settings = resources.settings.model_copy(update={"summary_model": "offline", "context_window": _FULL_WINDOW})
    async with scratch_database(resources.db.dsn, resources.embedder) as db:
        memory = MemoryManager(db, resources.embedder)
        with in_use(Resources(settings, db, resources.embedder, memory, resources.toolbox)):
            limits = limits_of(SimpleNamespace(context=Context(model="offline")))
            cold, warm, compacted, read = [], [], [], []
            long = await _long_summary(memory, limits)
            for n in range(repeats):
                window = _full_window(n)
                cold.append(await _timed(_counting(window)))
                warm.append(await _timed(_counting(window)))
                await _talk(memory, f"thread {n}", _MESSAGES, n)
                passages = await memory.read_conversational_memory(f"thread {n}")
                compacted.append(await _timed(partial(cover, memory, f"thread {n}", passages, limits)))
                read.append(await _timed(partial(memory.read_summary_memory, long, n + 1, budget=_PAGE)))
                progress("measuring", n + 1, repeats)
    return {
        **heading("compaction"),
        "embedding_model": resources.embedder.model_id,
        "milliseconds": {
            f"count_{_FULL_WINDOW}_tokens_first_time": spread(cold),
            f"count_{_FULL_WINDOW}_tokens_again": spread(warm),
            f"compact_{_MESSAGES}_messages": spread(compacted),
            f"page_of_{_LONG_THREAD}_messages": spread(read),
        },
    }


def _text(dice: random.Random) -> str:
    return " ".join(f"{sentence(dice, 14).capitalize()}." for _ in range(_SENTENCES))


async def _talk(memory: MemoryManager, thread: str, messages: int, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - no secret
    for n in range(messages):
        await memory.write_conversational_memory(thread, ("user", "assistant")[n % 2], _text(dice))


async def _long_summary(memory: MemoryManager, limits: Any) -> str:
    await _talk(memory, "long", _LONG_THREAD, -1)
    made = await cover(memory, "long", await memory.read_conversational_memory("long"), limits)
    return str(made.summary_id) if made else ""


def _full_window(seed: int) -> Window:
    """Return a window of so many tokens, all of them new."""
    dice = random.Random(f"window {seed}")  # noqa: S311 - no secret
    passages: list[Passage] = []
    left = _FULL_WINDOW
    while left > 0:
        passages.append(Passage(str(len(passages)), "user · 2026-11-30T10:00Z", _text(dice)))
        left -= tokens.count(passages[-1].render(1) + f" {seed}")
    return Window(f"question {seed}", {"Conversation": Segment("Conversation", tuple(passages))})


def _counting(window: Window) -> Callable[[], Awaitable[object]]:
    async def count() -> object:
        return window.counts()

    return count


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began
