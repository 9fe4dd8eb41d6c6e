"""What people paste may be a megabyte of anything: no rule looks at every pair of places in it.

The limit tells an end from a hang. At this size, what takes a second here took minutes to hours where a pattern tried
every place of a long run and went to its end from each.
"""

from collections.abc import Callable

import pytest

from graph.entities import entities_in
from graph.extract import sentences
from graph.window import Window
from stores import claims
from stores.firewall import assertions
from stores.lexical import terms
from stores.slots import slot_of
from stores.tool_text import requests_of

_PARTS = [
    *("\n", " ", " \n", ".", "?", "…", "(", '"', "```", "> a\n", "A", "Aa ", "A. ", "A-", "A&", "a.", "a@", "a@a."),
    *("1.", "_a", "记忆", "Aa (", "Aa aka ", "and then ", "since ", "http://a/"),
]
_READERS: dict[str, Callable[[str], object]] = {
    "entities": entities_in,
    "sentences": sentences,
    "assertions": lambda text: list(assertions(text)),
    "claims": claims.parse,
    "slot": slot_of,
    "requests": requests_of,
    "terms": terms,
    "window": lambda text: Window(text).render(),
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("reader", _READERS)
def test_a_run_of_anything_is_read_in_one_go(reader: str) -> None:
    for part in _PARTS:
        _READERS[reader](part * (200_000 // len(part)))
        _READERS[reader](f"The word is{part * (100_000 // len(part))}\0.")
