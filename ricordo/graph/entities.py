"""Finds named things in a turn's words by their form; no model is asked.

Two names are taken for one thing only where somebody says so: `MemGPT (Memory GPT)`, where one shortens the other, or
by a word such as `aka` or `detto`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ricordo.common.prose import prose
from ricordo.stores.entity import Entity, name_key
from ricordo.stores.user_memory.firewall import assertions, share_of

MOST = 12
"""Entities of one turn."""
_LONGEST_MENTION = 300  # characters
_REPEATED = 0.6
"""Share of a sentence's words that stand in what was shown: it says that again."""
_PART = re.compile(r"\w+")
_FEWEST_CAPITALS = 2  # of a word that stands for several
_SENTENCE = re.compile(r"(?<=[.!?。！？])(?<!\ba\.k\.a\.)\s+|\n+")
_CAPITAL = "[A-ZÀ-ÖØ-Þ]"
_WORD = rf"{_CAPITAL}[\w&.’'-]{{0,40}}\w"
_NAME = rf"{_WORD}(?: (?:(?:of|the|for|and|di|del|della|de|la|von|van) )?{_WORD}){{0,4}}"
_ARTICLES = r"(?:The|An?|Il|Lo|La|Gli|Le|Una?|D(?:er|ie|as)|El|L[ao]s|Les?) "
_CUES = "|".join(
    [
        *("aka", r"a\.k\.a\.", "also known as", "better known as", "also called", "nicknamed", "alias"),
        *("is short for", "short for", "stands for"),
        *("detto", "detta", "anche noto come", "anche nota come", "noto come", "nota come", "soprannominato"),
        *("soprannominata", "sta per", "genannt", "auch bekannt als", "steht für", "dit", "dite", "aussi connu comme"),
        *("aussi connue comme", "alias", "también conocido como", "también conocida como", "conocido como"),
        "conocida como",
    ]
)
_ALIAS = re.compile(
    rf"\b(?:{_ARTICLES})?(?P<name>{_NAME})[\"”»]?"
    rf"(?:,? \(?(?P<cue>{_CUES}) [\"“«]?(?P<said>{_NAME})| \((?P<bracket>{_NAME})\))"
)
_FORMS = [
    ("paper", re.compile(r"\b(?:arXiv:)?(\d{4}\.\d{4,5})(?:v\d+)?\b", re.IGNORECASE)),
    ("contact", re.compile(r"(?<![\w.+-])[.+-]*+(\w[\w.+-]*+@[\w-]+(?:\.[\w-]+)+)\b")),
    ("work", re.compile(r"[\"“«]([^\"“”«»\n]{3,80})[\"”»]")),
    (
        "organisation",
        re.compile(
            r"\b((?:[A-Z][\w&.-]{1,60} ){1,4}(?:Inc|Ltd|GmbH|LLC|Corp|University|Institute|Foundation|Labs?))\b"
        ),
    ),
    ("name", re.compile(r"(?<![.!?\"“] )(?<!^)\b([A-Z][a-zà-ÿ]+(?: (?:di |de |von |van |of )?[A-Z][a-zà-ÿ]+){1,3})\b")),
    ("system", re.compile(r"\b([A-Z]+[a-z]+[A-Z]\w*|[A-Z]{2,}[a-z]*[-\d][\w-]*|[A-Z][a-z]+[A-Z]{2,}\w*)\b")),
]
"""From the most telling form to the least; what one has taken, no later one takes again."""


def entities_in(*texts: str) -> list[Entity]:
    """Return the named things of some texts in order of appearance, each with the sentence that names it first.

    Args:
        texts: The question, and the answer.

    Returns:
        At most twelve entities, no two of one name.
    """
    found: dict[str, Entity] = {}
    for number, text in enumerate(texts):
        for entity in _scan(prose(text)):
            key = name_key(entity.name)
            if known := found.get(key):
                found[key] = replace(known, aliases=tuple(dict.fromkeys([*known.aliases, *entity.aliases])))
            else:
                found[key] = replace(entity, answered=number > 0)
    return list(found.values())[:MOST]


def told_anew(entities: Iterable[Entity], shown: Iterable[str]) -> list[Entity]:
    """Leave out what says nothing new of a name that memory has put before the model.

    That is a question about it, and what repeats in the main what was shown.

    Args:
        entities: What a turn speaks of.
        shown: The passages of its window, and what its tools brought out of memory.
    """
    keys = [(text, f" {_spaced(text)} ") for text in shown]

    def is_known(entity: Entity) -> bool:
        texts = [text for text, words in keys if f" {_spaced(entity.name)} " in words]
        if not texts:
            return False
        asks = not entity.answered and not any(assertions(entity.mention))
        return asks or any(share_of(entity.mention, text, beside=entity.name) >= _REPEATED for text in texts)

    return [entity for entity in entities if not is_known(entity)]


def _spaced(text: str) -> str:
    return " ".join(_PART.findall(name_key(text)))


def mention_of(name: str, text: str) -> str | None:
    """Return the first sentence of a text that holds a name, or of a long one what stands around it."""
    form = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
    for sentence in _SENTENCE.split(text):
        if match := form.search(sentence):
            return _around(sentence, *match.span())
    return None


def _scan(text: str) -> Iterator[Entity]:
    for sentence in _SENTENCE.split(text):
        taken = bytearray(len(sentence))  # which characters belong to a name already
        aliases = list(_introduced(sentence))
        for match, other in aliases:
            for start, end in (match.span("name"), match.span(other)):
                taken[start:end] = b"\1" * (end - start)
            name = match["name"]
            yield Entity(name, _kind(name), _around(sentence, *match.span()), (match[other],))
        for kind, form in _FORMS:
            for match in form.finditer(sentence):
                start, end = match.span(1)
                if any(taken[start:end]):
                    continue
                taken[start:end] = b"\1" * (end - start)
                yield Entity(match[1], kind, _around(sentence, start, end))


def _introduced(sentence: str) -> Iterator[tuple[re.Match[str], str]]:
    """Find where a second name is given to something; yield the match and the group of that name."""
    for match in _ALIAS.finditer(sentence):
        other = "said" if match["cue"] else "bracket"
        if name_key(match["name"]) == name_key(match[other]):
            continue
        if match["cue"] or _shortens(match["name"], match[other]) or _shortens(match[other], match["name"]):
            yield match, other


def _shortens(short: str, long: str) -> bool:
    """Tell whether a name is made of letters of a longer one: its initials, or more of it (`MemGPT`, `Memory GPT`).

    What stands in brackets is often a place or a year: `Anna Rossi (Milan)`.
    """
    letters = [c for c in name_key(short) if c.isalnum()]
    capitals = sum(c.isupper() for c in short)
    of = [c for c in name_key(long) if c.isalnum()]
    if " " in short or capitals < _FEWEST_CAPITALS or len(letters) >= len(of) or letters[0] != of[0]:
        return False
    rest = iter(of)
    return all(letter in rest for letter in letters)


def _kind(name: str) -> str:
    """Tell the type of a name by its form alone."""
    return next((kind for kind, form in _FORMS if (match := form.search(f"x {name}")) and match[1] == name), "name")


def _around(sentence: str, start: int, end: int) -> str:
    """Return the sentence, or of a long one what stands around a span."""
    if len(sentence) <= _LONGEST_MENTION:
        return sentence.strip()
    room = max(0, _LONGEST_MENTION - (end - start)) // 2
    return f"…{sentence[max(0, start - room) : end + room].strip()}…"
