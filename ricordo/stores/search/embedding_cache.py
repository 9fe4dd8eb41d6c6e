"""Vectors of texts that every process needs, kept in the database: each is embedded once a deployment."""

from collections.abc import Sequence

import numpy as np

from ricordo.models.embedding_models import Vectors
from ricordo.models.embeddings import Embedder, text_hash
from ricordo.stores.postgres.database import EVERYONE, Database
from ricordo.stores.search.units import literal


async def known_passages(db: Database, embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return the vectors of texts, embedding those that no process of this deployment has embedded yet.

    Returns:
        Vectors of shape (number of texts, dims), in the order of the texts.

    Raises:
        EmbeddingError: The model cannot be loaded or reached.
        DatabaseError: The database cannot be reached.
    """
    hashes = [text_hash(text) for text in texts]
    async with db.transaction(EVERYONE) as conn:
        cursor = await conn.execute(
            "SELECT hash, embedding::real[] AS vector FROM embedding_cache WHERE hash = ANY(%s) AND model = %s",
            (hashes, embedder.model_id),
        )
        known = {bytes(row["hash"]): np.asarray(row["vector"], np.float32) for row in await cursor.fetchall()}
    new = {key: text for key, text in zip(hashes, texts, strict=True) if key not in known}
    if new:
        vectors = await embedder.passages(list(new.values()))
        known.update(zip(new, vectors, strict=True))
        async with db.transaction(EVERYONE) as conn:
            await conn.execute(
                "INSERT INTO embedding_cache (user_id, model, hash, embedding) "
                "SELECT %s, %s, * FROM unnest(%s::bytea[], %s::halfvec[]) ON CONFLICT DO NOTHING",
                (EVERYONE, embedder.model_id, list(new), [literal(vector) for vector in vectors]),
            )
    return np.stack([known[key] for key in hashes])
