"""What is searched for, written and found: the types of every searchable memory."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np

from ricordo.common.text import clean
from ricordo.common.words import terms
from ricordo.models.embedding_models import Vectors
from ricordo.models.embeddings import Embedder


@dataclass(frozen=True)
class Query:
    """What is looked for, split and embedded once for every memory that is asked."""

    text: str
    embedding: Vectors | None
    """Shape (dims,), unit length; None searches by words alone."""
    terms: Counter[str]


@dataclass(frozen=True)
class Unit:
    """What is written: an id that follows from the content or its origin, the content, the table's own columns."""

    id: UUID
    content: str
    columns: Mapping[str, Any]
    indexed: str | None = None
    """What is embedded and split into words, where that is not the content."""
    when: datetime | None = None
    """The day it is about, in the user's time zone: found by words too (`7 May 2023`, `Sunday`)."""

    @property
    def searched(self) -> str:
        """The text that is embedded and split into words."""
        return clean(self.content if self.indexed is None else self.indexed)


@dataclass(frozen=True)
class Hit:
    """What was found."""

    id: UUID
    content: str
    score: float
    """0 to 1, fused of meaning and words; comparable within one list only."""
    row: dict[str, Any]
    """The table's columns, except those that only serve the search."""


@dataclass(frozen=True)
class Prepared:
    """Units with their vectors, ready to be written."""

    units: Sequence[Unit]
    vectors: Vectors
    """Shape (number of units, dims)."""


async def make_query(embedder: Embedder, text: str) -> Query:
    """Embed and split a question.

    Raises:
        EmbeddingError: The model cannot be loaded or reached.
    """
    text = clean(text)
    embedding, words = await asyncio.gather(embedder.query(text), asyncio.to_thread(terms, text))
    return Query(text, embedding, words)


def is_whole(vector: Vectors) -> bool:
    """Tell a vector from a hole, where the model had none for a text."""
    return bool(np.isfinite(vector[:1]).all())


def literal(vector: Vectors) -> str:
    """Write a vector of unit length as PostgreSQL reads it, to six decimals: half precision holds no more."""
    # Whole numbers are written three times as fast as fractions.
    return f"[{'e-6,'.join(map(str, np.rint(vector * 1e6).astype(np.int64).tolist()))}e-6]"
