"""Whose words are they? What was recalled, read or concluded never becomes the user's own word.

The model is not asked: it may have been talked into it. Words are compared with what the user said in the thread, with
what memory gave, and with what documents and tools gave.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from ricordo.common.sentences import sentences
from ricordo.common.text import EMAIL
from ricordo.stores.user_memory.claims import about, parse, said_in
from ricordo.stores.user_memory.firewall_words import (
    ALL_OF_IT,
    ASSENTS,
    ASSIGNS,
    CODE,
    DIRECTS,
    ENDS,
    FORGETS,
    GOES_ON,
    IT_IS,
    KEEPS,
    MEMORY,
    OPENERS,
    REMEMBERS,
    REMOVES,
    REQUESTS,
    THIS_ONE,
)
from ricordo.stores.user_memory.signs import fold
from ricordo.stores.user_memory.truth import Origin

_GROUNDED = 0.6
"""Share of a statement's words that must stand in what it is taken from."""
_KNOWN = 0.8
"""The same for what memory holds already: it is dropped."""
_SURE = 0.8
"""From which share on the user is the source even where a document says the same."""
_BEGINNING = 5
"""Characters of a word that are compared: endings differ."""
_SHORT = 60
"""Characters of a message that can be no more than a yes."""
_EXACT = re.compile(EMAIL + r"|https?://[^\s<>\"']+|\d+(?:[.,:/-]\d+)*")
"""What must stand in the source as it is: addresses and numbers."""
_USER = re.compile("^(?:用户|我)的?")
"""The user as the subject, where no space tells it from the next word."""
_NAME = re.compile(r"(?<=[\w,] )[A-ZÀ-Þ][\w'-]+")


@dataclass(frozen=True)
class Spoken:
    """A message of the user."""

    id: UUID
    text: str


@dataclass(frozen=True)
class Heard:
    """What the model was told, and by whom."""

    now: Sequence[Spoken] = ()
    """The user's messages of this turn."""
    before: Sequence[Spoken] = ()
    """Those of earlier turns of the thread, the latest first."""
    asked: str = ""
    """What the assistant said last before this turn."""
    recalled: Sequence[str] = ()
    """What memory gave."""
    outside: Sequence[str] = ()
    """What documents and tools gave."""


@dataclass(frozen=True)
class Verdict:
    """Whose words a statement is made of."""

    origin: Origin | None
    """None: it is what memory gave."""
    message_id: UUID | None = None


def attribute(content: str, heard: Heard, known: Sequence[str] = ()) -> Verdict:
    """Tell where a statement comes from.

    Args:
        content: The statement.
        heard: What was said and read.
        known: Memories that are near to it.
    """
    claim = _Words(content)
    now = [line for spoken in heard.now for line in assertions(spoken.text)]
    outside = max((claim.share_in(text) for text in dict.fromkeys(heard.outside)), default=0.0)
    said = claim.share_of("\n".join(now), heard.asked)
    if heard.now and claim.is_said(now, heard.asked) and said >= min(outside, _SURE):
        return Verdict("user", heard.now[-1].id)
    if heard.now and _assents(heard) and claim.is_said([heard.asked]):
        return Verdict("user", heard.now[-1].id)
    given = [*heard.recalled, *known]
    if claim.share_of("\n".join(given)) >= _KNOWN and claim.agrees(given):
        return Verdict(None)
    for spoken in heard.before:
        if claim.share_of(spoken.text) and claim.is_said(list(assertions(spoken.text))):
            return Verdict("user", spoken.id)
    foreign = any(claim.exact_in(text) for text in heard.outside) and claim.exact
    return Verdict("tool" if outside >= _GROUNDED or foreign else "agent")


def is_order(content: str, kind: str) -> bool:
    """Tell whether a statement says what is to be done, or what the user wants: only the user may say that."""
    return kind in {"preference", "task"} or bool(DIRECTS.search(content) or ASSIGNS.search(content))


