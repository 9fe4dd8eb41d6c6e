"""Fusion: one ranking of what was found by meaning and what was found by words."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True)
class Candidate:
    """A unit with its two scores."""

    id: UUID
    dense: float | None
    lexical: float


def fuse(found: Sequence[Candidate]) -> list[tuple[UUID, float]]:
    """Rank by the sum of both scores, each brought to 0..1 by the best and the worst of the list."""
    dense = [c.dense for c in found if c.dense is not None]
    low, high = (min(dense), max(dense)) if dense else (0.0, 0.0)
    most = max((c.lexical for c in found), default=0.0)
    scored = [
        (
            c.id,
            (
                ((c.dense - low) / (high - low) if c.dense is not None and high > low else 0.0)
                + (c.lexical / most if most else 0.0)
            )
            / 2,
        )
        for c in found
    ]
    return sorted(scored, key=lambda each: (-each[1], each[0]))
