"""Texts too long for their room, cut to one height: what is short stays whole, what is long gives up the most."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ricordo.stores.pages import Count, head_and_tail


@dataclass(frozen=True)
class Long:
    """A text that may be cut."""

    text: str
    note: str
    """Where the whole of it is; stands between its head and its tail."""
    count: Count
    floor: int
    """Tokens below which it is not cut."""
    weight: int = 1
    """How much more room it gets than a text of weight one."""

    @cached_property
    def size(self) -> int:
        """Return its tokens."""
        return self.count(self.text)

    def cut(self, height: int) -> str:
        """Return it cut to so many tokens, if it is longer."""
        room = max(height, self.floor)
        return self.text if self.size <= room else head_and_tail(self.text, room, self.count, self.note)


def heights(texts: Sequence[Long], room: int) -> list[int]:
    """Share a room of tokens between texts: each gets what it needs, up to one height times its weight.

    >>> heights([Long("a " * 10, "", len, 0), Long("b " * 100, "", len, 0), Long("c " * 200, "", len, 0)], 220)
    [20, 100, 100]
    """
    left, weight = max(0, room), sum(text.weight for text in texts)
    shares = [0] * len(texts)
    for i in sorted(range(len(texts)), key=lambda i: texts[i].size / texts[i].weight):
        shares[i] = min(texts[i].size, left * texts[i].weight // weight)
        left -= shares[i]
        weight -= texts[i].weight
    return shares
