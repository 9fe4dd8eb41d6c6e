"""Structured summaries by a model, and by extraction when there is none or it fails."""

import asyncio
import logging
from collections.abc import Sequence

from langchain_core.exceptions import LangChainException
from langchain_core.messages import HumanMessage, SystemMessage

from graph import prompts
from graph.errors import RicordoError
from graph.extractive import StructuredSummary
from graph.extractive import summarise as extract
from graph.limits import Limits
from graph.models import NO_STREAM, OFFLINE, chat_model
from graph.resources import get_resources
from stores.lexical import terms
from stores.pages import slices

Spoken = tuple[str, str]
"""Role and text of a message."""

_LONGEST_SHARE = 0.5  # a summary longer than half of its source is none
_SHORTEST_SOURCE = 60  # tokens; below that the text itself is the best summary
_GROUNDED = 0.5  # share of a summary's words that must stand in its source
_PART_SHARE = 0.4  # of the summariser's window, for one part of the source
_MOST_TOKENS = 700  # of one summary

_log = logging.getLogger(__name__)


def parts_of(messages: Sequence[Spoken], limits: Limits) -> list[list[Spoken]]:
    """Split a history into parts that the summariser can take whole; a message longer than that is cut, not dropped."""
    room = max(200, int(limits.window * _PART_SHARE))
    parts: list[list[Spoken]] = [[]]
    used = 0
    for role, text in messages:
        for piece in slices(text, room, limits.count):
            cost = limits.count(piece) + 8
            if parts[-1] and used + cost > room:
                parts.append([])
                used = 0
            parts[-1].append((role, piece))
            used += cost
    return [part for part in parts if part]


async def summarise(messages: Sequence[Spoken], limits: Limits) -> StructuredSummary:
    """Summarise a history of any length; a model that fails, stalls or rambles is replaced by extraction.

    Never empty, never longer than its source, and every part of the source is covered.
    """
    settings = get_resources().settings
    model = settings.summary_model or limits.model
    parts = parts_of(messages, limits)
    budget = max(60, _MOST_TOKENS // len(parts))
    made = await asyncio.gather(*(_one(part, budget, model, limits) for part in parts))
    return made[0] if len(made) == 1 else StructuredSummary.join(made)


async def _one(part: Sequence[Spoken], budget: int, model: str, limits: Limits) -> StructuredSummary:
    source = "\n".join(f"{role}: {text}" for role, text in part)
    size = limits.count(source)
    budget = min(budget, max(20, int(size * _LONGEST_SHARE)))
    if model != OFFLINE and size > _SHORTEST_SOURCE:
        try:
            summary = await _by_model(source, budget, model)
        except (LangChainException, RicordoError, TimeoutError, ValueError, TypeError, OSError) as error:
            # Anything the provider does wrong ends here: the extractive summariser always has an answer.
            _log.warning("The summary by %s failed (%s); an extractive one is used.", model, error)
        else:
            if (flaw := _flaw(summary, source, budget, limits)) is None:
                return summary
            _log.warning("The summary by %s is %s; an extractive one is used.", model, flaw)
    return await asyncio.to_thread(extract, part, budget)


async def _by_model(source: str, budget: int, name: str) -> StructuredSummary:
    settings = get_resources().settings
    model = chat_model(name, settings).with_structured_output(StructuredSummary).with_config(tags=[NO_STREAM])
    fenced = "\n".join(f"> {line}" for line in source.splitlines())
    asked = [SystemMessage(prompts.SUMMARISE.format(words=budget * 2 // 3)), HumanMessage(f"# History\n{fenced}")]
    async with asyncio.timeout(settings.summary_timeout_seconds):
        made = await model.ainvoke(asked)
    return StructuredSummary.model_validate(made)


def _flaw(summary: StructuredSummary, source: str, budget: int, limits: Limits) -> str | None:
    """Say what is wrong with a model's summary, if anything."""
    text = summary.render()
    said = terms(text)
    if len(said) < min(5, len(terms(source))):
        return "empty"
    if limits.count(text) > max(budget * 2, 120):
        return "too long"
    if sum(term in terms(source) for term in said) < _GROUNDED * len(said):
        return "not about its source"
    return None
