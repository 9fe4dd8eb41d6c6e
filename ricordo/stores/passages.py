"""One unit of memory as the window and the tools show it: numbered, dated, sourced, and fenced as data."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

_LINE_END = re.compile(r"\r\n|[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


@dataclass(frozen=True)
class Passage:
    """A unit's text with one line of what is known about it."""

    id: str
    head: str
    """Role or id, date, source, score."""
    text: str

    def render(self, number: int) -> str:
        """Return the block: `[number] head`, then every line of the text behind `> `."""
        head = _LINE_END.sub(" ", self.head)
        fenced = "\n".join(f"> {line}" for line in _LINE_END.split(self.text))
        return f"[{number}] {head}\n{fenced}"


def render_all(passages: Iterable[Passage]) -> str:
    """Return numbered blocks, one below the other."""
    return "\n".join(passage.render(i) for i, passage in enumerate(passages, 1))


def stamp(moment: datetime) -> str:
    """Format a moment for a passage's head: UTC, to the minute."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ")
