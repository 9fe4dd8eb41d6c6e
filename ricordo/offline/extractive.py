"""Summaries without a model: the sentences that say most, word for word, in the shape that a model's summary has."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from pydantic import BaseModel, Field, field_validator

from ricordo.common.sentences import centrality, sentences, shortened
from ricordo.common.words import terms
from ricordo.models import tokens
from ricordo.offline.phrases import OWN_WORDS
from ricordo.stores.pages import fit

DESCRIPTION_CHARACTERS = 120
_LEAST_BUDGET = 20  # tokens; less holds no sentence
_LABELS_TOKENS = 14
_SHORTEST = 5  # tokens of a sentence
_READ_CHARACTERS = 160_000  # of the whole source; beyond that every message is read in slices from all over it
_LEAST_SHARE = 1_000  # characters of one message
_SLICES = 4
_WEIGHED = 500  # sentences that are compared with each other, the most promising of each message first
_NAMES = 12
_LABELS = {"facts": "Facts", "decisions": "Decisions", "open_items": "Open", "named_things": "Named"}


class StructuredSummary(BaseModel):
    """What a later turn needs of a part of a conversation."""

    description: str = Field(description="One line of at most 120 characters: what this part is about.")
    purpose: str = Field("", description="What the user wanted.")
    facts: list[str] = Field(default_factory=list, description="What was found out or told, with numbers and dates.")
    decisions: list[str] = Field(default_factory=list, description="What was decided or done.")
    open_items: list[str] = Field(default_factory=list, description="What is still to be done or answered.")
    named_things: list[str] = Field(default_factory=list, description="People, papers, systems, places, ids.")

    @field_validator("description")
    @classmethod
    def _one_line(cls, text: str) -> str:
        return shortened(" ".join(text.split()), DESCRIPTION_CHARACTERS)

    def render(self) -> str:
        """Return the summary as text; empty parts are left out, and of an empty summary the description stays."""
        labelled = any(getattr(self, name) for name in _LABELS)
        lines = [f"Purpose: {self.purpose}" if labelled else self.purpose] if self.purpose else []
        for name, label in _LABELS.items():
            if items := getattr(self, name):
                inline = name == "named_things"
                lines += [f"{label}: {', '.join(items)}"] if inline else [f"{label}:", *(f"- {item}" for item in items)]
        return "\n".join(lines) or self.description

    @classmethod
    def join(cls, parts: Sequence["StructuredSummary"]) -> "StructuredSummary":
        """Make one summary of those of the parts of a history, in their order; nothing is said twice."""

        def every(name: str) -> list[str]:
            return list(dict.fromkeys(item for part in parts for item in getattr(part, name)))

        purposes = list(dict.fromkeys(part.purpose for part in parts if part.purpose))
        return cls(
            description=_one_line_of([part.description for part in parts]),
            purpose=purposes[0] if purposes else "",
            facts=[*purposes[1:], *every("facts")],
            decisions=every("decisions"),
            open_items=every("open_items"),
            named_things=every("named_things"),
        )


@dataclass(eq=False)
class _Sentence:
    text: str
    message: int
    order: int
    said: str
    """Role of who said it."""
    score: float = 0.0


_QUESTION = re.compile(r"[?？؟]")
_DECIDED = re.compile(
    r"\b(decid\w+|agreed?|let's|we(?:'ll| will)|chosen?|choose|confirm\w*|approv\w+|saved|stored|booked|going with|"
    r"decis\w+|scelt\w+|d'accordo|confermat\w+|salvat\w+|approvat\w+)\b|决定|决議|決定|同意",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(todo|to do|need(?:s|ed)? to|must|still|later|pending|remind|remains?|next step|unclear|not yet|"
    r"da fare|bisogna|occorre|manca(?:no)?|ancora|più tardi|prossimo passo)\b|待办|还需要|まだ",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"https?://\S+[\w/]|\b\d{4}\.\d{4,5}(?:v\d+)?\b|(?<![\w.+-])[\w.+-]++@[\w-]+\.\w[\w.]*"
    r"|\b(?=\w*[a-z])[A-Za-z]\w*[A-Z]\w*\b|(?<=[\w,;:)] )[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*",
)
_PROSE = re.compile(r"(?:[^\W\d_]|\s){15,}")
_SIGNS = (
    (_PROSE, 0.4),
    (_DECIDED, 0.2),
    (_OPEN, 0.15),
    (re.compile(r"\d"), 0.15),
    (re.compile(r"\s[A-Z]\w"), 0.1),
    (_QUESTION, 0.1),
)
"""What makes a sentence worth keeping, and how much; seen without knowing the others."""
_BY_USER = 0.3
_SHARED = 0.6
_LEAST_SCORE = 0.3


def summarise(messages: Sequence[tuple[str, str]], budget_tokens: int) -> StructuredSummary:
    """Summarise messages by their own sentences.

    Every sentence is word for word from its message; one that is cut ends with an ellipsis. Each message of the user
    has its place as far as the budget goes, the first and the last before those between them; the rest goes to what
    the messages have in common, to decisions, open ends and numbers, from all over the source.

    Args:
        messages: Role and text of each message, oldest first.
        budget_tokens: Most tokens of the rendered summary; below 20 counts as 20.

    Returns:
        The same summary for the same input; never an empty one.
    """
    found = _read(messages)
    if not found:
        return StructuredSummary(description="messages without text")
    promising = _weigh(found)
    best = [max(group, key=lambda s: s.score) for group in _by_message(found)]
    asked = [s for s in best if s.said != "assistant"] or best
    budget = max(_LEAST_BUDGET, budget_tokens)
    chosen: list[_Sentence] = []
    room = budget - _LABELS_TOKENS
    share = max(_LEAST_BUDGET - 4, room // min(4, len(asked)))
    must = set(asked)
    for sentence in _ranked(asked, found):
        if room < _SHORTEST and chosen:
            break
        cost = tokens.count(sentence.text) + 3
        if sentence in must and cost > share:
            sentence.text = _cut_to(sentence.text, share - 3)
            cost = share
        if cost <= room or not chosen:
            chosen.append(sentence)
            room -= cost
    made = _laid_out(sorted(chosen, key=lambda s: s.order), asked, len(messages) - 1)
    made.named_things = [name for name in _names(promising) if (room := room - tokens.count(name) - 2) >= 0]
    while tokens.count(made.render()) > budget and _drop_one(made):
        pass
    return made


def _read(messages: Sequence[tuple[str, str]]) -> list[_Sentence]:
    share = max(_LEAST_SHARE, _READ_CHARACTERS // max(1, len(messages)))
    found: list[_Sentence] = []
    for number, (role, text) in enumerate(messages):
        every = [shortened(s) for piece in _sampled(text, share) for s in sentences(piece) if s not in OWN_WORDS]
        spoken = [s for s in dict.fromkeys(every) if any(map(str.isalnum, s))] or every[:1]
        found += [_Sentence(s, number, len(found) + i, role) for i, s in enumerate(spoken)]
    return found


def _sampled(text: str, limit: int) -> Iterator[str]:
    if len(text) <= limit:
        yield text
        return
    size, step = limit // _SLICES, (len(text) - limit // _SLICES) / (_SLICES - 1)
    for i in range(_SLICES):
        piece = text[int(i * step) : int(i * step) + size]
        # A slice begins and ends anywhere: half words at its ends are not the author's.
        yield piece if not i else piece.partition(" ")[2] or piece


def _weigh(found: list[_Sentence]) -> list[_Sentence]:
    """Score sentences: by cheap signs all of them, by what they share the most promising, which are returned."""
    said = Counter(s.text for s in found)
    for sentence in found:
        if sentence.said == "assistant" and said[sentence.text] > 1:
            continue  # a standing phrase
        sentence.score = sum(weight for sign, weight in _SIGNS if sign.search(sentence.text))
        sentence.score += _BY_USER * (sentence.said == "user")
    groups = [sorted(group, key=lambda s: -s.score) for group in _by_message(s for s in found if s.score > 0)]
    promising = _rounds(groups)[:_WEIGHED]
    for sentence, shared in zip(promising, centrality([terms(s.text) for s in promising]), strict=True):
        sentence.score += _SHARED * shared
    return promising


def _by_message(found: Iterable[_Sentence]) -> list[list[_Sentence]]:
    groups: dict[int, list[_Sentence]] = {}
    for sentence in found:
        groups.setdefault(sentence.message, []).append(sentence)
    return list(groups.values())


def _rounds(groups: Iterable[list[_Sentence]]) -> list[_Sentence]:
    """Take the first of every group, then the second of every group, and so on."""
    return [s for layer in zip_longest(*groups) for s in layer if s is not None]


def _ranked(asked: list[_Sentence], found: list[_Sentence]) -> list[_Sentence]:
    """Order sentences by what must not be missed: the requests from both ends inwards, then the best of every part."""
    order = [asked[i] for i in _spread(len(asked))]
    parts: list[list[_Sentence]] = [[], [], []]
    for sentence in sorted((s for s in found if s.score >= _LEAST_SCORE), key=lambda s: -s.score):
        parts[min(2, 3 * sentence.message // (found[-1].message + 1))].append(sentence)
    said: set[str] = set()
    unique = []
    for sentence in [*order, *_rounds(parts)]:
        if (folded := sentence.text.casefold()) not in said:
            said.add(folded)
            unique.append(sentence)
    return unique


def _spread(count: int) -> list[int]:
    """Order places so that every beginning of the order lies evenly over all: first, last, middle, quarters...

    >>> _spread(5)
    [0, 4, 2, 1, 3]
    """
    order, spans = list(dict.fromkeys([0, count - 1])) if count else [], [(0, count - 1)]
    for low, high in spans:
        if high - low > 1:
            middle = (low + high) // 2
            order.append(middle)
            spans += [(low, middle), (middle, high)]
    return order


def _cut_to(text: str, budget: int) -> str:
    return f"{text[: fit(text, budget, tokens.count)].rstrip(' …')} …"


def _laid_out(chosen: list[_Sentence], asked: list[_Sentence], last: int) -> StructuredSummary:
    first = next((s for s in chosen if s.said == "user"), chosen[0])
    made = StructuredSummary(description=_one_line_of([s.text for s in asked]), purpose=first.text)
    for sentence in chosen:
        told = not _QUESTION.search(sentence.text)
        if sentence is first:
            continue
        if (sentence.said == "user" and sentence.message == last) or (told and _OPEN.search(sentence.text)):
            made.open_items.append(sentence.text)
        elif told and _DECIDED.search(sentence.text):
            made.decisions.append(sentence.text)
        else:
            made.facts.append(sentence.text)
    return made


def _names(found: list[_Sentence]) -> list[str]:
    counted = Counter(shortened(name, 60) for s in found for name in _NAMED.findall(s.text))
    return [name for name, _ in sorted(counted.items(), key=lambda item: -item[1])[:_NAMES]]


def _one_line_of(texts: Sequence[str]) -> str:
    """Tell in one line what all of the texts are about: the first, the last, and of the others what fits."""
    unique = list(dict.fromkeys(" ".join(text.split()) for text in texts))
    room = DESCRIPTION_CHARACTERS // min(2, len(unique)) - 3 * (len(unique) > 1) if unique else 0
    kept: dict[int, str] = {}
    for i in _spread(len(unique)):
        short = shortened(unique[i], room)
        if sum(len(text) + 3 for text in kept.values()) + len(short) <= DESCRIPTION_CHARACTERS:
            kept[i] = short
    return " · ".join(kept[i] for i in sorted(kept))


def _drop_one(made: StructuredSummary) -> bool:
    """Take the least needed item off; False when only the purpose is left."""
    for name in ("named_things", "facts", "open_items", "decisions"):
        if items := getattr(made, name):
            items.pop(len(items) // 2)
            return True
    return False
