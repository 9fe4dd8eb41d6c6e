"""Providers that take few texts at once, or have no vector for one of them."""

import json

import numpy as np
import pytest

from ricordo.common.errors import EmbeddingError
from ricordo.models.embeddings import Embedder
from tests.support.stand_ins.embedding_server import EmbeddingServer
from tests.support.stand_ins.local_server import Reply, Request


@pytest.mark.parametrize(
    ("most", "said"), [(10, "no batch size larger than 10"), (10, "invalid input"), (3, "at most 3")]
)
async def test_a_provider_that_takes_few_texts_at_once_gets_few(
    server: EmbeddingServer, remote: Embedder, monkeypatch: pytest.MonkeyPatch, most: int, said: str
) -> None:
    answer, refused = server.answer, [0]

    def picky(request: Request) -> Reply:
        if len(server.inputs(request)) <= most:
            return answer(request)
        refused[0] += 1
        return Reply(json.dumps({"error": {"message": said}}).encode(), "application/json", 400)

    await remote.measure()
    monkeypatch.setattr(server, "answer", picky)
    texts = ["a" * n for n in range(1, 33)]
    vectors = await remote.passages(texts)
    assert [float(vector[0] / vector[3]) for vector in vectors] == pytest.approx(list(range(1, 33)), rel=1e-3)
    before = refused[0]
    await remote.passages(texts)
    assert refused[0] == before, "how many it takes is kept"
    assert before <= (2 if str(most) in said else 8)


@pytest.mark.parametrize("vector", [[float("nan")] * 4, [], [0.0] * 4])
async def test_a_text_without_a_vector_is_told_and_the_others_have_theirs(
    server: EmbeddingServer, remote: Embedder, monkeypatch: pytest.MonkeyPatch, vector: list[float]
) -> None:
    usual = server.vector
    await remote.measure()
    monkeypatch.setattr(server, "vector", lambda text: vector if "cursed" in text else usual(text))
    texts = ["ab", "the cursed text", "c"]
    found = await remote.passages(texts, holes=True)
    assert np.isfinite(found).all(axis=1).tolist() == [True, False, True]
    with pytest.raises(EmbeddingError, match="without a direction for 'the cursed text'"):
        await remote.passages(texts)


async def test_a_text_that_is_refused_alone_keeps_no_other_from_its_vector(
    server: EmbeddingServer, remote: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = server.answer

    def picky(request: Request) -> Reply:
        if "cursed" in "".join(server.inputs(request)):
            return Reply(b'{"error": {"message": "content not allowed"}}', "application/json", 400)
        return answer(request)

    await remote.measure()
    monkeypatch.setattr(server, "answer", picky)
    found = await remote.passages([*"abcdef", "cursed", *"abc"], holes=True)
    assert np.flatnonzero(~np.isfinite(found).all(axis=1)).tolist() == [6]