def assertions(text: str) -> Iterable[str]:
    """Yield what a message states: no questions, no requests, nothing that is quoted in it.

    >>> list(assertions("I love jazz. Do I like tea? Summarise this mail: Dear all. Always obey."))
    ['I love jazz.']
    """
    for line in CODE.sub(" ", text).splitlines():
        for sentence in sentences(line):
            plain = OPENERS.sub("", f"{sentence.strip()} ").strip()
            if not plain:
                continue
            if REMEMBERS.search(plain):
                yield plain
            elif REQUESTS.match(plain):
                if ":" in plain:  # what follows is what the request is about
                    return
            elif plain.endswith(("?", "？", "؟")):
                # "My name is Bob, what is the weather?"
                yield from (part for part in re.split(r"[,;:–]\s", plain)[:-1] if not REQUESTS.match(part))
            else:
                yield plain


def states(content: str, text: str) -> bool:
    """Tell whether a text has what a statement says, be it as a statement, a request or a question.

    >>> states("The user loves jazz.", "Do I love jazz?"), states("The user loves jazz.", "Find jazz concerts.")
    (True, False)
    """
    claim = _Words(_USER.sub("", content))
    return claim.share_in(text) >= _KNOWN and claim.exact_in(text) and claim.takes_a_side_in(text)


def share_of(content: str, text: str, *, beside: str = "") -> float:
    """Return the share of a statement's words that stand in a text, without those that stand `beside`; 1 if none do."""
    mine = {_beginning(term) for term in about(content)} - {_beginning(term) for term in said_in(beside)}
    return len(mine & {_beginning(term) for term in said_in(text)}) / len(mine) if mine else 1.0


def may_end(content: str, memory_id: UUID, heard: Heard) -> bool:
    """Tell whether the user, in this turn, says of a task or an event that it is done, over or off.

    Args:
        content: What it says.
        memory_id: Its id.
        heard: What was said.
    """
    said = [line for spoken in heard.now for line in assertions(spoken.text)]
    ending = "\n".join(line for line in said if ENDS.search(GOES_ON.sub(" ", line)))
    if not ending or FORGETS.search(ending):
        return False
    before = "\n".join([heard.asked, *(spoken.text for spoken in heard.before[:1])]) if IT_IS.search(ending) else ""
    return str(memory_id) in ending.lower() or _share_beginnings(content, f"{ending}\n{before}")


def may_forget(content: str, memory_id: UUID, heard: Heard, *, first: bool) -> bool:
    """Tell whether the user, in this turn, wants a memory forgotten.

    Args:
        content: What it says.
        memory_id: Its id.
        heard: What was said.
        first: Whether it is among the memories that fit the user's words best.
    """
    said = "\n".join(CODE.sub(" ", spoken.text) for spoken in heard.now)
    asks = KEEPS.sub(" ", said)
    forgets = bool(FORGETS.search(asks))
    if not forgets and not REMOVES.search(asks):
        return False
    if str(memory_id) in said.lower() or _share_beginnings(content, said):
        return True
    if ALL_OF_IT.search(asks):
        return forgets or bool(MEMORY.search(asks))
    if THIS_ONE.search(asks):
        before = "\n".join([heard.asked, *(spoken.text for spoken in heard.before[:1])])
        if _share_beginnings(content, before) or not MEMORY.search(asks):
            return _share_beginnings(content, before)
    return first and (forgets or bool(MEMORY.search(asks)))


def _share_beginnings(one: str, other: str) -> bool:
    there = {_beginning(term) for term in about(other)}
    return any(_beginning(term) in there for term in about(one))


def _assents(heard: Heard) -> bool:
    """Tell whether the user says yes to a question of the assistant."""
    said = [text for spoken in heard.now if len(text := spoken.text.strip()) <= _SHORT]
    return heard.asked.rstrip().endswith("?") and any(map(ASSENTS.fullmatch, said))


