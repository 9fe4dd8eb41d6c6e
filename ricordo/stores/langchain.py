"""The knowledge base as a LangChain vector store, for code that wants a retriever.

Ricordo itself reads by `search/vectors.py`, which finds more (words as well as meaning); this view gives other code the
same rows, under the same row-level security.

```python
async with vector_store(agent.resources.db, agent.resources.embedder, "default") as store:
    documents = await store.as_retriever().ainvoke("What does the lamp burn?")
```
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.connection import normalise
from ricordo.stores.postgres.database import ENTER, Database

_METADATA = ["source", "title", "page", "chunk", "url"]


@asynccontextmanager
async def vector_store(db: Database, embedder: Embedder, user_id: str) -> AsyncIterator[VectorStore]:
    """Open one user's knowledge base as a `PGVectorStore`; asynchronous methods only.

    For reading: a document is ingested by `ricordo ingest` or `MemoryManager.write_knowledge_base`, which cut it into
    chunks and index its words.
    """
    from langchain_postgres import PGEngine  # noqa: PLC0415 - a second of imports that few need
    from langchain_postgres.v2.async_vectorstore import AsyncPGVectorStore  # noqa: PLC0415 - the same
    from sqlalchemy import event  # noqa: PLC0415 - the same
    from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415 - the same

    async def connection() -> psycopg.AsyncConnection[Any]:
        return await psycopg.AsyncConnection.connect(normalise(db.dsn))

    engine = create_async_engine("postgresql+psycopg://", async_creator=connection)

    @event.listens_for(engine.sync_engine, "begin")
    def enter(conn: Any) -> None:
        conn.exec_driver_sql(ENTER, (user_id,))

    try:
        yield await AsyncPGVectorStore.create(
            PGEngine.from_engine(engine),
            _AsEmbeddings(embedder),
            "knowledge_base",
            id_column="id",
            metadata_columns=_METADATA,
            metadata_json_column="metadata",
        )
    finally:
        await engine.dispose()


class _AsEmbeddings(Embeddings):
    """Our embedder under LangChain's interface."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed_query(self, text: str) -> list[float]:
        raise TypeError(f"Ricordo's embedder is asynchronous: await aembed_query({text[:20]!r}…).")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise TypeError(f"Ricordo's embedder is asynchronous: await aembed_documents of these {len(texts)} texts.")

    async def aembed_query(self, text: str) -> list[float]:
        return list(map(float, await self._embedder.query(text)))

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return [list(map(float, row)) for row in await self._embedder.passages(texts)]
