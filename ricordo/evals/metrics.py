"""How good a ranking is and how long it took: the figures that the evaluations share."""

import math
import os
import platform
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

Progress = Callable[[str, int, int], None]
"""Told what is done, how much of it is through, and how much there is."""


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
    def of(cls, seconds: Sequence[float], decimals: int = 2) -> "Latency":
        """Summarise durations in seconds; zeros where there are none."""
        if not seconds:
            return cls(0.0, 0.0)
        p50, p95 = np.percentile(np.asarray(seconds) * 1000, [50, 95])
        return cls(round(float(p50), decimals), round(float(p95), decimals))


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Return the percentiles of durations in seconds, in milliseconds with one decimal."""
    return vars(Latency.of(seconds, decimals=1))


def heading(benchmark: str, **sizes: int) -> dict[str, Any]:
    """Return how a report begins: what was measured, on how much, when, on which machine."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return {"benchmark": benchmark, **sizes, "date": datetime.now(UTC).date().isoformat(), "machine": machine}
