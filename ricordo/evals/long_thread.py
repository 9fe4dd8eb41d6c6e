"""One thread of hundreds of turns: how full the window is at every model call, and what a turn adds to the checkpoints.

The database is a scratch one, dropped afterwards. The chat model is a stand-in with much to say: it calls a tool every
third turn, opens the oldest summary every tenth, and its answers are of many lengths. In the middle the checkpoints are
pruned, and the thread has to go on from there.
"""

import csv
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from langchain_core.messages import AIMessageChunk, BaseMessage, ToolMessage
from pydantic import Field

from ricordo.evals.lines import Chart, Series, draw
from ricordo.evals.made_up import sentence
from ricordo.evals.metrics import Progress
from ricordo.evals.stand_in import StandIn, call, scratch_agent
from ricordo.graph.context import Context
from ricordo.graph.limits import limits_of
from ricordo.graph.notebook import Agent
from ricordo.graph.resources import Resources
from ricordo.models import tokens
from ricordo.stores.conversation import thread_key
from ricordo.stores.retention import Keep, checkpoints_of, prune

_MODEL = "openai:gpt-long-thread"  # counted by OpenAI's tables, without a margin
_THREAD = "long"
_LONGEST = 12
"""Sentences of a question or an answer."""


class _Talker(StandIn):
    """It counts what it is sent, as a provider does."""

    turn: int = 0
    sent: list[int] = Field(default_factory=list)

    def reply(self, messages: Sequence[BaseMessage], tools: Sequence[Any]) -> AIMessageChunk:
        self.sent.append(tokens.count_messages(messages) + tokens.count_tools(tools))
        if not isinstance(messages[-1], ToolMessage):
            summaries = str(messages[1].text).split("## Summary Memory")[1].split("id=")[1:]
            if self.turn % 10 == 0 and summaries:
                return call("expand_summary", f"call_{self.turn}", summary_id=summaries[0].split()[0])
            if self.turn % 3 == 0:
                return call("get_current_time", f"call_{self.turn}", detailed=True)
        return AIMessageChunk(content=_words(self.turn, "a"))


def _words(turn: int, what: str) -> str:
    dice = random.Random(f"{what} {turn}")  # noqa: S311 - no secret
    said = [f"{sentence(dice, 14).capitalize()}." for _ in range(dice.randint(1, _LONGEST))]
    return f"Turn {turn}. {' '.join(said)}"


@dataclass(frozen=True)
class LongTurn:
    """What one turn measured."""

    turn: int
    tokens: int
    """Of its largest model call, counted by the model."""
    threshold: int
    """Tokens that a call may carry at most, by the settings."""
    compactions: int
    open_messages: int
    """Messages that no summary covers, after the turn."""
    summaries: int
    """Descriptions in the window, after the turn."""
    checkpoint_bytes: int
    """That the turn added to the thread's checkpoints, as stored."""
    kept_bytes: int
    """Of all its checkpoints, after the turn."""
    seconds: float


async def run_long_thread(resources: Resources, *, turns: int, window: int, progress: Progress) -> list[LongTurn]:
    """Hold a long conversation and measure every turn of it.

    Args:
        resources: Open resources; their database is left alone.
        turns: How many turns.
        window: Tokens of the model's window.
        progress: Called with what is being done, how much of it is done, and how much there is.

    Raises:
        DatabaseError: No scratch database can be made.
    """
    talker = _Talker()
    settings = resources.settings.model_copy(update={"context_window": window, "summary_model": "offline"})
    rows: list[LongTurn] = []
    async with scratch_agent(resources, {_MODEL: talker}, settings, resources.embedder) as (agent, saver):
        for turn in range(1, turns + 1):
            rows.append(await _turn(agent, talker, turn, rows[-1].kept_bytes if rows else 0))
            progress("turns", turn, turns)
            if turn == turns // 2:
                await prune(agent.resources.db, saver, Keep(checkpoints=1))
                rows[-1] = replace(rows[-1], kept_bytes=await _kept_bytes(agent))
    return rows


async def _turn(agent: Agent, talker: _Talker, turn: int, kept_before: int) -> LongTurn:
    talker.turn, talker.sent = turn, []
    answer = await agent.ask(_words(turn, "q"), _THREAD, model=_MODEL)
    manager, limits = agent.resources.manager, limits_of(SimpleNamespace(context=Context(model=_MODEL)))
    kept = await _kept_bytes(agent)
    return LongTurn(
        turn=turn,
        tokens=max(talker.sent),
        threshold=limits.compact_above - limits.reserve,
        compactions=len(answer.compactions),
        open_messages=len(await manager.read_conversational_memory(_THREAD)),
        summaries=len(await manager.summaries(_THREAD)),
        checkpoint_bytes=kept - kept_before,
        kept_bytes=kept,
        seconds=round(sum(answer.seconds.values()), 3),
    )


async def _kept_bytes(agent: Agent) -> int:
    row = await checkpoints_of(agent.resources.db, thread_key(agent.resources.manager.user_id, _THREAD))
    return int(row["checkpoint_bytes"])


def write_csv(rows: Sequence[LongTurn], path: Path) -> None:
    """Write what was measured, a line for each turn."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(LongTurn)])
        writer.writerows(asdict(row).values() for row in rows)


def plot(rows: Sequence[LongTurn], path: Path) -> None:
    """Draw the window's fill and the growth of the checkpoints, one above the other."""
    turns = [row.turn for row in rows]
    charts = [
        Chart(
            "Tokens of the largest model call of each turn",
            [
                Series("threshold", "#b3261e", [row.threshold for row in rows]),
                Series("sent to the model", "#1f5fa8", [row.tokens for row in rows]),
            ],
        ),
        Chart(
            "Checkpoint bytes that each turn added",
            [Series("added, kB", "#2e7d32", [row.checkpoint_bytes / 1000 for row in rows])],
        ),
    ]
    path.write_text(draw(charts, turns, "turn"), encoding="utf-8")


def summary_of(rows: Sequence[LongTurn]) -> dict[str, Any]:
    """Return the figures that matter, JSON-able."""
    late = [row.checkpoint_bytes for row in rows[min(100, len(rows) // 2) :]]
    half = len(late) // 2
    return {
        "benchmark": "thread",
        "turns": len(rows),
        "threshold": rows[0].threshold,
        "largest_call": max(row.tokens for row in rows),
        "turns_above_threshold": sum(row.tokens > row.threshold for row in rows),
        "compactions": sum(row.compactions for row in rows),
        "summaries_shown": rows[-1].summaries,
        "checkpoint_bytes_per_turn": {
            "first_half_after_turn_100": round(sum(late[:half]) / max(1, half)),
            "second_half": round(sum(late[half:]) / max(1, len(late) - half)),
        },
        "seconds_per_turn": round(sum(row.seconds for row in rows) / len(rows), 3),
    }
