"""The knowledge base: documents, and their chunks as a memory that is found by meaning and by words."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import numpy as np
from psycopg import sql

from ricordo.common.errors import DocumentError, NotFoundError
from ricordo.common.text import clean, clean_json, make_id
from ricordo.readers.chunks import CHUNK_OVERLAP, CHUNK_SIZE, split
from ricordo.readers.pages import Document, Page
from ricordo.stores.filing import Filing, without_vector
from ricordo.stores.passages import Passage, stamp
from ricordo.stores.postgres.database import EVERYONE, Database
from ricordo.stores.search.units import related
from ricordo.stores.search.vectors import Connection, Prepared, Query, Unit, VectorMemory, is_whole

Progress = Callable[[int, int], None]
"""Called with the chunks embedded so far and all of them."""
Change = Literal["new", "unchanged", "replaced"]

_EMBED_AT_ONCE = 16
"""Chunks between two reports of progress."""
_SHOWN = 120
"""Characters of a title or a section in a passage's head."""


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """What became of a document."""

    document_id: UUID
    chunks: int
    change: Change
    note: str = ""
    """What somebody who relies on it should know."""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as the knowledge base lists it."""

    id: UUID
    user_id: str
    """Whose it is; '*' for everyone's."""
    source: str
    title: str
    kind: str
    content_hash: bytes
    chunks: int
    pages: int | None
    metadata: dict[str, Any]
    created_at: datetime


def content_hash(document: Document, size: int = CHUNK_SIZE, overlap: int = CHUNK_OVERLAP) -> bytes:
    """Hash all that a document's chunks come from."""
    parts = [document.title, size, overlap, *([page.text, page.number, page.section] for page in document.pages)]
    return hashlib.sha256(json.dumps(parts).encode()).digest()


