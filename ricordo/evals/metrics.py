"""How good a ranking is and how long it took: the figures that the evaluations share."""

import math
from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np


def recall(ranked: Sequence[Hashable], relevant: AbstractSet[Hashable], k: int) -> float:
    """Return the share of what is relevant that the first k hold, 0 to 1 (1 where nothing is relevant)."""
    return len(relevant & set(ranked[:k])) / len(relevant) if relevant else 1.0


def perfect(ranked: Sequence[Hashable], relevant: AbstractSet[Hashable], k: int) -> float:
    """Return 1 where the first k hold all that is relevant, else 0."""
    return float(relevant <= set(ranked[:k]))


def ndcg(ranked: Sequence[Hashable], relevant: AbstractSet[Hashable], k: int) -> float:
    """Return the normalised discounted cumulative gain of the first k, 0 to 1: recall that values early places."""
    gain = sum(1 / math.log2(place + 2) for place, item in enumerate(ranked[:k]) if item in relevant)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(len(relevant), k)))
    return gain / ideal if ideal else 1.0


def mean(values: Sequence[float]) -> float:
    """Return the mean, 0 of nothing."""
    return float(np.mean(values)) if values else 0.0


def percent(values: Sequence[float]) -> float:
    """Return the mean of shares as a percentage with one decimal."""
    return round(100 * mean(values), 1)


@dataclass(frozen=True)
class Latency:
    """Two percentiles of a set of durations, in milliseconds."""

    p50: float
    p95: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Latency":
        """Summarise durations in seconds; zeros where there are none."""
        if not seconds:
            return cls(0.0, 0.0)
        p50, p95 = np.percentile(np.asarray(seconds) * 1000, [50, 95])
        return cls(round(float(p50), 2), round(float(p95), 2))
