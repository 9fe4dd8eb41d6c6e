"""Builds what a model call carries, and measures it."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from ricordo.graph import prompts
from ricordo.graph.compaction.steps import READERS
from ricordo.graph.context import context_of
from ricordo.graph.exchange import exchange_of, repaired
from ricordo.graph.limits import Limits
from ricordo.graph.memories import read_window
from ricordo.graph.resources import get_resources
from ricordo.graph.state import ContextUse, State
from ricordo.graph.thread import attachments
from ricordo.graph.thread.branch import dialogue_of, follow
from ricordo.graph.window import Window
from ricordo.models import tokens

_TOOLS_ALLOWANCE = 180  # tokens of a tool that is yet to be chosen
_ALWAYS = 3  # tools that are offered beside those that fit the step


def system_prompt(state: State, runtime: Any) -> SystemMessage:
    """Return the system prompt; it changes with the day and the caller's instructions alone: provider caches hit."""
    name = context_of(runtime).timezone
    try:
        zone: Any = ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        name, zone = "UTC", UTC
    text = prompts.SYSTEM.format(today=datetime.now(zone).strftime("%A, %-d %B %Y"), timezone=name)
    return SystemMessage(f"{text}{_instructions(state)}")


def _instructions(state: State) -> str:
    told = state.get("instructions")
    return f"\n\n{prompts.RUN_INSTRUCTIONS.format(text=told)}" if told else ""


async def window_of(state: State, runtime: Any) -> Window:
    """Return the turn's window; read again when the turn goes on in another process, or from an earlier step."""
    if (window := state.get("window")) is not None:
        return window
    rows = [asked] if (asked := question_of(state)) else []
    await follow(runtime, dialogue_of(state["messages"]), rows)
    question = next((m for m in reversed(state["messages"]) if isinstance(m, HumanMessage)), HumanMessage(""))
    return await read_window(runtime, tokens.text_of(question), question_of(state))


def messages_of(
    state: State, window: Window, runtime: Any, left_out: Sequence[attachments.Block] = ()
) -> list[AnyMessage]:
    """Return the messages of the next model call: system prompt, window with attachments, this turn's tool exchange.

    Args:
        state: The state.
        window: The turn's window.
        runtime: The node's runtime.
        left_out: Attachments that the model does not take.
    """
    exchange = repaired(exchange_of(state))
    # Steps put in short end with the assistant's words: some providers want to be spoken to.
    nudge = [HumanMessage(prompts.GO_ON)] if exchange and exchange[-1].type == "ai" else []
    sent = [block for block in state.get("attachments") or [] if block not in left_out]
    asked = HumanMessage(attachments.shown(window.render(), sent, left_out))
    return [system_prompt(state, runtime), asked, *exchange, *nudge]


@lru_cache(maxsize=4)
def _system_tokens(encoding: str) -> int:
    return tokens.count(prompts.SYSTEM, encoding) + 20


def schemas_of(names: list[str]) -> list[dict[str, Any]]:
    """Return the schemas of tools by name, without those that are gone."""
    toolbox = get_resources().toolbox
    return [toolbox.schema(name) for name in names if name in toolbox]


def measure(state: State, window: Window, limits: Limits, *, final: bool = False) -> ContextUse:
    """Count the next call by parts; `tokens` leaves the reply's reserve out.

    Args:
        final: The tools are chosen; else room is counted in for those to come.
    """
    segments = window.counts(limits.encoding)
    offered = state.get("offered") or []
    parts = {
        "system": _system_tokens(limits.encoding) + tokens.count(_instructions(state), limits.encoding),
        **segments,
        "exchange": tokens.count_messages(repaired(exchange_of(state)), limits.encoding),
        "tools": tokens.count_tools(schemas_of(offered), limits.encoding),
    }
    if media := state.get("attachments"):
        parts["attachments"] = len(media) * attachments.TOKENS
    parts = {name: math.ceil(size * limits.ratio) for name, size in parts.items()}
    if not final:
        coming = max(0, min(limits.max_tools, limits.tools_per_step + _ALWAYS) - len(offered)) * _TOOLS_ALLOWANCE
        parts["tools"] = min(limits.tools_room, parts["tools"] + coming)  # as `that_fit` will choose them
    total = sum(parts.values())
    return {
        "tokens": total,
        "window": limits.window,
        "percent": round(100 * total / limits.window, 1),
        "segments": parts,
    }


def pointed_at(state: State, window: Window) -> list[str]:
    """Return the tools that something in the window or the exchange tells the model to call."""
    passages = [p.text for segment in window.segments.values() for p in segment.passages]
    texts = [window.question, *passages, *(tokens.text_of(m) for m in exchange_of(state))]
    toolbox = get_resources().toolbox
    named = [name for name in READERS if name in toolbox and any(name in text for text in texts)]
    if window.segment("Summary").passages and READERS[0] in toolbox:
        named.insert(0, READERS[0])
    return list(dict.fromkeys(named))


def that_fit(names: list[str], needed: list[str], state: State, window: Window, limits: Limits) -> set[str]:
    """Choose of some tools those whose schemas the window still holds.

    Args:
        names: Tools in the order of their claim.
        needed: Those that must be there, as long as the window holds them at all; the others stay below the threshold.
        state: The state.
        window: The window.
        limits: The turn's limits.
    """
    used = measure({**state, "offered": []}, window, limits, final=True)["tokens"]
    spent, chosen = 0, set[str]()
    for name in dict.fromkeys([*needed, *names]):
        cost = math.ceil(tokens.count_tools(schemas_of([name]), limits.encoding) * limits.ratio)
        most = limits.hard if name in needed else limits.compact_above - limits.reserve
        if spent + cost <= min(limits.tools_room, most - used):
            chosen.add(name)
            spent += cost
    return chosen


def question_of(state: State) -> UUID | None:
    """Return the id of the question's row in conversation memory."""
    stored = state.get("question_id")
    return UUID(stored) if stored else None
