"""A request taken apart: its words, what it quotes, and the object that is left when the asking is taken away."""

import math
import re
from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from ricordo.common.words import terms, topical
from ricordo.offline.intent import stem
from ricordo.offline.phrases import (
    ARTICLES,
    COURTESY,
    FUNCTION,
    INTENT,
    KINDS,
    MODAL,
    NAMING,
    NUMBERS,
    ORDINALS,
    PLACES,
    QUESTIONS,
    TELLING,
    THAT,
    TOPIC,
    WHERE,
)

_WORD = re.compile(r"[^\W_]+")
_QUOTED = re.compile(
    r"\"([^\"]+)\"|“([^“”]{2,})”|«([^«»]{2,})»|「([^「」]{2,})」|`([^`]{2,})`|(?<!\w)'([^']{3,})'(?!\w)"
)
_TELLS = re.compile(r"^[A-Z]\w|\d|(?<=\w)[A-Z]")
_CLAUSE = frozenset(["i", "my", "our", "we", "io", "mio", "mia", "miei", "mie", "nostro"])
_PERSONAL = _CLAUSE | {"mine", "nostra", "mon", "mein", "meine"}
_OWN = frozenset(["my", "mine", "mio", "mia", "miei", "mie", "mon", "mein", "meine"])
_NO_TOPIC = FUNCTION | KINDS | QUESTIONS | ORDINALS.keys() | {"one", "page", "list", "above", "below"}
_NUMBER = re.compile(r"(?:(?<!\S)[-−])?(?<![\w.,])\d++(?:[.,]\d++)*+(?=[^\W\d_]{0,3}\b)")  # noqa: RUF001 - the sign of minus
_THOUSANDS = 3  # figures in a group
_PLEASE = frozenset(["please", "thanks", "grazie"])
_SPOKEN_TO = frozenset(["me", "us", "mi", "ci", "moi", "mir", "lo"])
_INTENT_STEMS = frozenset(map(stem, INTENT))
_ENDS = " \t\n.,;:?!？。！،؟"
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_FOREIGN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:-]*(?: [A-Za-z0-9.:-]+)*")


def _read_number(text: str) -> float | None:
    """Read a number with its signs for thousands and for the fraction; nothing if it is a date, an address or an id.

    >>> _read_number("1,200.5"), _read_number("17,5"), _read_number("1,200"), _read_number("1,2,3")
    (1200.5, 17.5, 1200.0, None)
    """
    text = text.replace("−", "-")  # noqa: RUF001 - the sign of minus
    first, *groups = re.split(r"[.,]", text)
    signs = re.findall(r"[.,]", text)
    leads = 1 <= len(first.strip("-")) <= _THOUSANDS and first.strip("-")[0] != "0"
    if len(signs) == 1 and (signs == ["."] or not (leads and len(groups[0]) == _THOUSANDS)):
        fraction = groups.pop()
        if signs == ["."] and len(first) == 4 and len(fraction) in {4, 5}:  # noqa: PLR2004 - the id of a paper
            return None
    elif len(set(signs)) > 1 and signs[-1] not in signs[:-1]:
        fraction = groups.pop()
    else:
        fraction = "0"
    if groups and not (
        leads and all(len(group) == _THOUSANDS for group in groups) and len(set(signs[: len(groups)])) == 1
    ):
        return None
    value = float(f"{first}{''.join(groups)}.{fraction}")
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class Word:
    """A word with its place in the request."""

    text: str
    start: int
    end: int

    @property
    def low(self) -> str:
        """The word in small letters."""
        return self.text.casefold()


