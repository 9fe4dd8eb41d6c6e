"""Entities found by a chat model, where the deployment asks for it; what it makes up is left out."""

import asyncio
import logging
from functools import cache
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from ricordo.common.prose import prose
from ricordo.graph import prompts
from ricordo.graph.entities import MOST, entities_in, mention_of
from ricordo.graph.limits import Limits
from ricordo.graph.resources import get_resources
from ricordo.models.chat import OFFLINE, structured
from ricordo.stores.entity import Entity, name_key

_TYPES = frozenset({"person", "organisation", "system", "place", "paper", "work", "event", "thing"})
_LONGEST_NAME = 80  # characters
_LONGEST_TEXT = 8000  # characters of the question, and of the answer, that the model is shown

_log = logging.getLogger(__name__)


class _Named(BaseModel):
    """A named thing that the text speaks of."""

    name: str = Field(description="The name, exactly as the text has it.")
    type: str = Field(description=f"One of: {', '.join(sorted(_TYPES))}.")
    aliases: list[str] = Field([], description="Other names that the text itself says are the same thing.")


class _Found(BaseModel):
    """The named things of a text."""

    entities: list[_Named]


async def find_entities(question: str, answer: str, limits: Limits) -> list[Entity]:
    """Find what a turn speaks of: by a model where `RICORDO_ENTITY_EXTRACTION=model` and there is one, else by form.

    Args:
        question: The user's words.
        answer: The assistant's; empty where there is no answer.
        limits: Name the turn's chat model.
    """
    resources = get_resources()
    settings = resources.settings
    question, answer = prose(question), prose(answer)
    name = settings.summary_model or limits.model
    if settings.entity_extraction == "model" and name != OFFLINE:
        try:
            async with asyncio.timeout(settings.summary_timeout_seconds):
                return _checked(await _asked(name, question, answer), question, answer)
        except Exception as error:  # noqa: BLE001 - whatever a provider does wrong: the rules always have an answer
            why = "no answer in time" if isinstance(error, TimeoutError) else error
            _log.warning("The entities were not found by %s (%s); they are found by their form.", name, why)
    return entities_in(question, answer)


async def _asked(name: str, question: str, answer: str) -> list[_Named]:
    by_schema = structured(get_resources().chat_model(name), _schema())
    texts = f"{question[:_LONGEST_TEXT]}\n\n{answer[:_LONGEST_TEXT]}"
    fenced = "\n".join(f"> {line}" for line in texts.splitlines())
    made: Any = await by_schema.ainvoke([SystemMessage(prompts.ENTITIES), HumanMessage(f"# Text\n{fenced}")])
    return _Found.model_validate(made["parsed"]).entities


@cache
def _schema() -> dict[str, Any]:
    return _Found.model_json_schema()


def _checked(named: list[_Named], question: str, answer: str) -> list[Entity]:
    """Keep the names that stand in the text, and the second names that stand in one sentence with the first."""
    found: dict[str, Entity] = {}
    for one in named:
        name = " ".join(one.name.split())
        mention = mention_of(name, question) if 0 < len(name) <= _LONGEST_NAME else None
        answered = mention is None
        mention = mention or (mention_of(name, answer) if 0 < len(name) <= _LONGEST_NAME else None)
        if mention is None:
            continue
        both = [(other, _together(name, other, question) or _together(name, other, answer)) for other in one.aliases]
        aliases = tuple(other for other, where in both if where and name_key(other) != name_key(name))
        kind = one.type.strip().casefold()
        entity = Entity(name, kind if kind in _TYPES else "thing", mention, aliases, answered)
        found.setdefault(name_key(name), entity)
    return list(found.values())[:MOST]


def _together(name: str, other: str, text: str) -> bool:
    """Tell whether two names stand in one line of a text."""
    if not other.strip() or len(other) > _LONGEST_NAME:
        return False
    return any(mention_of(name, line) and mention_of(other, line) for line in text.splitlines())
