import numpy as np
import pytest

from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.embedding_cache import known_passages


async def test_a_text_is_embedded_once_a_deployment(
    db: Database, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["The lamp burns whale oil.", "漢字", "The lamp burns whale oil."]
    first = await known_passages(db, embedder, texts)

    async def refuse(_texts: object) -> None:
        raise AssertionError("embedded again")

    monkeypatch.setattr(embedder, "passages", refuse)
    again = await known_passages(db, embedder, texts[::-1])
    assert first.shape == (3, embedder.dims)
    assert np.allclose(first, again[::-1], atol=2e-3), "half precision keeps three digits"
    assert np.allclose(first[0], first[2])
