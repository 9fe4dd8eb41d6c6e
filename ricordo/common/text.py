"""Text at the door: what PostgreSQL and JSON cannot carry is taken out once, and ids are made from content."""

import json
import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid5

from ricordo.common.errors import NotFoundError

EMAIL = r"(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+"
"""Pattern of an address. It begins where a word begins: a long one is looked at once, and not from each letter."""
_NAMESPACE = UUID("5b0b6a52-8f0e-5a55-9f2d-0f6f1c1f7a10")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean(text: str) -> str:
    r"""Remove NUL characters, join surrogates that are a pair, and put U+FFFD for lone ones; all else stays as it is.

    >>> clean("a\x00b")
    'ab'
    """
    return _LONE_SURROGATE.sub("\ufffd", _PAIR.sub(_joined, text.replace("\x00", "")))


def _joined(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def plain(text: str) -> str:
    """Take out what a terminal would obey: a model, a document or a server must not move the cursor."""
    return _CONTROLS.sub("", text.replace("\r\n", "\n"))


def clean_json(value: Any) -> Any:
    """Clean all texts of a JSON value, keys included."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): clean_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(each) for each in value]
    return value


def make_id(*parts: object) -> UUID:
    """Make the id of a unit from what makes it unique, so that a replayed write meets its own row."""
    return uuid5(_NAMESPACE, json.dumps([str(part) for part in parts]))


def parse_id(text: str, what: str) -> UUID:
    """Read the id of a unit as a model or a person wrote it.

    Raises:
        NotFoundError: It is no UUID, so nothing has it.
    """
    try:
        return UUID(text.strip())
    except ValueError:
        raise NotFoundError(
            f"'{text[:80]}' is not the id of a {what}: ids look like 1b4e28ba-2fa1-51d2-883f-0016d3cca427."
        ) from None
