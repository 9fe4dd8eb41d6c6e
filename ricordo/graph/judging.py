"""Asks the chat model which memories a new one replaces; its word is one opinion, and no answer is none."""

import asyncio
import logging
from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from langchain_core.messages import HumanMessage, SystemMessage

from ricordo.graph import prompts
from ricordo.graph.limits import Limits
from ricordo.graph.resources import get_resources
from ricordo.models.chat import OFFLINE, structured
from ricordo.stores.passages import Passage, render_all
from ricordo.stores.user_memory.rows import Row
from ricordo.stores.user_memory.store import Judge

_SCHEMA = {
    "title": "Replaced",
    "description": "Which stored statements cannot hold any more now that the new one does.",
    "type": "object",
    "properties": {
        "replaced": {
            "type": "array",
            "items": {"type": "integer"},
            "description": "The numbers of those statements; empty if all of them still hold.",
        }
    },
    "required": ["replaced"],
}
_log = logging.getLogger(__name__)


def judge_by(limits: Limits) -> Judge | None:
    """Return who is asked; nobody, where the model is offline."""
    resources = get_resources()
    name = resources.settings.summary_model or limits.model
    if name == OFFLINE:
        return None

    async def judge(content: str, candidates: Sequence[Row]) -> Collection[UUID]:
        try:
            async with asyncio.timeout(resources.settings.summary_timeout_seconds):
                numbers = await _ask(name, content, candidates)
        except Exception as error:  # noqa: BLE001 - whatever a provider does wrong: the rules alone then decide
            _log.warning("%s was not heard on what a memory replaces (%s).", name, error or type(error).__name__)
            return []
        return {row["id"] for i, row in enumerate(candidates, 1) if i in numbers}

    return judge


async def _ask(name: str, content: str, candidates: Sequence[Row]) -> set[int]:
    by_schema = structured(get_resources().chat_model(name), _SCHEMA)
    stored = render_all(Passage(str(row["id"]), "stored", row["content"]) for row in candidates)
    new = Passage("", "new", content).render(0)
    made: Any = await by_schema.ainvoke([SystemMessage(prompts.REPLACES), HumanMessage(f"{new}\n\n{stored}")])
    parsed = made["parsed"]
    found = parsed.get("replaced") if isinstance(parsed, dict) else None
    return {one for one in found if type(one) is int} if isinstance(found, list) else set()
