from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import nodes.llm
from graph.embeddings import Embedder
from stores.database import Database
from tests.support.harness import Harness, open_harness


@pytest.fixture
async def harness(
    db: Database, embedder: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Harness]:
    """The whole graph with a scripted model."""
    async with open_harness(db, embedder, tmp_path) as opened:
        monkeypatch.setattr(nodes.llm, "chat_model", lambda _name, _settings: opened.model)
        yield opened
