"""Which tool's schema a provider's error is about."""

import re
from collections.abc import Sequence

_BY_NAME = re.compile(
    r"schema[^.'\"`]{0,40}?\b(?:function|tool)s?\b[\s:=]{0,3}['\"`]?([a-zA-Z0-9_-]{1,64})", re.IGNORECASE
)
_BY_PLACE = (
    re.compile(r"function_?declarations[\[.](\d{1,4})", re.IGNORECASE),
    re.compile(r"\btools[\[.](\d{1,4})\b(?=.{0,200}(?:schema|parameters|function))", re.IGNORECASE | re.DOTALL),
)
"""Providers name the tool, or its place among those that were sent."""


def refused_tool(said: str, offered: Sequence[str]) -> str | None:
    """Return the tool whose schema a provider refuses; None if its error is about something else.

    >>> refused_tool("Invalid schema for function 'x': In context=(), ...", ["w", "x"])
    'x'
    """
    for named in _BY_NAME.finditer(said):
        if named[1] in offered:
            return named[1]
    for pattern in _BY_PLACE:
        found = pattern.search(said)
        if found and int(found[1]) < len(offered):
            return offered[int(found[1])]
    return None
