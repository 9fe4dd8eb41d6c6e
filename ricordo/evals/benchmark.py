"""How long a turn takes beside the model and the embeddings, on a database of a given size.

The database is a scratch one on the same server, dropped afterwards. Its memories are made-up sentences with random
vectors: embedding ten thousand texts would take minutes and change nothing here. The questions are embedded for real,
and that time is reported apart. The chat model is a stand-in that calls one tool and then answers, at once.
"""

import random
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import numpy as np
from langchain_core.messages import AIMessageChunk, BaseMessage, ToolMessage

from ricordo.common.text import make_id
from ricordo.evals.made_up import directions, sentence
from ricordo.evals.metrics import Progress, heading, spread
from ricordo.evals.stand_in import StandIn, call, scratch_agent
from ricordo.graph.notebook import Agent
from ricordo.graph.resources import Resources
from ricordo.models.embedding_models import Vectors
from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.vectors import Prepared, Unit, VectorMemory

_MODEL = "bench"
_SHARES = {"knowledge_base": 0.7, "workflow": 0.15, "entity": 0.15}
_NEAR = 10
"""Turns around the 10th and the last one that are compared."""


class _Instant(StandIn):
    """Asks for the time, then answers, without a delay."""

    def reply(self, messages: Sequence[BaseMessage], tools: Sequence[Any]) -> AIMessageChunk:  # noqa: ARG002 - the base's
        if isinstance(messages[-1], ToolMessage):
            return AIMessageChunk(content="It is late, and the tide is out.")
        return call("get_current_time", "call_1", detailed=False)


class _Clocked(Embedder):
    """An embedder whose time is added up."""

    seconds = 0.0

    async def query(self, text: str) -> Vectors:
        began = time.perf_counter()
        try:
            return await super().query(text)
        finally:
            self.seconds += time.perf_counter() - began

    async def passages(self, texts: Sequence[str], *, holes: bool = False) -> Vectors:
        began = time.perf_counter()
        try:
            return await super().passages(texts, holes=holes)
        finally:
            self.seconds += time.perf_counter() - began


async def benchmark_turns(resources: Resources, *, memories: int, turns: int, progress: Progress) -> dict[str, Any]:
    """Measure turns of one tool call each, on one thread.

    Args:
        resources: Open resources; their database is left alone.
        memories: Units in memory before the first turn.
        turns: How many turns.
        progress: Called with what is being done, how much of it is done, and how much there is.

    Returns:
        A JSON-able report; all times in milliseconds.

    Raises:
        DatabaseError: No scratch database can be made.
    """
    width = await resources.embedder.measure()
    clocked = _Clocked(resources.embedder._model, width)  # noqa: SLF001 - the same loaded model, not a second one
    await clocked.query("warm up")
    rows: list[dict[str, float]] = []
    async with scratch_agent(resources, {_MODEL: _Instant()}, resources.settings, clocked) as (agent, _):
        await _fill(agent.resources.db, resources.embedder, memories, progress)
        for turn in range(turns):
            rows.append(await _turn(agent, clocked, turn))
            progress("turns", turn + 1, turns)
    return _report(rows, memories, resources.embedder.model_id)


async def _turn(agent: Agent, clocked: _Clocked, number: int) -> dict[str, float]:
    clocked.seconds, began = 0.0, time.perf_counter()
    answer = await agent.ask(f"What time is it, now that {sentence(random.Random(number))}?", "bench", model=_MODEL)  # noqa: S311 - no secret
    total = time.perf_counter() - began
    return {"turn": total - clocked.seconds, "embeddings": clocked.seconds, **answer.seconds}


async def _fill(db: Database, embedder: Embedder, memories: int, progress: Progress) -> None:
    dice, noise = random.Random(1), np.random.default_rng(1)  # noqa: S311 - no secret
    document = make_id("bench document")
    async with db.transaction("default") as conn:
        await conn.execute(
            "INSERT INTO documents (id, user_id, source, title, kind, content_hash, chunks) "
            "VALUES (%s, 'default', 'bench', 'bench', 'text', '', 0)",
            (document,),
        )
    done = 0
    for table, share in _SHARES.items():
        count = round(memories * share)
        columns = [_columns(table, document, i) for i in range(count)]
        length = 60 if table == "knowledge_base" else 12
        units = [Unit(make_id(table, i), sentence(dice, length), columns[i]) for i in range(count)]
        vectors = directions(noise, count, embedder.dims)
        async with db.transaction("default") as conn:
            await VectorMemory(table, embedder).write(conn, "default", Prepared(units, vectors))
        done += count
        progress("memories", done, memories)
    async with db.as_owner() as conn:
        await conn.execute("ANALYZE")


def _columns(table: str, document: UUID, number: int) -> dict[str, Any]:
    if table == "knowledge_base":
        return {"document_id": document, "chunk": number, "source": "bench.txt"}
    if table == "workflow":
        return {"run_id": str(number), "request": "bench", "outcome": "answer"}
    return {"name": f"Name {number}", "type": "name"}


def _report(rows: list[dict[str, float]], memories: int, embeddings: str) -> dict[str, Any]:
    phases = [name for name in rows[0] if name not in ("turn", "embeddings")]
    early, late = rows[_NEAR // 2 : _NEAR // 2 + _NEAR], rows[-_NEAR:]
    return {
        **heading("turn", memories=memories, turns=len(rows)),
        "embedding_model": embeddings,
        "milliseconds": {
            "turn_beside_embeddings": spread([row["turn"] for row in rows]),
            "embeddings": spread([row["embeddings"] for row in rows]),
            "around_turn_10": spread([row["turn"] for row in early]),
            f"around_turn_{len(rows)}": spread([row["turn"] for row in late]),
            "phases_with_their_embeddings": {name: spread([row[name] for row in rows]) for name in phases},
        },
    }
