"""What people paste may be a megabyte of anything: no rule looks at every pair of places in it.

The limit tells an end from a hang. At this size, what takes a second here took minutes to hours where a pattern tried
every place of a long run and went to its end from each.
"""

from collections.abc import Callable
from uuid import UUID

import pytest
from langchain_core.messages import HumanMessage

from ricordo.common.secrets import without_secrets
from ricordo.common.sentences import sentences
from ricordo.common.words import terms
from ricordo.graph.entities import entities_in
from ricordo.graph.window import Window
from ricordo.models.thinking import spoken
from ricordo.models.written_calls import WrittenCalls
from ricordo.offline.request import Request
from ricordo.offline.seen import read_prompt
from ricordo.readers.lines import Words, paragraph
from ricordo.readers.text import read_markdown
from ricordo.stores.passages import Passage
from ricordo.stores.toolbox.text import requests_of
from ricordo.stores.user_memory import claims
from ricordo.stores.user_memory.firewall import Heard, Spoken, assertions, may_end
from ricordo.stores.user_memory.slots import slot_of

_PARTS = [
    *("\n", " ", " \n", ".", "?", "…", "(", '"', "```", "> a\n", "A", "Aa ", "A. ", "A-", "A&", "a.", "a@", "a@a."),
    *(
        "1.",
        "_a",
        "记忆",
        "Aa (",
        "Aa aka ",
        "and then ",
        "since ",
        "http://a/",
        "“",
        "«",
        "'",
        "ne ",
        "on ",
        "# ",
        "id=",
        "<think>",
        "</think>",
        "<tool_call>",
        "<function=a>",
    ),
]
_READERS: dict[str, Callable[[str], object]] = {
    "entities": entities_in,
    "secrets": without_secrets,
    "lines": lambda text: paragraph(text, Words([text])),
    "endings": lambda text: may_end("Pay the rent.", UUID(int=1), Heard(now=[Spoken(UUID(int=2), text)])),
    "sentences": sentences,
    "assertions": lambda text: list(assertions(text)),
    "claims": claims.parse,
    "slot": slot_of,
    "requests": requests_of,
    "terms": terms,
    "window": lambda text: Window(text).render(),
    "request": lambda text: (
        Request(text).object,
        Request(text).is_named,
        Request(text).has_topic,
        Request(text).numbers,
    ),
    "prompt": lambda text: read_prompt([HumanMessage(Window(text).with_passages("Entity", (_told(text),)).render())]),
    "markdown": lambda text: read_markdown(f"---\ntitle: {text} x\n---\n# a{text}b\nword".encode(), "a.md"),
    "about": claims.about,
    "reply": lambda text: (spoken(text), WrittenCalls(["find"]).split(text)),
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("reader", _READERS)
def test_a_run_of_anything_is_read_in_one_go(reader: str) -> None:
    for part in _PARTS:
        _READERS[reader](part * (100_000 // len(part)))
        _READERS[reader](f"The word is{part * (50_000 // len(part))}\0.")


def _told(text: str) -> Passage:
    return Passage("1", f"id=1 title={text}x", text)
