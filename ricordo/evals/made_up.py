"""Made-up memories for measuring: sentences with words as unevenly frequent as real ones, and random vectors."""

import random

import numpy as np

from ricordo.models.embedding_models import Vectors

_WORDS = 4000


def sentence(dice: random.Random, words: int = 12) -> str:
    """Make up a sentence."""
    return " ".join(f"w{min(int(dice.paretovariate(0.6)), _WORDS)}" for _ in range(words))


def directions(noise: np.random.Generator, count: int, dims: int) -> Vectors:
    """Return random vectors of unit length, shape (count, dims)."""
    vectors = noise.standard_normal((count, dims)).astype(np.float32)
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit
