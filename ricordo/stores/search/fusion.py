"""Scores: BM25 over units and their neighbours, and one ranking of meaning and words.

What each piece brings is measured in `docs/retrieval.md`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ricordo.common.words import K1, B

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_NEAR = (0.75, 0.5, 0.25)
"""What a word counts in the neighbours one, two and three places away, against 1 in the unit itself."""
_NEAR_LENGTH = 16
"""Terms of an average unit up to which that holds: the longer units are, the less they need their neighbours."""
_B_NEAR = 0.1
"""B where neighbours count: their words even the lengths out."""
_DENSE = 0.45
"""Weight of meaning against words. Between 0.4 and 0.5 it makes no difference that can be measured."""
_COVERED = 3.0
"""Words have their whole weight where the best unit covers a third of the query, in rarity."""

_LIKE, _COVERS, _STRANGE = 2.1, 4.8, 3.5
"""Of closeness, by logistic regression on related and unrelated pairs in six languages (`docs/retrieval.md`)."""


@dataclass(frozen=True)
class Posting:
    """Where one term of a query occurs among the units of a user."""

    places: Places
    """Ascending."""
    counts: NDArray[np.int32]
    lengths: NDArray[np.int32]


@dataclass(frozen=True)
class Words:
    """Units that hold terms of a query."""

    places: Places
    """Ascending; where neighbours count, some have no unit."""
    scores: Floats
    """BM25."""
    possible: float
    """What a unit would score that is about every term of the query."""

    def at(self, places: Places) -> Floats:
        """Return the scores at some places, 0 where no term occurs."""
        if not len(self.places):
            return np.zeros(len(places))
        index = np.minimum(np.searchsorted(self.places, places), len(self.places) - 1)
        return np.where(self.places[index] == places, self.scores[index], 0.0)

    def best(self, count: int) -> list[int]:
        """Return the places of the best scores, in no order."""
        if count >= len(self.places):
            return [int(place) for place in self.places]
        return [int(place) for place in self.places[np.argpartition(-self.scores, count)[:count]]]


def bm25(postings: Sequence[Posting], asked: int, units: int, mean_length: float, *, near: bool) -> Words:
    """Score all units that hold a term of the query.

    Args:
        postings: One for each term of the query that occurs at all.
        asked: Terms of the query.
        units: How many units the user has.
        mean_length: Terms of a unit, on average.
        near: Let a word of a neighbour count in part, so that an answer is found by the words of its question.
    """
    rarities = [_rarity(units, len(posting.places)) for posting in postings]
    possible = (sum(rarities) + (asked - len(postings)) * _rarity(units, 0)) * (K1 + 1)
    if not postings:
        return Words(np.empty(0, np.int64), np.empty(0), possible)
    shifts = [(0, 1.0)]
    if near:
        share = min(1.0, _NEAR_LENGTH / max(mean_length, 1))
        shifts += [(sign * away, share * weight) for away, weight in enumerate(_NEAR, 1) for sign in (-1, 1)]
    every = np.concatenate([posting.places + shift for posting in postings for shift, _ in shifts])
    every.sort(kind="stable")  # merges the sorted runs it is made of
    places = every[np.concatenate([[True], every[1:] != every[:-1]])]
    lengths = np.full(len(places), mean_length)
    counts = np.zeros((len(postings), len(places)))
    for row, posting in zip(counts, postings, strict=True):
        for shift, weight in shifts:
            at = np.searchsorted(places, posting.places + shift)
            row[at] += weight * posting.counts
            if shift == 0:
                lengths[at] = posting.lengths
    b = _B_NEAR if near else B
    norm = K1 * (1 - b + b * lengths / max(mean_length, 1))
    scores = np.zeros(len(places))
    for row, rarity in zip(counts, rarities, strict=True):
        scores += rarity * row * (K1 + 1) / (row + norm)
    return Words(places, scores, possible)


def _rarity(units: int, found: int) -> float:
    return math.log(1 + (max(units, found) - found + 0.5) / (found + 0.5))


def fuse(dense: Floats, lexical: Floats, possible: float) -> Floats:
    """Fuse the two scores of each candidate.

    Each half is divided by its best, so that neither model's scale matters. Words that cover little of the query
    weigh less; a candidate with no vector (not embedded yet) is judged by its words alone.

    Args:
        dense: Likeness above that of an average unit; NaN where there is no vector.
        lexical: BM25, 0 where no word matches.
        possible: The best score that `lexical` could have.

    Returns:
        Scores of 0 to 1.
    """
    meaning = _to_best(dense)
    if not lexical.any():
        return np.nan_to_num(meaning)
    words = _to_best(lexical) * min(1.0, _COVERED * float(lexical.max()) / possible)
    return np.where(np.isnan(meaning), words, _DENSE * meaning + (1 - _DENSE) * words)


def closeness(likeness: float | None, covered: float) -> float:
    """Return how close a unit is to a question, the same measure in every list.

    Args:
        likeness: In spreads of strangers (see `Background`); None where there is no vector.
        covered: Share of the question's words that the unit holds.

    Returns:
        0 to 1; 0.5 is where as many strangers are left out as `docs/retrieval.md` says.
    """
    if likeness is None:
        return covered
    return 1 / (1 + math.exp(-(_LIKE * likeness + _COVERS * covered - _STRANGE)))


def _to_best(scores: Floats) -> Floats:
    if np.isnan(scores).all():
        return scores
    low, high = np.nanmin(scores), np.nanmax(scores)
    if high > 0:
        return np.maximum(scores, 0) / high
    # All are below the average: the rest of a condition, or the only unit there is.
    return (scores - low) / (high - low) if high > low else np.where(np.isnan(scores), scores, 1.0)
