"""How long a turn takes beside the model and the embeddings, on a database of a given size.

The database is a scratch one on the same server, dropped afterwards. Its memories are made-up sentences with random
vectors: embedding ten thousand texts would take minutes and change nothing here. The questions are embedded for real,
and that time is reported apart. The chat model is a stand-in that calls one tool and then answers, at once.
"""

import json
import os
import platform
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from ricordo.common.text import make_id
from ricordo.evals.made_up import directions, sentence
from ricordo.evals.scratch import scratch_database
from ricordo.graph.checkpoints import open_checkpointer
from ricordo.graph.notebook import Agent
from ricordo.graph.resources import Resources, in_use
from ricordo.models.embedding_models import Vectors
from ricordo.models.embeddings import Embedder
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.vectors import Prepared, Unit, VectorMemory

_MODEL = "bench"
_SHARES = {"knowledge_base": 0.7, "workflow": 0.15, "entity": 0.15}
_NEAR = 10
"""Turns around the 10th and the last one that are compared."""


class _Instant(BaseChatModel):
    """A stand-in model: asks for the time, then answers, without a delay."""

    @property
    def _llm_type(self) -> str:
        return _MODEL

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=tools, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],  # noqa: ARG002 - LangChain's signature
        stop: list[str] | None = None,  # noqa: ARG002 - the same
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - the same
        **_kwargs: Any,
    ) -> ChatResult:
        raise TypeError("the stand-in model only streams")

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain's signature
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002 - the same
        **_kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        if isinstance(messages[-1], ToolMessage):
            yield ChatGenerationChunk(message=AIMessageChunk(content="It is late, and the tide is out."))
            return
        call = tool_call_chunk(name="get_current_time", args=json.dumps({"detailed": False}), id="call_1", index=0)
        yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[call]))


class _Clocked(Embedder):
    """An embedder whose time is added up."""

    seconds = 0.0

    async def query(self, text: str) -> Vectors:
        began = time.perf_counter()
        try:
            return await super().query(text)
        finally:
            self.seconds += time.perf_counter() - began

    async def passages(self, texts: Sequence[str]) -> Vectors:
        began = time.perf_counter()
        try:
            return await super().passages(texts)
        finally:
            self.seconds += time.perf_counter() - began


async def benchmark_turns(
    resources: Resources, *, memories: int, turns: int, progress: Callable[[str, int, int], None]
) -> dict[str, Any]:
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
    async with scratch_database(resources.db.dsn, resources.embedder) as db, open_checkpointer(db.dsn) as saver:
        await _fill(db, resources.embedder, memories, progress)
        manager = MemoryManager(db, clocked)
        own = Resources(resources.settings, db, clocked, manager, resources.toolbox, {_MODEL: _Instant()})
        rows: list[dict[str, float]] = []
        await own.toolbox.sync(db, clocked)
        try:
            with in_use(own):
                async with aclosing(Agent(own, saver)) as agent:
                    for turn in range(turns):
                        rows.append(await _turn(agent, clocked, turn))
                        progress("turns", turn + 1, turns)
        finally:
            await own.toolbox.sync(resources.db, resources.embedder)
    return _report(rows, memories, resources.embedder.model_id)


async def _turn(agent: Agent, clocked: _Clocked, number: int) -> dict[str, float]:
    clocked.seconds, began = 0.0, time.perf_counter()
    answer = await agent.ask(f"What time is it, now that {sentence(random.Random(number))}?", "bench", model=_MODEL)  # noqa: S311 - no secret
    total = time.perf_counter() - began
    return {"turn": total - clocked.seconds, "embeddings": clocked.seconds, **answer.seconds}


async def _fill(db: Database, embedder: Embedder, memories: int, progress: Callable[[str, int, int], None]) -> None:
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


def _spread(values: Sequence[float]) -> dict[str, float]:
    p50, p95 = np.percentile(values, [50, 95]) * 1000
    return {"p50": round(float(p50), 1), "p95": round(float(p95), 1)}


def _report(rows: list[dict[str, float]], memories: int, embeddings: str) -> dict[str, Any]:
    phases = [name for name in rows[0] if name not in ("turn", "embeddings")]
    early, late = rows[_NEAR // 2 : _NEAR // 2 + _NEAR], rows[-_NEAR:]
    return {
        "benchmark": "turn",
        "memories": memories,
        "turns": len(rows),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "embedding_model": embeddings,
        "milliseconds": {
            "turn_beside_embeddings": _spread([row["turn"] for row in rows]),
            "embeddings": _spread([row["embeddings"] for row in rows]),
            "around_turn_10": _spread([row["turn"] for row in early]),
            f"around_turn_{len(rows)}": _spread([row["turn"] for row in late]),
            "phases_with_their_embeddings": {name: _spread([row[name] for row in rows]) for name in phases},
        },
    }
