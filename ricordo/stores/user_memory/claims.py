"""What a statement claims, taken apart without a model: its parts, whose side each takes, and what there is one of."""

import re
import threading
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import Stemmer

from ricordo.common.words import terms
from ricordo.stores.user_memory import claim_words as words
from ricordo.stores.user_memory.signs import even, fold, small, written
from ricordo.stores.user_memory.singles import NAMES_A_SECRET
from ricordo.stores.user_memory.slots import Slot, secret_of, slot_of

_GENERIC = frozenset({"music", "musica", "musik", "musique", "música"})
"""Beside another word it adds nothing: jazz is music."""
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_stemmers = threading.local()


@dataclass(frozen=True)
class Token:
    """A word or a sign as it is written, and its stem in the statement's language."""

    raw: str
    """In small letters, except where case tells it from others."""
    stem: str

    def like(self, other: "Token") -> bool:
        """Tell whether it is the same word, maybe in another form; one of another case or accent is not."""
        return self.raw == other.raw or (self.stem == other.stem and fold(self.raw) != fold(other.raw))

    def near(self, other: "Token") -> bool:
        """Tell whether it is the same word, whatever its form, case and accents."""
        return self.stem == other.stem or fold(self.raw) == fold(other.raw)


@dataclass(frozen=True)
class Clause:
    """One part of a statement."""

    tokens: tuple[Token, ...]
    """The words that say what it is about, in order."""
    liking: int | None = None
    """1: somebody likes it, -1: dislikes it, None: it is no matter of liking."""
    negated: bool = False
    slot: str | None = None
    value: tuple[Token, ...] = ()
    whole: bool = True
    """Nothing was added to it behind an `and`."""
    torn: bool = False
    """It says one thing and its opposite."""

    @property
    def sign(self) -> int:
        """1 where it is affirmed or liked, -1 where it is denied or disliked."""
        return (self.liking or 1) * (-1 if self.negated else 1)


@dataclass(frozen=True)
class Claim:
    """A statement taken apart."""

    clauses: tuple[Clause, ...]

    @property
    def slot(self) -> str | None:
        """The slot that the statement fills, where it does nothing else."""
        return self.clauses[0].slot if len(self.clauses) == 1 and self.clauses[0].whole else None


def alike(one: Sequence[Token], other: Sequence[Token], how: Callable[[Token, Token], bool] = Token.like) -> bool:
    """Tell whether two sequences have the same words and signs in the same order."""
    return len(one) == len(other) and all(how(a, b) for a, b in zip(one, other, strict=True))


def normal(text: str) -> str:
    """Return a statement without what makes no difference: case, width, space, the stop at its end.

    >>> normal("  The User loves  JAZZ. ")
    'the user loves jazz'
    >>> normal("The licence key is AB-12-cd.")
    'the licence key is AB-12-cd'
    """
    plain = even(text)
    return plain if secret_of(plain) else (plain if NAMES_A_SECRET.search(plain) else small(plain)).rstrip(" .!。！")


@lru_cache(maxsize=4096)
def parse(text: str) -> Claim:
    """Take a statement apart."""
    text = words.PREAMBLE.sub("", even(text), count=1)
    if secret := secret_of(text):
        return Claim((_literal(secret),))
    language = _language(text)
    clauses: list[Clause] = []
    for joint, part in _parts(text):
        clause = _clause(part, language, first=not clauses)
        if not clauses:
            clauses.append(clause)
        elif not clause.tokens:  # "and cannot stand it any more"
            if _takes_sides(clause) and clause.sign != clauses[-1].sign:
                clauses[-1] = replace(clauses[-1], torn=True)
        elif joint == "and" and not _takes_sides(clause) and clause.slot is None:
            tokens = (*clauses[-1].tokens, *clause.tokens)
            clauses[-1] = replace(clauses[-1], tokens=tokens, whole=False)
        else:
            clauses.append(clause)
    return Claim(tuple(clause for clause in clauses if clause.tokens or len(clauses) == 1))


def _takes_sides(clause: Clause) -> bool:
    return clause.liking is not None or clause.negated