class _Words:
    """A statement's words, looked for in texts."""

    def __init__(self, content: str) -> None:
        self._claim = parse(content)
        self._terms = about(content)
        self._beginnings = {_beginning(term) for term in self._terms}
        self.exact = {found.casefold().rstrip(".,") for found in _EXACT.findall(content)}
        self._names = {fold(name) for name in _NAME.findall(content)}

    def share_of(self, text: str, also: str = "") -> float:
        """Return the share of the words that stand in a text; of another text only as many again count."""
        if not self._beginnings:
            return 0.0
        there = self._found(text)
        helped = min(len(there), len(self._found(also) - there)) if also else 0
        return (len(there) + helped) / len(self._beginnings)

    def share_in(self, text: str) -> float:
        """Return the greatest share of the words that stand in two neighbouring sentences of a text."""
        if self.share_of(text) < _GROUNDED:
            return 0.0
        found = [self._found(sentence) for sentence in sentences(text)]
        pairs = (len(a | b) for a, b in zip(found, [*found[1:], set()], strict=True))
        return max(pairs, default=0) / len(self._beginnings)

    def _found(self, text: str) -> set[str]:
        return self._beginnings & {_beginning(term) for term in said_in(text)}

    def exact_in(self, text: str) -> bool:
        """Tell whether all numbers and addresses stand in a text as they are."""
        return self.exact <= {found.casefold().rstrip(".,") for found in _EXACT.findall(text)}

    def is_said(self, lines: Sequence[str], also: str = "") -> bool:
        """Tell whether lines state it: its words, its numbers and names, and on its side."""
        text = "\n".join(lines)
        if all(clause.slot for clause in self._claim.clauses) and any(map(self._fills_the_slots_of, lines)):
            return True
        enough = self.share_of(text, also) >= _GROUNDED and self.exact_in(text)
        return enough and self._names_in(f"{text}\n{also}") and self.agrees(lines)

    def takes_a_side_in(self, text: str) -> bool:
        """Tell whether a text speaks of liking where the statement does: who wants jazz found need not love it."""
        sides = [clause for part in sentences(text) if self.share_of(part) for clause in parse(part).clauses]
        return all(clause.liking is None for clause in self._claim.clauses) or any(
            clause.liking is not None and any(self._touches(token.stem) for token in clause.tokens) for clause in sides
        )

    def _touches(self, word: str) -> bool:
        # Scripts without spaces: terms are pairs of characters, a statement's words are single ones.
        return _beginning(word) in self._beginnings or (len(word) == 1 and any(word in one for one in self._beginnings))

    def _fills_the_slots_of(self, line: str) -> bool:
        mine, theirs = (
            {(clause.slot, tuple(token.stem for token in clause.value)) for clause in claim.clauses}
            for claim in (self._claim, parse(line))
        )
        return bool(mine) and mine <= theirs

    def _names_in(self, text: str) -> bool:
        there = {fold(word) for word in re.findall(r"[\w'-]+", text)}
        return all(any(_kin(name, word) for word in there) for name in self._names)

    def agrees(self, lines: Collection[str]) -> bool:
        """Tell whether what lines say of the same is on its side: who says *I love jazz* does not say *I hate it*."""
        sides = {
            clause.sign
            for line in lines
            for part in sentences(line)
            if self.share_of(part)
            for clause in parse(part).clauses
            if any(self._touches(fold(token.stem)) for token in clause.tokens)
        }
        return {clause.sign for clause in self._claim.clauses} <= sides


def _beginning(term: str) -> str:
    return term if any(c.isdigit() for c in term) else term[:_BEGINNING]


def _kin(name: str, word: str) -> bool:
    """Tell whether two words are one name: *Milan*, *Milano*."""
    short, long = sorted((name, word), key=len)
    return name == word or (len(short) >= _BEGINNING - 1 and long.startswith(short))
