"""The search over the tools, in the process: one matrix and one inverted index, fused, then routed by groups.

A few thousand tools fit in memory, and the choice is made before every model call: a round trip to the database would
cost more than the search.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ricordo.common.text import clean
from ricordo.stores.toolbox.text import asked, clauses_of, requests_of

Scores = NDArray[np.float32]

_K1, _B = 1.2, 0.75
"""BM25: how soon a repeated word stops to add, and how much a long tool is held back."""
_LEAST_LEXICAL, _MORE_LEXICAL = 0.3, 0.3
"""Weight of the words in the fusion where they cover little of the request, and what is added where they cover much."""
_COVERED = 0.5
"""Share of a request's weight that the best tool covers by its words, at which the words count fully."""
_AGREED = 2.0
"""Standard deviations nearer in meaning than the mean of all tools, at which what the words find is no chance."""
_COMPARED, _FEW = 5, 20
"""Tools that the words put first and whose meaning is looked at; how many there must be to tell chance from sense."""
_FLAT = 1e-6
"""Scores that differ by less do not differ."""
_PARTS = 0.5
"""Weight of the single requests where a text counts out several, beside the text as a whole."""
_GROUP = 1.0
"""Weight of a group's mean score in the routed list."""
_TIE = 0.02
"""Both lists have a first tool: the one that is better on the whole comes first."""


@dataclass(frozen=True)
class IndexedTool:
    """One tool, ready to be searched."""

    name: str
    group: str
    terms: Sequence[str]
    weights: Scores
    """A weight for each term."""
    content_hash: bytes
    """Tells of which version of the tool this was made."""
    vector: Scores | None = None
    """Embedding of shape (dims,) by the deployment's model; None until it is made."""
    light: Scores | None = None
    """Embedding of shape (dims,) by the light model; None until it is made."""


@dataclass(frozen=True)
class Request:
    """What is looked for."""

    words: Mapping[str, float]
    embedding: Scores | None = None
    """By the deployment's model, of shape (dims,) and unit length; None searches without it."""
    light: Scores | None = None
    """By the light model, likewise."""
    parts: Sequence["Request"] = ()
    """The single requests, where the text counts out several, or its clauses, where it is one sentence of several."""


Embed = Callable[[str], Awaitable[Scores]]


async def request(
    text: str, embed: Embed | None = None, light: Embed | None = None, embedding: Scores | None = None
) -> Request:
    """Make a request of a text; what it counts out is embedded one by one, a clause by the light model alone.

    Args:
        text: Any text.
        embed: Embeds a text by the deployment's model; None searches without it.
        light: Embeds a text by the light model; None searches without it.
        embedding: The text's embedding by the deployment's model, if it is known.
    """

    async def one(text: str, embedding: Scores | None, parts: Sequence[Request] = ()) -> Request:
        return Request(asked(text), embedding, await light(text) if light else None, parts)

    async def whole(text: str) -> Scores | None:
        return await embed(text) if embed else None

    text = clean(text)
    parts = [await one(part, await whole(part)) for part in requests_of(text)]
    parts = parts or [await one(clause, None) for clause in clauses_of(text)]
    return await one(text, await whole(text) if embedding is None else embedding, parts)


