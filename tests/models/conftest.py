from collections.abc import AsyncIterator, Iterator

import pytest
from pydantic import SecretStr

from ricordo.models.embeddings import Embedder, open_embedder
from tests.support.stand_ins.embedding_server import EmbeddingServer


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
async def remote(server: EmbeddingServer) -> AsyncIterator[Embedder]:
    model = open_embedder(
        "openai:m", api_key=SecretStr("right"), base_url=f"{server.url}/v1", max_retries=2, timeout=60
    )
    yield model
    await model.aclose()
