"""Finds named things in a turn's words by their form; no model is asked."""

import re
from collections.abc import Iterator

from stores.entity import Entity

_MOST = 12
_LONGEST_MENTION = 300  # characters
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_FORMS = [
    ("paper", re.compile(r"\b(?:arXiv:)?(\d{4}\.\d{4,5})(?:v\d+)?\b", re.IGNORECASE)),
    ("contact", re.compile(r"\b([\w.+-]+@[\w-]+(?:\.[\w-]+)+)\b")),
    ("work", re.compile(r"[\"“«]([^\"“”«»\n]{3,80})[\"”»]")),
    (
        "organisation",
        re.compile(r"\b((?:[A-Z][\w&.-]+ ){1,4}(?:Inc|Ltd|GmbH|LLC|Corp|University|Institute|Foundation|Labs?))\b"),
    ),
    ("name", re.compile(r"(?<![.!?\"“] )(?<!^)\b([A-Z][a-zà-ÿ]+(?: (?:di |de |von |van |of )?[A-Z][a-zà-ÿ]+){1,3})\b")),
    ("system", re.compile(r"\b([A-Z]+[a-z]+[A-Z]\w*|[A-Z]{2,}[a-z]*[-\d][\w-]*|[A-Z][a-z]+[A-Z]{2,}\w*)\b")),
]
"""From the most telling form to the least; what one has taken, no later one takes again."""


def entities_in(*texts: str) -> list[Entity]:
    """Return the named things of some texts in order of appearance, each with the sentence that names it first.

    Args:
        texts: The question and the answer.

    Returns:
        At most twelve entities, no two of one name.
    """
    found: dict[str, Entity] = {}
    for entity in (entity for text in texts for entity in _scan(text)):
        found.setdefault(entity.name.casefold(), entity)
        if len(found) == _MOST:  # a text may have thousands
            break
    return list(found.values())


def _scan(text: str) -> Iterator[Entity]:
    for sentence in _SENTENCE.split(text):
        taken: list[tuple[int, int]] = []
        for kind, form in _FORMS:
            for match in form.finditer(sentence):
                start, end = match.span(1)
                if any(start < b and a < end for a, b in taken):
                    continue
                taken.append((start, end))
                yield Entity(match[1], kind, _mention(sentence, start, end))


def _mention(sentence: str, start: int, end: int) -> str:
    """Return the sentence, or of a long one what stands around the name."""
    if len(sentence) <= _LONGEST_MENTION:
        return sentence.strip()
    room = (_LONGEST_MENTION - (end - start)) // 2
    return f"…{sentence[max(0, start - room) : end + room].strip()}…"