class ToolIndex:
    """An immutable index of some tools."""

    def __init__(self, tools: Sequence[IndexedTool]) -> None:
        self.names = [tool.name for tool in tools]
        self._row = {name: row for row, name in enumerate(self.names)}
        # A tool without a group is a group of its own.
        keys = {tool.group or f"\0{tool.name}": 0 for tool in tools}
        number = {key: i for i, key in enumerate(keys)}
        self._groups = np.array([number[tool.group or f"\0{tool.name}"] for tool in tools], dtype=np.intp)
        self._sizes = np.bincount(self._groups, minlength=len(keys)).astype(np.float32)
        self._index_words(tools)
        self._vectors = _View([tool.vector for tool in tools])
        self._light = _View([tool.light for tool in tools])

    def _index_words(self, tools: Sequence[IndexedTool]) -> None:
        """Build the postings, BM25's weights worked out, in three flat arrays."""
        self._vocabulary: dict[str, int] = {}
        ids = self._vocabulary
        term = np.array([ids.setdefault(word, len(ids)) for tool in tools for word in tool.terms], dtype=np.int32)
        row = np.repeat(np.arange(len(tools), dtype=np.int32), [len(tool.terms) for tool in tools])
        count = np.concatenate([tool.weights for tool in tools]) if tools else np.zeros(0, np.float32)
        lengths = np.bincount(row, weights=count, minlength=len(tools))
        norm = _K1 * (1 - _B + _B * lengths / max(float(lengths.mean()) if len(tools) else 0.0, 1e-9))
        known = np.bincount(term, minlength=len(ids))
        self._idf = np.log(1 + (len(tools) - known + 0.5) / (known + 0.5))
        self._idf_unknown = float(np.log(1 + (len(tools) + 0.5) / 0.5))
        order = np.argsort(term, kind="stable")
        self._rows = row[order]
        weight = self._idf[term] * count * (_K1 + 1) / (count + norm[row])
        self._weights = weight[order].astype(np.float32)
        self._starts = np.concatenate([[0], np.cumsum(known)])

    @property
    def embedded(self) -> bool:
        """Whether an embedding of the request by the deployment's model is of use."""
        return self._vectors.matrix is not None

    @property
    def lightly_embedded(self) -> bool:
        """Whether an embedding of the request by the light model is of use."""
        return self._light.matrix is not None

    def search(
        self,
        requests: Sequence[Request],
        k: int,
        exclude: Collection[str] = (),
    ) -> list[tuple[str, float]]:
        """Return the k tools that fit best, best first.

        Args:
            requests: What is looked for; a tool counts by its best.
            k: How many tools to return at most.
            exclude: Names to leave out.

        Returns:
            Names with scores from 0 to 1.
        """
        if not self.names or not requests or k < 1:
            return []
        scores = np.max([self.scores(request) for request in requests], axis=0)
        scores[[self._row[name] for name in exclude if name in self._row]] = -1
        near = np.argpartition(-scores, min(k, len(scores)) - 1)[:k]
        best = near[np.lexsort((near, -scores[near]))]
        return [(self.names[row], round(float(scores[row]), 4)) for row in best if scores[row] > 0]

    def scores(self, request: Request) -> Scores:
        """Score every tool for one request, 0 to 1: globally and by way of its group, whichever is better.

        The routed list lifts the tools of a group whose tools fit well on the whole; since a tool keeps its global
        score, being in the wrong group costs it nothing.
        """
        fused = self._fused(request)
        if request.parts:
            single = np.max([self._fused(part) for part in request.parts], axis=0)
            fused = (1 - _PARTS) * fused + _PARTS * single
        sums = np.bincount(self._groups, weights=fused, minlength=len(self._sizes))
        means = np.asarray(sums / self._sizes, np.float32)
        routed = fused + _GROUP * _spread(means)[self._groups]
        own, lifted = _share(fused), _share(routed)
        return _share(np.maximum(own, lifted) + _TIE * (own + lifted))

    def _fused(self, request: Request) -> Scores:
        lexical, covered = self._lexical(request.words)
        near = (self._vectors.near(request.embedding, lexical), self._light.near(request.light, lexical))
        views = [view for view in near if view is not None]
        if not views:
            return lexical
        dense = _spread(np.asarray(np.mean(views, axis=0), np.float32))
        share = _LEAST_LEXICAL + _MORE_LEXICAL * min(1.0, covered / _COVERED) if covered else 0.0
        share *= _agreement(lexical, dense)
        return share * lexical + (1 - share) * dense

    def _lexical(self, words: Mapping[str, float]) -> tuple[Scores, float]:
        """Return BM25 as a share of the best tool's, and how much of the request that tool covers, 0 to 1."""
        scores = np.zeros(len(self.names), np.float32)
        wanted = 0.0
        for word in words:
            number = self._vocabulary.get(word)
            if number is None:
                wanted += self._idf_unknown
                continue
            wanted += float(self._idf[number])
            part = slice(self._starts[number], self._starts[number + 1])
            scores[self._rows[part]] += self._weights[part]
        best = float(scores.max())
        return _share(scores), best / (wanted * (_K1 + 1)) if wanted else 0.0


class _View:
    """The tools as one embedding model sees them, less their mean: what all share says nothing about any of them."""

    def __init__(self, vectors: Sequence[Scores | None]) -> None:
        known = [vector for vector in vectors if vector is not None]
        self._embedded = np.array([vector is not None for vector in vectors], dtype=bool)
        self.matrix: Scores | None = None
        if known:
            matrix = np.stack(known).astype(np.float32)
            matrix -= matrix.mean(axis=0)
            self.matrix = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)

    def near(self, embedding: Scores | None, lexical: Scores) -> Scores | None:
        """Score the tools from 0 to 1; one that has no vector yet counts by its words."""
        if self.matrix is None or embedding is None:
            return None
        scores = lexical.copy()
        scores[self._embedded] = _spread(self.matrix @ embedding)
        return scores


def _agreement(lexical: Scores, dense: Scores) -> float:
    """Tell how near in meaning the tools are that the words put first, from 0, no nearer than all are, to 1.

    A request that shares with the descriptions only what all people say hits tools at random, and those are near by
    chance alone. Whether its words say something so follows from the request and from the tools that are there.
    """
    deviation = float(dense.std())
    if len(dense) < _FEW or deviation < _FLAT or not lexical.any():
        return 1.0
    bar = float(np.partition(lexical, -_COMPARED)[-_COMPARED])
    first = dense[lexical >= max(bar, _FLAT)]  # what ties with the last counts too
    return min(1.0, max(0.0, float(first.mean() - dense.mean()) / (deviation * _AGREED)))


def _share(scores: Scores) -> Scores:
    """Divide by the highest score, so that it becomes 1; zeros stay."""
    return np.asarray(scores / max(float(scores.max()), 1e-9), np.float32)


def _spread(scores: Scores) -> Scores:
    """Bring the lowest score to 0 and the highest to 1."""
    low, high = float(scores.min()), float(scores.max())
    return np.asarray((scores - low) / max(high - low, 1e-9), np.float32)