def _parts(text: str) -> list[tuple[str, str]]:
    """Split a statement into its parts, each with how it is joined to the one before: `end`, `but` or `and`."""
    parts, joint, start = [], "end", 0
    for found in words.SPLIT.finditer(text):
        # `Rome, Italy` and `3 May, 2026` are one thing.
        if found[0] == "," and re.match(r",\s*(?:[A-ZÀ-Þ][\w-]*|\d{4})\s*[.!]?\s*$", text[found.start() :]):
            continue
        parts.append((joint, text[start : found.start()]))
        joint, start = str(found.lastgroup), found.end()
    parts.append((joint, text[start:]))
    return [(joint, part.strip()) for joint, part in parts if part.strip()]


def _clause(part: str, language: str, *, first: bool) -> Clause:
    text, dislikes = words.DISLIKES.subn(" ", _plain(part))
    text, likes = words.LIKES.subn(" ", text)
    text, negations = words.NEGATIONS.subn(" ", text)
    liking = -1 if dislikes else 1 if likes else None
    literal = bool(NAMES_A_SECRET.search(part))
    tokens = _tokens(text, language, first=first, liking=liking is not None, literal=literal)
    if secret := secret_of(part):
        return _literal(secret)
    slot = None if negations or liking is not None else slot_of(part)
    return Clause(
        tokens,
        liking,
        bool(negations),
        slot.key if slot else None,
        _value(slot.value, language) if slot else (),
        torn=bool(dislikes and likes),
    )


def _value(text: str, language: str) -> tuple[Token, ...]:
    # What is nothing but an article is none: `My blood type is A.`
    return _tokens(text, language, first=False, liking=False) or (Token(text, text),)


def _literal(secret: Slot) -> Clause:
    """Return what a key or a handle states, letter for letter."""
    value = (Token(secret.value, secret.value),)
    return Clause((Token(secret.key, secret.key), *value), slot=secret.key, value=value)


def _plain(text: str) -> str:
    """Write out contractions and leave out phrases that add nothing."""
    for pattern, plain in words.CONTRACTIONS:
        text = pattern.sub(plain, text)
    return words.FLUFF.sub(" ", text)


def _tokens(text: str, language: str, *, first: bool, liking: bool, literal: bool = False) -> tuple[Token, ...]:
    found = [replace(one, text=words.LEMMAS.get(one.text.lower(), one.text)) for one in written(text)]
    somebody = first and bool(found) and found[0].text.lower() in words.OTHERS
    head, rest = (found[:1], found[1:]) if somebody else ([], found)
    dropped = words.NOTHING | words.HELPERS if liking else words.NOTHING
    kept = [*head, *(one for one in rest if one.signed or one.text.lower() not in dropped)]
    plain = [one for one in kept if one.text.lower() not in _GENERIC] or kept
    return tuple(
        Token(one.text, one.text)
        if one.exact or literal
        else Token(one.text.casefold(), _stem(fold(one.text), language))
        for one in plain
    )


@lru_cache(maxsize=2**14)
def _stem(word: str, language: str) -> str:
    if not word.isalpha() or _CJK.match(word):
        return word
    known = _stemmers.__dict__
    if language not in known:  # a stemmer keeps a buffer and must not be shared between threads
        known[language] = Stemmer.Stemmer(language)
    return str(known[language].stemWord(word))


def _language(text: str) -> str:
    """Return the language whose function words are the most, English where there are none."""
    said = re.findall(r"[^\W\d_]+", text.lower())
    counts = {name: sum(word in known for word in said) for name, known in words.FUNCTION_WORDS.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] > counts["english"] else "english"


def said_in(text: str) -> frozenset[str]:
    """Return all terms of a text, spelt as `about` does it: what the terms of a statement are looked for in."""
    return frozenset(terms(words.SPELLING.sub(r"\1r", text.lower())))


def about(text: str) -> frozenset[str]:
    """Return the terms of what a text is about: without liking, denial, intensity, and the user.

    >>> sorted(about("The user can't stand loud jazz any more."))
    ['jazz', 'loud']
    """
    plain = _plain(unicodedata.normalize("NFKC", text).replace("\u2019", "'").lower())
    for pattern in (words.DISLIKES, words.LIKES, words.NEGATIONS):
        plain = pattern.sub(" ", plain)
    kept = (word for word in re.findall(r"\S+", plain) if word.strip(".,;:!?") not in words.NOTHING)
    return frozenset(terms(" ".join(kept)))
