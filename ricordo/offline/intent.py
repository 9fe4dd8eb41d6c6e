"""Which tool fits a request, or none: retrieval over examples, by meaning and by words at once."""

import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ricordo.models.embeddings import Embedder
from ricordo.offline.phrases import REQUESTS

Examples = Callable[[str], Sequence[str]]
Floats = NDArray[np.float64]

_MOST_EXAMPLES = 14
_REQUEST = 1_000
"""Characters of a request that tell what is wanted: its head and its tail."""
_DESCRIPTION = 300
"""Characters of a description that stand for a tool without examples."""
_STEM = 5
"""Characters of a word that count: endings differ within a language, beginnings agree between languages."""
_RIDGE = 1.0
_WORDS = 0.5
"""Weight of the words beside the meaning. This and the ridge were chosen on requests in six languages."""
Embed = Callable[[Sequence[str]], Awaitable[NDArray[np.float32]]]
"""Embeds texts that every process needs; it may keep their vectors."""
_vectors: WeakKeyDictionary[Embedder, dict[str, NDArray[np.float32]]] = WeakKeyDictionary()


def stem(word: str) -> str:
    """Fold case and accents and keep the beginning of a word."""
    folded = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in folded if not unicodedata.combining(c))[:_STEM]


def words_of_name(name: str) -> list[str]:
    """Split an identifier into its words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\W_]+", " ", name).lower().split()


class Chooser:
    """Chooses by kernel ridge regression on the examples: the cosine of meanings plus that of words is the kernel.

    Unlike the nearest example alone it learns what sets the offered tools apart from each other, and from requests that
    need no tool.
    """

    def __init__(self, embedder: Embedder, examples: Examples, known: Embed | None = None) -> None:
        self._embedder = embedder
        self._examples = examples
        self._known = known

    async def scores(
        self, request: str, tools: Sequence[Mapping[str, Any]], alike: Mapping[str, str]
    ) -> dict[str, float]:
        """Score the tools and the kinds of requests that need none.

        Args:
            request: What the user says.
            tools: Function schemas.
            alike: Kinds of requests that a tool stands for, by the kind; their examples count as the tool's.

        Returns:
            A score for every tool name and every kind, the best first.
        """
        texts = [(name, text) for tool in tools for text in self._texts(tool) for name in [str(tool["name"])]]
        texts += [(alike.get(kind, kind), text) for kind, said in REQUESTS.items() for text in said]
        vectors = await embed_known(self._embedder, [text for _, text in texts], self._known)
        request = request if len(request) <= _REQUEST else f"{request[: _REQUEST // 2]}\n{request[-_REQUEST // 2 :]}"
        asked = (await self._embedder.passages([request]))[0]
        names = tuple(name for name, _ in texts)
        model = _fit(names, tuple(text for _, text in texts), vectors.tobytes(), vectors.shape[1])
        scored = model(request, asked)
        return dict(sorted(scored.items(), key=lambda item: -item[1]))

    def _texts(self, tool: Mapping[str, Any]) -> list[str]:
        examples = list(self._examples(str(tool["name"])))[:_MOST_EXAMPLES]
        described = str(tool.get("description") or "")[:_DESCRIPTION]
        return examples or [text for text in (described, " ".join(words_of_name(str(tool["name"])))) if text]


async def embed_known(embedder: Embedder, texts: Sequence[str], embed: Embed | None = None) -> NDArray[np.float32]:
    """Embed texts that come up in every turn; each is asked for once a process.

    Returns:
        Vectors of shape (number of texts, dims).
    """
    known = _vectors.setdefault(embedder, {})
    new = [text for text in dict.fromkeys(texts) if text not in known]
    if new:
        known.update(zip(new, await (embed or embedder.passages)(new), strict=True))
    return np.stack([known[text] for text in texts])


@lru_cache(maxsize=8)
def _fit(
    names: tuple[str, ...], texts: tuple[str, ...], raw: bytes, dims: int
) -> Callable[[str, NDArray[np.float32]], dict[str, float]]:
    vectors = np.frombuffer(raw, np.float32).reshape(-1, dims).astype(np.float64)
    centre = vectors.mean(axis=0)
    meanings = _unit(vectors - centre)
    bags = [_grams(text) for text in texts]
    columns = {gram: i for i, gram in enumerate(sorted(set().union(*bags)))}
    spread = np.zeros(len(columns))
    for bag in bags:
        spread[[columns[gram] for gram in bag]] += 1
    rarity = np.log(1 + len(texts) / (1 + spread))

    def weigh(bag: Iterable[str]) -> Floats:
        row = np.zeros(len(columns))
        for gram in bag:
            if gram in columns:
                row[columns[gram]] = rarity[columns[gram]]
        return row

    said = _unit(np.stack([weigh(bag) for bag in bags]))
    labels = list(dict.fromkeys(names))
    wanted = np.array([[float(name == label) for label in labels] for name in names])
    kernel = meanings @ meanings.T + _WORDS * said @ said.T
    # What has few examples must not lose to what has many: their errors count more.
    ease = np.sqrt(wanted @ wanted.sum(axis=0))
    weights = np.linalg.solve(kernel + _RIDGE * np.diag(ease / _harmonic_mean(ease)), wanted)

    def score(request: str, vector: NDArray[np.float32]) -> dict[str, float]:
        near = meanings @ _unit(vector.astype(np.float64) - centre)
        near += _WORDS * (said @ _unit(weigh(_grams(request))))
        return dict(zip(labels, (near @ weights).tolist(), strict=True))

    return score


def _harmonic_mean(values: Floats) -> float:
    return float(len(values) / (1 / values).sum())


def _unit(rows: Floats) -> Floats:
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    unit: Floats = rows / np.where(norms > 0, norms, 1)
    return unit


def _grams(text: str) -> set[str]:
    stems = [stem(word) for word in re.findall(r"\w+", text)]
    return {*stems, *(f"{a} {b}" for a, b in pairwise(stems))}
