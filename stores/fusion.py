"""Scores: BM25 over units and their neighbours, and one ranking of meaning and words.

What each piece brings is measured in `docs/retrieval.md`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stores.lexical import K1, B

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

NEAR = (1.0, 0.75, 0.5, 0.25)
"""What a word counts in the unit itself, and in the neighbours one, two and three places away."""
_B_NEAR = 0.1
"""B where neighbours count: their words even the lengths out."""
_DENSE = 0.45
"""Weight of meaning against words. Between 0.4 and 0.5 it makes no difference that can be measured."""


@dataclass(frozen=True)
class Posting:
    """Where one term of a query occurs among the units of a user."""

    places: Places
    """Ascending."""
    counts: NDArray[np.int32]
    lengths: NDArray[np.int32]


def bm25(postings: Sequence[Posting], units: int, mean_length: float, *, near: bool) -> tuple[Places, Floats]:
    """Score all units that hold a term of the query.

    Args:
        postings: One for each term of the query that occurs at all.
        units: How many units the user has.
        mean_length: Terms of a unit, on average.
        near: Let a word of a neighbour count in part, so that an answer is found by the words of its question.

    Returns:
        Places, ascending, and their scores; with `near` some places have no unit.
    """
    if not postings:
        return np.empty(0, np.int64), np.empty(0)
    weights = NEAR if near else NEAR[:1]
    b = _B_NEAR if near else B
    shifts = [(shift, weights[abs(shift)]) for shift in range(1 - len(weights), len(weights))]
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
    norm = K1 * (1 - b + b * lengths / max(mean_length, 1))
    scores = np.zeros(len(places))
    for row, posting in zip(counts, postings, strict=True):
        found = len(posting.places)
        rarity = math.log(1 + (max(units, found) - found + 0.5) / (found + 0.5))
        scores += rarity * row * (K1 + 1) / (row + norm)
    return places, scores


def fuse(dense: Floats, lexical: Floats) -> Floats:
    """Fuse the two scores of each candidate.

    Each half is divided by its best. A candidate with no vector (not embedded yet) is judged by its words alone.

    Args:
        dense: Likeness above that of an average unit; NaN where there is no vector.
        lexical: BM25, 0 where no word matches.

    Returns:
        Scores of 0 to 1.
    """
    meaning = _to_best(dense)
    if not lexical.any():
        return np.nan_to_num(meaning)
    words = _to_best(lexical)
    return np.where(np.isnan(meaning), words, _DENSE * meaning + (1 - _DENSE) * words)


def _to_best(scores: Floats) -> Floats:
    if np.isnan(scores).all():
        return scores
    low, high = np.nanmin(scores), np.nanmax(scores)
    if high > 0:
        return np.maximum(scores, 0) / high
    # All are below the average: the rest of a condition, or the only unit there is.
    return (scores - low) / (high - low) if high > low else np.where(np.isnan(scores), scores, 1.0)
