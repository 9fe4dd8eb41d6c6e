"""Likeness beyond what strangers have: the same measure whatever the model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.models.background import TEXTS, Background
from ricordo.models.embedding_models import Vectors
from ricordo.models.embeddings import Embedder
from tests.support.toolboxes import Counting


def units(count: int, shared: float, seed: int = 7) -> Vectors:
    """Return vectors of unit length that share a direction."""
    drawn = np.random.default_rng(seed).standard_normal((count, 64)).astype(np.float32)
    drawn[:, 0] += shared
    vectors: Vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return vectors


@given(st.floats(0, 40))
def test_what_all_vectors_of_a_model_share_makes_no_difference(shared: float) -> None:
    vectors = units(40, shared)
    background = Background.of(vectors[:32])
    strangers = [
        background.likeness(vectors[i], float(vectors[i] @ vectors[j]), float(background.centre @ vectors[j]))
        for i in range(32, 40)
        for j in range(32, 40)
        if i != j
    ]
    assert abs(float(np.mean(strangers))) < 1
    own = vectors[35]
    assert background.likeness(own, float(own @ own), float(background.centre @ own)) > 5


async def test_it_is_made_once(embedder: Embedder) -> None:
    counting = Counting(embedder)
    first, again = await counting.background(), await counting.background()
    assert first is again
    assert counting.texts == len(TEXTS)


async def test_the_shipped_model_tells_strangers_from_what_is_alike(embedder: Embedder) -> None:
    background = await embedder.background()
    asked = await embedder.query("When does the ferry to the island leave?")
    alike, stranger = await embedder.passages(["The island ferry departs at noon.", "My dentist has a red beard."])

    def likeness(one: Vectors) -> float:
        return background.likeness(asked, float(asked @ one), float(background.centre @ one))

    assert likeness(alike) > 3
    assert likeness(stranger) < 1


def test_vectors_that_are_all_the_same_divide_nothing_by_zero() -> None:
    same = np.tile(units(1, 0), (32, 1))
    assert Background.of(same).likeness(same[0], 1.0, 1.0) == pytest.approx(0, abs=1e-3)
