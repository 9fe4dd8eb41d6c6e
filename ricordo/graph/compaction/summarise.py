"""Structured summaries by a model, and by extraction when there is none or it fails."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import ValidationError

from ricordo.common.errors import ModelError
from ricordo.common.text import clean
from ricordo.common.words import terms
from ricordo.graph import prompts
from ricordo.graph.limits import Limits, window_of
from ricordo.graph.resources import get_resources
from ricordo.models import tokens
from ricordo.models.chat import OFFLINE, structured
from ricordo.models.thinking import spoken
from ricordo.offline.extractive import StructuredSummary
from ricordo.offline.extractive import summarise as extract
from ricordo.stores.pages import slices

Spoken = tuple[str, str]
"""Role and text of a message."""

MOST_TOKENS = 700
"""Of one summary."""
_LEAST_TOKENS = 60  # of the summary of one part
_LONGEST_SHARE = 0.5  # a summary longer than half of its source is none
_OVERLONG = 1.5  # times its budget: a model cannot count, but it should try
_SHORTEST_SOURCE = 60  # tokens; below that the text itself is the best summary
_GROUNDED = 0.5  # share of a summary's words that must stand in its source
_FEWEST_TERMS = 5
_PART_SHARE = 0.4  # of the summariser's window, for one part of the source
_PER_MESSAGE = 8
_MOST_CALLS = 16  # of the model for one summary; the parts beyond are summarised by extraction
_AT_ONCE = 4

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Summariser:
    """The model that summarises, and what it can take."""

    model: str
    room: int
    """Tokens of one part of the source."""
    ratio: float
    encoding: str

    def count(self, text: str) -> int:
        return round(tokens.count(text, self.encoding) * self.ratio)


def _summariser(limits: Limits) -> _Summariser:
    resources = get_resources()
    model = resources.settings.summary_model or limits.model
    window = limits.window if model == limits.model else window_of(model)
    room = max(200, int(window * _PART_SHARE))
    return _Summariser(model, room, resources.usage.ratio(model), tokens.encoding_of(model))


def parts_of(messages: Sequence[Spoken], by: _Summariser) -> list[list[Spoken]]:
    """Split a history into parts that the summariser can take whole; a message longer than that is cut, not dropped."""
    parts: list[list[Spoken]] = [[]]
    used = 0
    for role, text in messages:
        for piece in slices(text, by.room - _PER_MESSAGE, by.count):
            cost = by.count(piece) + _PER_MESSAGE
            if parts[-1] and used + cost > by.room:
                parts.append([])
                used = 0
            parts[-1].append((role, piece))
            used += cost
    return [part for part in parts if part]


async def summarise(
    messages: Sequence[Spoken], limits: Limits, *, most: int = MOST_TOKENS, seconds: float | None = None
) -> StructuredSummary:
    """Summarise a history of any length; a model that fails, stalls or rambles is replaced by extraction.

    Never empty, never longer than its source, and every part of the source is covered.

    Args:
        messages: Role and text of each message, oldest first.
        limits: The turn's limits; they name the model.
        most: Tokens of the summary, about.
        seconds: Time for the model, all parts together; `summary_timeout_seconds` at most.
    """
    by = _summariser(limits)
    parts = await asyncio.to_thread(parts_of, messages, by)
    if not parts:
        return await asyncio.to_thread(extract, messages, most)
    budget = max(_LEAST_TOKENS, most // len(parts))
    patience = get_resources().settings.summary_timeout_seconds
    ends_at = asyncio.get_running_loop().time() + min(patience, patience if seconds is None else seconds)
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(part: Sequence[Spoken], *, ask: bool) -> StructuredSummary:
        async with gate:
            return await _one(part, budget, by, ends_at if ask else None)

    made = await asyncio.gather(*(one(part, ask=i < _MOST_CALLS) for i, part in enumerate(parts)))
    return made[0] if len(made) == 1 else StructuredSummary.join(made)


async def _one(part: Sequence[Spoken], budget: int, by: _Summariser, ends_at: float | None) -> StructuredSummary:
    """Summarise one part.

    Args:
        ends_at: Time of the event loop's clock until which the model may try; None: it is not asked.
    """
    source = "\n".join(f"{role}: {text}" for role, text in part)
    size = by.count(source)
    budget = min(budget, max(20, int(size * _LONGEST_SHARE)))
    if by.model != OFFLINE and size > _SHORTEST_SOURCE and ends_at is not None:
        try:
            async with asyncio.timeout_at(ends_at):
                summary = await _by_model(source, budget, by.model)
        except Exception as error:  # noqa: BLE001 - whatever a provider does wrong: extraction always has an answer
            why = "no answer in time" if isinstance(error, TimeoutError) else error
            _log.warning("The summary by %s failed (%s); an extractive one is used.", by.model, why)
        else:
            if (flaw := _flaw(summary, source, budget, by)) is None:
                return summary
            _log.warning("The summary by %s is %s; an extractive one is used.", by.model, flaw)
    return await asyncio.to_thread(extract, part, budget)


async def _by_model(source: str, budget: int, name: str) -> StructuredSummary:
    by_schema = structured(get_resources().chat_model(name), _schema())
    fenced = "\n".join(f"> {line}" for line in source.splitlines())
    asked = [SystemMessage(prompts.SUMMARISE.format(words=budget * 2 // 3)), HumanMessage(f"# History\n{fenced}")]
    made: Any = await by_schema.ainvoke(asked)
    parsed = made["parsed"] or _from_text(spoken(tokens.text_of(made["raw"])))
    return _cleaned(StructuredSummary.model_validate(parsed))


@cache
def _schema() -> dict[str, Any]:
    return StructuredSummary.model_json_schema()


def _from_text(text: str) -> StructuredSummary:
    """Take a reply as text, from a server that knows no structured output: JSON after thinking, or plain words."""
    with suppress(ValidationError):
        return StructuredSummary.model_validate_json(text)
    lines = [line.strip(" -*#") for line in text.splitlines()]
    lines = [line for line in lines if line]
    if not lines:
        raise ModelError("its reply is empty")
    return StructuredSummary(description=lines[0], purpose=lines[0], facts=lines[1:])


def _cleaned(summary: StructuredSummary) -> StructuredSummary:
    """Return a model's summary fit to be stored."""
    values = summary.model_dump()
    return StructuredSummary(
        **{k: clean(v) if isinstance(v, str) else [clean(x) for x in v] for k, v in values.items()}
    )


def _flaw(summary: StructuredSummary, source: str, budget: int, by: _Summariser) -> str | None:
    """Say what is wrong with a model's summary, if anything."""
    text = summary.render()
    said, known = terms(text), terms(source)
    if not summary.description.strip() or len(said) < min(_FEWEST_TERMS, len(known)):
        return "empty"
    if by.count(text) > min(max(budget * _OVERLONG, 120), by.count(source)):
        return "too long"
    if sum(term in known for term in said) < _GROUNDED * len(said):
        return "not about its source"
    return None
