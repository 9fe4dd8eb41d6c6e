"""The search over the tools, in the process: a dense matrix and an inverted index, fused."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_K1, _B = 1.2, 0.75


@dataclass(frozen=True)
class IndexedTool:
    """One tool, ready to be searched."""

    name: str
    group: str
    terms: Counter[str]
    """Stemmed terms with their weighted counts."""
    vectors: NDArray[np.float32] | None = None
    """Normalised embeddings, (views, dims)."""


class ToolIndex:
    """An immutable index of some tools."""

    def __init__(self, tools: Sequence[IndexedTool]) -> None:
        self.names = [tool.name for tool in tools]
        lengths = np.array([sum(tool.terms.values()) for tool in tools], dtype=np.float32)
        norm = _K1 * (1 - _B + _B * lengths / max(1.0, float(lengths.mean()) if len(tools) else 1.0))
        postings: dict[str, tuple[list[int], list[float]]] = {}
        for row, tool in enumerate(tools):
            for term, count in tool.terms.items():
                rows, counts = postings.setdefault(term, ([], []))
                rows.append(row)
                counts.append(count)
        self._postings: dict[str, tuple[NDArray[np.intp], NDArray[np.float32]]] = {}
        for term, (rows, counts) in postings.items():
            at, tf = np.array(rows), np.array(counts, dtype=np.float32)
            idf = np.log(1 + (len(tools) - len(rows) + 0.5) / (len(rows) + 0.5))
            self._postings[term] = at, idf * tf * (_K1 + 1) / (tf + norm[at])
        self.embedded = len(tools) > 0 and all(tool.vectors is not None for tool in tools)
        self._matrix = (
            np.stack([tool.vectors[0] for tool in tools if tool.vectors is not None]) if self.embedded else None
        )

    def search(
        self, terms: Counter[str], embedding: NDArray[np.float32] | None, k: int, exclude: Collection[str] = ()
    ) -> list[tuple[str, float]]:
        """Return the k best tools with their fused scores (0 to 1), best first."""
        if not self.names or k < 1:
            return []
        scores = np.zeros(len(self.names), dtype=np.float32)
        for term in terms:
            if term in self._postings:
                at, weight = self._postings[term]
                scores[at] += weight
        scores /= max(float(scores.max()), 1e-6)
        if self._matrix is not None and embedding is not None:
            dense = self._matrix @ embedding
            low, high = float(dense.min()), float(dense.max())
            scores = 0.5 * scores + 0.5 * (dense - low) / max(high - low, 1e-6)
        order = np.argsort(-scores, kind="stable")[: k + len(exclude)]
        hits = [(self.names[row], float(scores[row])) for row in order if scores[row] > 0]
        return [hit for hit in hits if hit[0] not in exclude][:k]
