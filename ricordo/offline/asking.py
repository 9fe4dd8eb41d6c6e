"""Requests that lean on something: on the one before, on a text in themselves, on a caller who wants a call."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ricordo.offline.request import Request
from ricordo.offline.seen import Prompt

_SUMMARISE = re.compile(r"(?:[Ss]ummari[sz]e|tl;dr|TL;DR|[Ss]horten|[Rr]iassum|[Ss]intetizza|总结|概括)")
_PASTED = 200
"""Characters from which on a text stands in the request."""
_FOLLOWS = re.compile(r"^(?:and|e|ed|what about|how about|那|那么)\b\s*(.+?)\W*$", re.IGNORECASE)
_SHORT = 5
"""Words of a request that merely changes the last one."""
ABOUT_ME = re.compile(r"\b(?:about me|di me|su di me|über mich|de mí|sur moi)\W*$|关于我|了解我", re.IGNORECASE)


def whole(prompt: Prompt) -> str:
    """Return the request; one that merely changes the last one (*And in Rome?*) is that one, changed."""
    follows = _FOLLOWS.match(prompt.question)
    said = [seen.text for seen in prompt.of("Conversation") if seen.role == "user"]
    if not follows or not said or len(prompt.question.split()) > _SHORT:
        return prompt.question
    place = re.search(r"\s(?:in|at|to|for|a|ad|per|di)\s+\S+\W*$", said[-1])
    return f"{said[-1][: place.start()] if place else said[-1].rstrip('?')} {follows[1]}?"


def pasted(request: str) -> str:
    """Return the text that is to be summarised, where it stands in the request itself."""
    if len(request) < _PASTED or not _SUMMARISE.search(request):
        return ""
    asking = _SUMMARISE.pattern
    return re.sub(rf"^[^:\n]*{asking}[^:\n]*[:\n]|\n[^\n]*{asking}.*$", "", request).strip()


def forced(tool: Mapping[str, Any], missing: Sequence[str], request: Request) -> dict[str, Any]:
    """Return the best that the request holds for what is missing, where a call must be made."""
    known = tool["parameters"]["properties"]
    texts = iter([*request.quoted, request.object or request.text])
    numbers = iter(request.numbers.values())
    given = {name: _best(known[name], texts, numbers, request) for name in missing}
    return {name: value for name, value in given.items() if value is not None}


def _best(parameter: Mapping[str, Any], texts: Iterator[str], numbers: Iterator[float], request: Request) -> Any:
    kind = parameter.get("type", "string")
    if options := parameter.get("enum"):
        return options[0]
    if kind in {"integer", "number"}:
        value = next(numbers, None)
        return int(value) if kind == "integer" and value is not None else value
    return next(texts, request.text) if kind == "string" else None