class KnowledgeBase:
    """The documents of every user; each call names the one whose documents it is about."""

    def __init__(self, db: Database, vectors: VectorMemory) -> None:
        self.db = db
        self.vectors = vectors

    async def add_document(
        self,
        user_id: str,
        source: str,
        document: Document,
        *,
        metadata: Mapping[str, Any] | None = None,
        chunk_size: int = CHUNK_SIZE,
        chunk_overlap: int = CHUNK_OVERLAP,
        progress: Progress | None = None,
    ) -> DocumentResult:
        """Store a document under its source; what was stored there before is replaced at once, or not at all.

        Args:
            user_id: Whose document it is.
            source: What it is cited by, such as `paper.pdf`; one document for each.
            document: The document as it was read.
            metadata: What else is known of it; `url` and `published` (ISO date) are kept with each chunk.
            chunk_size: Longest chunk, in characters.
            chunk_overlap: Characters that a chunk may repeat of the one before it.
            progress: Told how far the embedding is.

        Raises:
            DocumentError: There is no text in it, or none that the embedding model has a vector for.
            InputError: The chunk size or the overlap is out of bounds.
            EmbeddingError: The embedding model cannot be loaded or reached.
        """
        source, document, known = clean(source).strip(), _cleaned(document), clean_json(dict(metadata or {}))
        chunks = await asyncio.to_thread(split, document.pages, chunk_size, chunk_overlap)
        if not chunks:
            raise DocumentError(f"{source} holds no text: nothing was stored.")
        id_, digest = make_id("document", user_id, source), content_hash(document, chunk_size, chunk_overlap)
        filing = Filing(id_, user_id, source, document, digest, known, chunks)
        async with self.db.transaction(user_id) as conn:
            if await filing.is_stored(conn):
                return DocumentResult(id_, len(chunks), "unchanged")
        prepared = await self._embed(user_id, filing.units(), progress)
        note = without_vector(prepared.vectors, chunks)
        async with self.db.transaction(user_id) as conn:
            await conn.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (str(id_),))
            if await filing.is_stored(conn):  # by another process, while this one embedded
                return DocumentResult(id_, len(chunks), "unchanged")
            replaced = await self._delete(conn, user_id, id_)
            await filing.write(conn)
            await self.vectors.write(conn, user_id, prepared)
        return DocumentResult(id_, len(chunks), "replaced" if replaced else "new", note)

    async def add_text(self, user_id: str, text: str, metadata: Mapping[str, Any]) -> UUID:
        """Store a text as a document of its own.

        Args:
            user_id: Whose document it is.
            text: The text.
            metadata: `source` and `title` name it; without a source, its `url` or its own content does.

        Raises:
            DocumentError: There is no text in it.
        """
        source = str(metadata.get("source") or metadata.get("url") or f"note:{make_id(text)}")
        title = str(metadata.get("title") or source)
        result = await self.add_document(user_id, source, Document(title, "text", (Page(text),)), metadata=metadata)
        return result.document_id

    async def search(self, user_id: str, query: Query, k: int, *, document_id: UUID | None = None) -> list[Passage]:
        """Find the k chunks that fit best, of those that fit; of the same text in several documents, the best one.

        Args:
            user_id: Who asks: own documents are searched, those for everyone, and those that others share.
            query: What is looked for.
            k: How many, at most.
            document_id: Look in this document only.
        """
        where = sql.SQL("document_id = %s") if document_id else None
        async with self.db.transaction(user_id, shared=True) as conn:
            hits = await self.vectors.search(
                conn, query, 2 * k, where=where, params=[document_id] if document_id else []
            )
        unique = {hit.content: hit for hit in reversed(hits)}
        best = [hit for hit in related(hits) if unique[hit.content] is hit][:k]
        return [Passage(str(hit.id), _head(hit.row, hit.closeness, user_id), hit.content) for hit in best]

    async def documents(self, user_id: str) -> list[StoredDocument]:
        """List a user's documents, the latest first."""
        async with self.db.transaction(user_id) as conn:
            cursor = await conn.execute(f"{_SELECT} ORDER BY created_at DESC, source")
            return [_stored(row) for row in await cursor.fetchall()]

    async def document(self, user_id: str, document_id: UUID) -> StoredDocument:
        """Return one document.

        Raises:
            NotFoundError: This user has no such document.
        """
        async with self.db.transaction(user_id) as conn:
            row = await (await conn.execute(f"{_SELECT} WHERE id = %s", (document_id,))).fetchone()
        if row is None:
            raise _unknown(document_id)
        return _stored(row)

    async def find(self, user_id: str, source: str) -> StoredDocument | None:
        """Return the document of a source, if there is one."""
        async with self.db.transaction(user_id) as conn:
            cursor = await conn.execute(
                f"{_SELECT} WHERE user_id = %s AND source = %s", (user_id, clean(source).strip())
            )
            row = await cursor.fetchone()
        return _stored(row) if row else None

    async def delete(self, user_id: str, document_id: UUID) -> None:
        """Delete a document and its chunks.

        Raises:
            NotFoundError: This user has no such document.
        """
        async with self.db.transaction(user_id) as conn:
            if not await self._delete(conn, user_id, document_id):
                raise _unknown(document_id)

    async def _delete(self, conn: Connection, user_id: str, document_id: UUID) -> bool:
        """Delete a document and its chunks; False if this user has no such document."""
        own = (document_id, user_id)
        chunks = await conn.execute("SELECT id FROM knowledge_base WHERE document_id = %s AND user_id = %s", own)
        await self.vectors.delete(conn, [row["id"] for row in await chunks.fetchall()])
        deleted = await conn.execute("DELETE FROM documents WHERE id = %s AND user_id = %s", own)
        return bool(deleted.rowcount)

    async def _embed(self, user_id: str, units: Sequence[Unit], progress: Progress | None) -> Prepared:
        """Embed before anything is stored: it takes seconds, and no other writer is held up meanwhile."""
        parts = []
        for start in range(0, len(units), _EMBED_AT_ONCE):
            async with self.db.transaction(user_id) as conn:  # each batch is kept, should the next one fail
                some = units[start : start + _EMBED_AT_ONCE]
                parts.append(await self.vectors.prepare(conn, user_id, some, holes=True))
            if progress:
                progress(min(start + _EMBED_AT_ONCE, len(units)), len(units))
        vectors = np.concatenate([part.vectors for part in parts])
        if not any(map(is_whole, vectors)):
            raise DocumentError(
                f"{self.vectors.embedder.model_id} gave no vector that can be used for any of it; nothing was stored. "
                "Try again, or choose another model by RICORDO_EMBEDDINGS."
            )
        return Prepared(units, vectors)


_SELECT = "SELECT id, user_id, source, title, kind, content_hash, chunks, pages, metadata, created_at FROM documents"


def _stored(row: dict[str, Any]) -> StoredDocument:
    return StoredDocument(**row | {"content_hash": bytes(row["content_hash"])})


def _unknown(document_id: UUID) -> NotFoundError:
    return NotFoundError(f"There is no document {document_id}. `ricordo kb list` shows what is stored.")


def _head(row: Mapping[str, Any], score: float, reader: str) -> str:
    page = f", page {row['page']}" if row["page"] is not None else ""
    parts = [f"id={row['id']} date={stamp(row['created_at'])} source={row['source']}{page}"]
    section = (row["metadata"] or {}).get("section")
    if row["user_id"] not in {reader, EVERYONE}:
        parts.append(f'shared by "{_shown(row["user_id"])}"')
    parts += [f'{name}="{_shown(text)}"' for name, text in (("title", row["title"]), ("section", section)) if text]
    return " ".join([*parts, f"score={score:.2f}"])


def _shown(text: str) -> str:
    text = text.replace('"', "'")
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _cleaned(document: Document) -> Document:
    pages = tuple(Page(clean(page.text), page.number, clean(page.section)) for page in document.pages)
    return Document(clean(document.title), document.kind, pages, document.page_count, document.notes)