class Request:
    """What the user says, seen by a tool whose own words explain some of it."""

    def __init__(self, text: str, explained: Collection[str] = ()) -> None:
        self.text = text.strip()
        self._explained = _INTENT_STEMS | {stem(word) for word in explained if word not in FUNCTION}

    @cached_property
    def words(self) -> list[Word]:
        """All words, in order."""
        return [Word(m[0], m.start(), m.end()) for m in _WORD.finditer(self.text)]

    @cached_property
    def quoted(self) -> list[str]:
        """What stands between quotation marks."""
        return [next(filter(None, m.groups())).strip() for m in _QUOTED.finditer(self.text)]

    @cached_property
    def ordinal(self) -> int | None:
        """The place in a list that the request names, counted from 0; -1 is the last."""
        said = [word.low for word in self.words]
        if said[-1:] == ["prima"] and said[-2:-1] != ["per"]:
            return -1  # Italian for before
        return next((ORDINALS[word] for word in said if word in ORDINALS), None)

    @cached_property
    def object(self) -> str:
        """What is asked for: the quotation, or what stays when verb, articles, courtesy and places are taken off."""
        if self.quoted:
            return self.quoted[0]
        if _CJK.search(self.text):
            return max(_FOREIGN_NAME.findall(self.text), key=len, default="") or self.text.strip(_ENDS)
        first = self._begin()
        last = self._end(first)
        if last <= first:
            return ""
        end = self.words[last - 1].end if last < len(self.words) else len(self.text)
        return self.text[self.words[first].start : end].strip(_ENDS)

    @cached_property
    def is_named(self) -> bool:
        """Whether the object is a name: quoted, or with a capital or a digit of its own."""
        begins = self.text.find(self.object) == 0
        telling = [word for word in re.findall(r"\w+", self.object) if _TELLS.search(word)]
        return bool(self.quoted) or len(telling) > begins

    @cached_property
    def has_topic(self) -> bool:
        """Whether the object is told apart from its kind by its topic: *the paper on transformers*."""
        places = (i for i, word in enumerate(self.words) if word.low in TOPIC and not self._is_place(i + 1))
        after = self.words[next(places, len(self.words)) + 1 :]
        topic = next((word for word in after if word.low not in ARTICLES), None)
        return topic is not None and topic.low not in _NO_TOPIC and not self._explains(topic)

    @cached_property
    def numbers(self) -> dict[int, float]:
        """Numbers, in figures or written out, by the place of their (last) word."""
        found = {i: float(NUMBERS[word.low]) for i, word in enumerate(self.words) if word.low in NUMBERS}
        numbers = [(m.end(), value) for m in _NUMBER.finditer(self.text) if (value := _read_number(m[0])) is not None]
        ends = [word.end for word in self.words]
        return found | {bisect_left(ends, end): value for end, value in numbers}

    @cached_property
    def is_personal(self) -> bool:
        """Whether it speaks of the user."""
        return "我" in self.text or any(word.low in _PERSONAL for word in self.words)

    @cached_property
    def is_own(self) -> bool:
        """Whether it speaks of what is the user's own."""
        return "我的" in self.text or any(word.low in _OWN for word in self.words)

    @cached_property
    def says_topic(self) -> bool:
        """Whether it says what it is about: *What do you know about me?* does not."""
        return bool(topical(terms(self.text)))

    @cached_property
    def is_question(self) -> bool:
        """Whether it asks for an answer by a question word, so that all of it is what is looked for."""
        return bool(self.words) and self.words[0].low in QUESTIONS

    @cached_property
    def asks_something(self) -> bool:
        """Whether it is a question or an order, and no statement."""
        first = self.words[0].low if self.words else ""
        orders = first in INTENT | QUESTIONS | MODAL and first not in TELLING
        return orders or self.text.endswith(("?", "？", "؟"))

    def counts_things(self, i: int) -> bool:
        """Tell whether the number at a place counts what is asked for: *three papers*, *top 5*."""
        before, after = self.words[max(0, i - 1) : i], self.words[i + 1 : i + 2]
        return any(w.low in {"top", "first", "primi", "prime"} for w in before) or any(map(self._explains, after))

    def _explains(self, word: Word) -> bool:
        return stem(word.text) in self._explained

    def _asks(self, i: int) -> bool:
        """Tell whether a word is part of the asking, and not of what is asked for."""
        word = self.words[i]
        if word.low in FUNCTION or word.low in ORDINALS:
            return not (word.start and word.text[0].isupper() and len(word.text) > 1)
        if word.text.isdigit():
            return i + 1 < len(self.words) and self._explains(self.words[i + 1])
        return self._explains(word)

    def _begin(self) -> int:
        """Return the place of the object's first word."""
        run, spoken = 0, -1
        while run < len(self.words) and self._asks(run):
            word = self.words[run]
            if spoken >= 0 and word.low in THAT and self._is_clause(run):
                return run + 1
            if spoken >= 0 and word.low in TOPIC and not self._is_place(run + 1):
                return run + 1 + (run + 1 < len(self.words) and self.words[run + 1].low in ARTICLES)
            if self._explains(word) and word.low not in FUNCTION:
                spoken = run
            run += 1
        at = spoken + 1
        if self._is_clause(at):
            return at + (self.words[at].low in THAT)
        if run == len(self.words):
            return run
        return self._past_links(self._kind(run) or (at if spoken >= 0 else run))

    def _kind(self, run: int) -> int:
        """Return the place behind a word for the kind of thing (the paper ...) whose name follows it; else 0."""
        for i in range(run, len(self.words) - 1):
            if self.words[i].low in KINDS:
                return i + 1
            if self.words[i].start and self.words[i].text[0].isupper():
                break
        return 0

    def _past_links(self, at: int) -> int:
        """Skip the words that link a verb or a noun to its object."""
        while at < len(self.words) and self.words[at].low in ARTICLES | NAMING and not self._after_colon(at):
            if self.words[at].start and self.words[at].text[0].isupper():
                break
            at += 1
            if self.words[at - 1].low in THAT and (at == len(self.words) or self.words[at].low not in NAMING):
                break
        return at

    def _after_colon(self, i: int) -> bool:
        return ":" in self.text[self.words[i - 1].end : self.words[i].start]

    def _is_place(self, i: int) -> bool:
        after = [word.low for word in self.words[i : i + 2]]
        return any(word in PLACES for word in after) or not after

    def _is_clause(self, i: int) -> bool:
        """Tell whether a sentence of the user's begins here: *remember* that I like jazz."""
        rest = [word.low for word in self.words[i : i + 2]]
        return bool(rest) and (rest[0] in _CLAUSE or (rest[0] in THAT and rest[-1] in _CLAUSE))

    def _end(self, first: int) -> int:
        """Return the place behind the object's last word: courtesy, where to look, and the word for its kind go."""
        end = len(self.words)
        told = self._is_clause(first) or (first > 0 and self.words[first - 1].low in THAT - NAMING)
        while end > first:
            last = self.words[end - 1]
            if told:  # a sentence of the user's, which stays whole
                if last.low not in _PLEASE:
                    break
                end -= 1
            elif last.low in COURTESY and (self.words[end - 2].low not in ARTICLES or last.low not in _SPOKEN_TO):
                end -= 1
            elif last.low in COURTESY:
                end -= 2
            elif (start := self._place_before(first, end)) < end:
                end = start
            elif last.low in KINDS and end - 1 > first:
                end -= 1
            else:
                break
        return end

    def _place_before(self, first: int, end: int) -> int:
        """Return where a closing place begins (on arXiv, in the knowledge base), or `end`."""
        at = end
        while at - 1 > first and self._explains(self.words[at - 1]):
            at -= 1
        if at == end:
            return end
        while at - 1 > first and self.words[at - 1].low in FUNCTION:
            at -= 1
            if self.words[at].low in WHERE:
                return at
        return end
