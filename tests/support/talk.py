"""A long talk with the harness, and what leads back to all of it."""

import re
from typing import Any

from tests.support.harness import Harness

LINE = "The harbour log mentions {n} barges, two gulls and a parcel for the keeper of the light. "


async def talk(harness: Harness, turns: int, words: int = 12) -> list[str]:
    """Store a conversation of some turns."""
    said = []
    for n in range(turns):
        said += [f"Entry {n}, OBERON-{n}: {LINE.format(n=n) * words}", f"Noted {n}. {'The tide was fair. ' * words}"]
        await harness.memory().write_conversational_memory("t", "user", said[-2])
        await harness.memory().write_conversational_memory("t", "assistant", said[-1])
    return said


def ids_in(segment: str) -> list[str]:
    """Return the ids that a segment of the window shows."""
    return re.findall(r"\bid=([0-9a-f-]{36})", segment)


async def read_all(read: Any, id_: str) -> str:
    """Read what is under a summary or in the log, page by page, as it stands behind the fences."""
    text, at = "", None
    while True:
        page = await (read(id_) if at is None else read(id_, at))
        text += "".join(f"{line[2:]}\n" for line in page.splitlines() if line.startswith("> "))
        more = re.search(r"the next: \w+\(\w+='[^']+', \w+=(\d+)\)", page)
        if not more:
            return text
        at = int(more[1])
