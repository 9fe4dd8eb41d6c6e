"""What a tool is found by: its fields as words and as texts to embed, enriched without a model."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ricordo.common.text import clean
from ricordo.common.words import is_function_word, terms
from ricordo.stores.toolbox.schema import bounded, words_of

_VERSION = 1
"""To be raised when something here changes what is indexed and `index_version` does not notice."""
_DEPTH = 3
_INDEXED = 2000
"""Characters of one field that are indexed: what a tool is for stands at its beginning."""
_OPTIONS = 20
"""Values of an enum that are indexed."""
_BEGINNING = 4
"""Letters of a word's beginning."""

_WEIGHTS = {"name": 3.0, "description": 2.0, "phrases": 1.0, "parameters": 1.0, "group": 1.0}
_WEIGHTS |= {"details": 0.5, "options": 0.5, "tags": 0.5}
"""How much a word counts in each field. Measured: see docs/toolbox.md."""

_KEPT_SMALL_WORDS = """
    above after again against all any at before below between both by down during each few for from further in into
    more most no not of off on once only or other out over same than through to under until up with"""
_SAID = frozenset(_KEPT_SMALL_WORDS.split())
"""Small words that mean something to a tool also in a request: *from* one *to* another, *off*, *all*."""

_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[。！？])")
_NEXT_REQUEST = re.compile(
    r"""(?:^|(?<=[.!?;:,"])|(?<!\s)[^\S\n]*+\n)\s*+(?:and\s+)?(?:first|firstly|second|secondly|third|thirdly|fourth|next|then|after\sthat
    |afterwards|also|additionally|furthermore|besides|finally|lastly|\d[.)])[,:]?\s|\band\s+(?:then|also)\s""",
    re.IGNORECASE | re.VERBOSE,
)
_REQUEST_WORDS, _MOST_REQUESTS = 3, 6
_NEXT_CLAUSE = re.compile(r",?\s(?:and|but|then|plus)\s", re.IGNORECASE)
_CLAUSE_WORDS = 4
"""Fewer are mostly what a clause is about (Berlin *and the old town*), not one."""


@dataclass(frozen=True)
class ToolText:
    """The parts of a tool that a search looks at."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """JSON schema of the arguments."""
    group: str = ""
    tags: Sequence[str] = ()
    phrases: Sequence[str] = ()
    """What a user would say, by its author or by a model."""

    def passages(self) -> tuple[str, str]:
        """Return the texts to embed: the whole tool, and the sentence that says what it does."""
        lines = [words_of(self.name), self.description[:_INDEXED]]
        lines += [f"{words_of(name)}: {text} {options}".rstrip() for name, text, options in _fields(self.parameters)]
        whole = "\n".join([*lines, *self.phrases])[:_INDEXED]
        sentences = (part.strip() for part in _SENTENCE.split(self.description[:_INDEXED]))
        return clean(whole), clean(next((part for part in sentences if part), words_of(self.name))[:300])

    def terms(self) -> dict[str, float]:
        """Return what `words` gives of all fields, each with its weight."""
        parts = list(_fields(self.parameters))
        fields = {
            "name": words_of(self.name),
            "description": self.description[:_INDEXED],
            "phrases": "\n".join(self.phrases)[:_INDEXED],
            "parameters": " ".join(words_of(name) for name, _, _ in parts),
            "details": "\n".join(text for _, text, _ in parts)[: 2 * _INDEXED],
            "options": " ".join(options for _, _, options in parts)[:_INDEXED],
            "group": words_of(self.group),
            "tags": " ".join(self.tags),
        }
        weighted: dict[str, float] = defaultdict(float)
        for name, text in fields.items():
            for term, count in words(text).items():
                weighted[term] += _WEIGHTS[name] * count
        return dict(weighted)


def words(text: str) -> Counter[str]:
    """Count the terms of a text, and the beginnings of all its words, marked by `~`.

    The beginnings join what stemming keeps apart (`multiply`, `multiplication`), and they keep the small words that
    terms leave out, which mean something to a tool: convert *from* one *to* another, turn *off*, list *all*.
    """
    return terms(text) + Counter(_beginnings(text))


def asked(text: str) -> Counter[str]:
    """Count what `words` gives of a request, without the small words that only make a sentence of it.

    *What can I do about my* is rare in descriptions, so that it would weigh much, and is in all that people say.
    """
    return terms(text) + Counter(_beginnings(text, lambda word: word in _SAID or not is_function_word(word)))


def _beginnings(text: str, counts: Callable[[str], bool] = bool) -> list[str]:
    found = _WORD.findall(words_of(unicodedata.normalize("NFKC", text)).casefold())
    return [f"~{word[:_BEGINNING]}" for word in found if counts(word)]


@cache
def index_version() -> str:
    """Return what stands for the way tools are indexed: when it changes, every tool is indexed anew."""
    sample = ToolText(
        "getUserName", "Cafés running 東京都. No.", {"properties": {"k": {"enum": ["x"]}}}, "g", ["t"], ["p"]
    )
    return f"{_VERSION} {sorted(sample.terms().items())} {sample.passages()}"


def requests_of(task: str) -> list[str]:
    """Split a task that counts out several requests (first … second … and then …); nothing if it does not.

    >>> requests_of("Find the users named Alice, and then mail them the result.")
    ['Find the users named Alice', 'and then mail them the result']
    """
    cuts = [match.start() for match in _NEXT_REQUEST.finditer(task)]
    parts = [task[a:b].strip(" ,.\"'\n") for a, b in zip([0, *cuts], [*cuts, len(task)], strict=True)]
    parts = [part for part in parts if len(part.split()) >= _REQUEST_WORDS]
    return parts[:_MOST_REQUESTS] if len(parts) > 1 else []


def clauses_of(task: str) -> list[str]:
    """Split a task of one sentence into its clauses, each of which may want a tool of its own; nothing if it has one.

    >>> clauses_of("Get me a flight to Rome, and find me a bed there.")
    ['Get me a flight to Rome', 'find me a bed there']
    """
    if sum(len(part.split()) > 1 for part in _SENTENCE.split(task)) > 1:
        return []
    parts = [part.strip(" ,.;\"'\n") for part in _NEXT_CLAUSE.split(task)]
    parts = [part for part in parts if len(part.split()) >= _CLAUSE_WORDS]
    return parts[:_MOST_REQUESTS] if len(parts) > 1 else []


def _fields(schema: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, str, str]]:
    """Yield name, description and options of each parameter, nested ones after their parent."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or depth > _DEPTH:
        return
    for name, part in properties.items():
        if isinstance(part, Mapping):
            enum = part.get("enum")
            options = " ".join(str(option) for option in enum[:_OPTIONS]) if isinstance(enum, list) else ""
            yield str(name), bounded(str(part.get("description") or "").strip(), _INDEXED), options
            items = part.get("items")
            yield from _fields(items if isinstance(items, Mapping) else part, depth + 1)
