"""How long a recall takes beside many other users' memories, and whether it finds what an exact search finds.

The database is a scratch one on the same server, dropped afterwards. Its memories are made-up sentences with random
vectors, in uneven shares: the largest user has some fifty times as many as the smallest one. Questions too come with
random vectors, so that the times are those of the search alone.
"""

import random
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import numpy as np

from ricordo.common.text import make_id
from ricordo.common.words import terms
from ricordo.evals.made_up import directions, sentence
from ricordo.evals.metrics import Latency, Progress, heading, percent, recall
from ricordo.evals.scratch import scratch_database
from ricordo.models.embeddings import Embedder
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.connection import connect
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.embedding_space import index_name, make_index
from ricordo.stores.search.vectors import Prepared, Query, Unit, VectorMemory
from ricordo.stores.sharing import add_share

_TABLE = "user_memory"
_K = 10
_RECALLED = 5
"""What `recall` returns unless it is asked for more."""
_WARM_UP = 20
_COMPARED = 50
"""Users whose lists are compared with the exact ones, beside the smallest and the largest."""
_SKEW = 20


async def benchmark_tenants(
    db: Database, embedder: Embedder, *, memories: int, users: int, queries: int, progress: Progress
) -> dict[str, Any]:
    """Measure recall in a database of many users.

    Args:
        db: A database on the server that is to hold the scratch database.
        embedder: Gives the vectors' width; nothing is embedded.
        memories: Units in all.
        users: Whom they belong to.
        queries: How many recalls are measured, by users picked at random.
        progress: Called with what is being done, how much of it is done, and how much there is.

    Returns:
        A JSON-able report; times in milliseconds, shares in per cent.

    Raises:
        DatabaseError: No scratch database can be made.
    """
    dims = await embedder.measure()
    sizes = _sizes(memories, users)
    async with scratch_database(db.dsn, embedder) as scratch:
        await _fill(scratch, embedder, sizes, progress)
        world = _World(scratch, embedder, dims)
        alone = await world.times(users, queries, progress)
        for user in range(1, users):
            await add_share(scratch, _name(user - 1), kind="user_memory", with_user=_name(user))
        shared = await world.times(users, queries, progress)
        found = {user: await world.compare(user) for user in _picked(users)}
    least, most = min(found), max(found)
    return {
        **heading("tenants", memories=memories, users=users, queries=queries),
        "embedding_model": embedder.model_id,
        "milliseconds": {"recall": vars(alone), "recall_with_what_another_shares": vars(shared)},
        "recall_at_10": {
            "largest_user": {"memories": sizes[least], "per_cent": percent([found[least]])},
            "smallest_user": {"memories": sizes[most], "per_cent": percent([found[most]])},
            "users_compared": {"users": len(found), "per_cent": percent(list(found.values()))},
        },
    }


def _sizes(memories: int, users: int) -> list[int]:
    """Share out memories, the largest user first; each has at least one."""
    weights = 1 / (np.arange(users) + _SKEW)
    sizes = np.maximum(1, (weights / weights.sum() * memories).astype(int))
    sizes[0] += memories - sizes.sum()
    return [int(size) for size in sizes]


def _picked(users: int) -> list[int]:
    return sorted({0, users - 1, *random.Random(3).sample(range(users), min(users, _COMPARED))})  # noqa: S311 - no secret


def _name(user: int) -> str:
    return f"user {user}"


async def _fill(db: Database, embedder: Embedder, sizes: Sequence[int], progress: Progress) -> None:
    dice, noise = random.Random(1), np.random.default_rng(1)  # noqa: S311 - no secret
    memory = VectorMemory(_TABLE, embedder)
    async with db.as_owner() as conn:  # built at once in the end, which is faster
        await conn.execute(f'DROP INDEX IF EXISTS "{index_name(_TABLE, embedder.model_id, embedder.dims)}"'.encode())
    done = 0
    for number, size in enumerate(sizes):
        user = _name(number)
        columns = {"type": "fact", "origin": "user"}
        units = [Unit(make_id(user, i), sentence(dice), columns) for i in range(size)]
        async with db.transaction(user) as conn:
            await memory.write(conn, user, Prepared(units, directions(noise, size, embedder.dims)))
        done += size
        progress("memories", done, sum(sizes))
    async with await connect(db.dsn) as conn:
        await conn.execute("SET maintenance_work_mem = '512MB'")
        await make_index(conn, _TABLE, embedder.model_id, embedder.dims)
        await conn.execute("VACUUM (ANALYZE)")  # as a database that has been there for a while


class _World:
    """The filled database, and questions."""

    def __init__(self, db: Database, embedder: Embedder, dims: int) -> None:
        self._db = db
        self._manager = MemoryManager(db, embedder)
        self._memory = VectorMemory(_TABLE, embedder)
        self._dims = dims
        self._dice, self._noise = random.Random(2), np.random.default_rng(2)  # noqa: S311 - no secret

    def _question(self) -> Query:
        text = sentence(self._dice, 8)
        return Query(text, directions(self._noise, 1, self._dims)[0], terms(text))

    async def times(self, users: int, queries: int, progress: Progress) -> Latency:
        """Time recall as the tool does it, for users at random."""
        seconds = []
        for number in range(queries + _WARM_UP):
            own = self._manager.for_user(_name(self._dice.randrange(users))).user_memory
            question = self._question()
            began = time.perf_counter()
            await own.recall(question, _RECALLED, shared=True)
            seconds.append(time.perf_counter() - began)
            progress("recalls", number + 1, queries + _WARM_UP)
        return Latency.of(seconds[_WARM_UP:])

    async def compare(self, user: int) -> float:
        """Return the share of the ten best that a search finds, the ten best being those of one without any index."""
        question = self._question()
        found = await self._ids(user, question, "on")
        exact = await self._ids(user, question, "off")
        return recall(found, set(exact), _K)

    async def _ids(self, user: int, question: Query, indexes: str) -> list[UUID]:
        async with self._db.transaction(_name(user)) as conn:
            await conn.execute("SELECT set_config('enable_indexscan', %s, true)", (indexes,))
            return [hit.id for hit in await self._memory.search(conn, question, _K)]
