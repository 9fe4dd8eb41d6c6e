"""How long a start with thousands of tools takes, and one search among them.

The tools are made-up functions; their vectors by the deployment's model are random, so that nothing waits for it. The
catalogue is in a scratch database that is dropped afterwards.
"""

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricordo.common.settings import Settings
from ricordo.common.words import terms
from ricordo.evals.made_up import directions, sentence
from ricordo.evals.metrics import Latency, Progress, heading
from ricordo.evals.scratch import scratch_database
from ricordo.models.embedding_models import Vectors
from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.units import Query
from ricordo.stores.toolbox.box import Toolbox
from ricordo.stores.toolbox.start import begin

_GROUPS = 100
_OFFERED = 6
_SEARCHES = 200


class _Random(Embedder):
    """The deployment's model, by name and width only: its vectors are random."""

    def __init__(self, real: Embedder, dims: int) -> None:
        super().__init__(real._model, dims)  # noqa: SLF001 - nothing is asked of it
        self.noise = np.random.default_rng(1)

    async def passages(self, texts: Sequence[str], *, holes: bool = False) -> Vectors:  # noqa: ARG002 - there are none
        return directions(self.noise, len(texts), self.dims)


async def benchmark_tools(db: Database, embedder: Embedder, *, tools: int, progress: Progress) -> dict[str, Any]:
    """Register tools, start once with all of them new, start again with all unchanged, and search.

    Args:
        db: A database on the server that is to hold the scratch database.
        embedder: Gives the vectors' width; nothing is embedded by it.
        tools: How many functions.
        progress: Called with what is being done, how much of it is done, and how much there is.

    Returns:
        A JSON-able report; a search in milliseconds, beside the embedding of the request, the rest in seconds.

    Raises:
        DatabaseError: No scratch database can be made.
    """
    chance = _Random(embedder, await embedder.measure())
    functions = [_function(number) for number in range(tools)]
    async with scratch_database(db.dsn, embedder) as scratch:
        first, first_seconds = await _start(functions, scratch, chance, progress)
        again, seconds = await _start(functions, scratch, chance, progress)
        searches = await _searches(again, chance)
    return {
        **heading("tools", tools=len(first)),
        "seconds": {"start_with_all_new": first_seconds, "start_with_all_unchanged": seconds},
        "milliseconds": {"search": vars(searches)},
    }


def _function(number: int) -> Callable[..., str]:
    dice = random.Random(number)  # noqa: S311 - no secret

    def tool(subject: str, amount: int = 1, *, quietly: bool = False) -> str:
        return f"{subject} {amount} {quietly}"

    tool.__name__ = tool.__qualname__ = f"{sentence(dice, 1)}_{number}"
    arguments = "".join(f"    {name}: {sentence(dice, 8)}\n" for name in ("subject", "amount", "quietly"))
    tool.__doc__ = f"{sentence(dice, 20)}.\n\nArgs:\n{arguments}"
    return tool


async def _start(
    functions: Sequence[Callable[..., str]], db: Database, embedder: Embedder, progress: Progress
) -> tuple[Toolbox, dict[str, float]]:
    """Do what a process does with its tools when it starts, and then in the background."""
    box, began = Toolbox(), time.perf_counter()
    for number, function in enumerate(functions):
        box.register_tool(function, group=f"group {number % _GROUPS}", side_effect=False)
    registered = time.perf_counter()
    all_known = await begin(box, db, embedder)
    ready = time.perf_counter()
    if not all_known:
        await box.sync(db, embedder, progress=progress)
    done = time.perf_counter()
    return box, {
        "registering": round(registered - began, 2),
        "until_a_turn": round(ready - registered, 2),
        "in_the_background": round(done - ready, 2),
    }


async def _searches(box: Toolbox, embedder: _Random) -> Latency:
    dice, seconds, settings = random.Random(2), [], Settings()  # noqa: S311 - no secret
    for _ in range(_SEARCHES):
        text = sentence(dice, 12)
        asked = Query(text, directions(embedder.noise, 1, embedder.dims)[0], terms(text))
        await box.search(asked, _OFFERED, settings=settings)  # the light model's vector is kept for the next one
        began = time.perf_counter()
        await box.search(asked, _OFFERED, settings=settings)
        seconds.append(time.perf_counter() - began)
    return Latency.of(seconds)
