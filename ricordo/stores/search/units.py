"""What is searched for, written and found: the types of every searchable memory."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np

from ricordo.common.text import clean
from ricordo.common.words import terms, topical
from ricordo.models.background import Background
from ricordo.models.embedding_models import Vectors
from ricordo.models.embeddings import Embedder

RELATED = 0.5
"""Closeness from which on a unit has something to do with the question."""


@dataclass(frozen=True)
class Query:
    """What is looked for, split and embedded once for every memory that is asked."""

    text: str
    embedding: Vectors | None
    """Shape (dims,), unit length; None searches by words alone."""
    terms: Counter[str]
    background: Background | None = None
    """What closeness is measured against; None: by the words alone."""

    @cached_property
    def topic(self) -> frozenset[str]:
        """The terms that say what it is about: none of *What do you know about me?* do."""
        return topical(self.terms)


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
    """0 to 1, fused of meaning and words: what the list is ordered by; comparable within one list only."""
    closeness: float
    """0 to 1, the same measure in every list; from `RELATED` on it has something to do with the question."""
    row: dict[str, Any]
    """The table's columns, except those that only serve the search."""


def likeness(query: Query, with_query: float | None, with_centre: float | None) -> float | None:
    """Return how alike a question and a unit are beyond what strangers are; None where either has no vector."""
    if query.embedding is None or query.background is None or with_query is None or with_centre is None:
        return None
    return query.background.likeness(query.embedding, with_query, with_centre)


def covered(query: Query, content: str) -> float:
    """Return the share of what a question is about that stands in a text, word for word."""
    return len(query.topic & terms(content).keys()) / len(query.topic) if query.topic else 0.0


def related(hits: Sequence[Hit]) -> list[Hit]:
    """Leave out what has nothing to do with the question."""
    return [hit for hit in hits if hit.closeness >= RELATED]


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
    return Query(text, embedding, words, await embedder.background())


def is_whole(vector: Vectors) -> bool:
    """Tell a vector from a hole, where the model had none for a text."""
    return bool(np.isfinite(vector[:1]).all())


def literal(vector: Vectors) -> str:
    """Write a vector of unit length as PostgreSQL reads it, to six decimals: half precision holds no more."""
    # Whole numbers are written three times as fast as fractions.
    return f"[{'e-6,'.join(map(str, np.rint(vector * 1e6).astype(np.int64).tolist()))}e-6]"
