from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.database import Database
from tests.support.harness import Harness, open_harness


@pytest.fixture
async def harness(db: Database, embedder: Embedder, tmp_path: Path) -> AsyncIterator[Harness]:
    """The whole graph with a scripted model."""
    async with open_harness(db, embedder, tmp_path) as opened:
        yield opened
