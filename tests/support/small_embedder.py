"""Vectors of words, for tests that are about anything but meaning: a thousand texts in no time."""

import hashlib
from collections.abc import Sequence

import numpy as np

from ricordo.models.embedding_models import Vectors
from ricordo.models.embeddings import Embedder

_DIMS = 32


class _Words:
    """Each word has a direction; a text has the sum of its words'."""

    model_id = "test:words"

    async def embed(self, texts: list[str], *, query: bool) -> Vectors:  # noqa: ARG002 - the models' signature
        return np.stack([self._vector(text.split()) for text in texts])

    def _vector(self, words: Sequence[str]) -> Vectors:
        total = np.full(_DIMS, 0.01, np.float32)
        for word in words:
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
            total += np.random.default_rng(seed).standard_normal(_DIMS).astype(np.float32)
        return total


def small_embedder() -> Embedder:
    """Return an embedder of 32 dimensions that needs no model."""
    return Embedder(_Words(), _DIMS)  # type: ignore[arg-type]  # whatever embeds
