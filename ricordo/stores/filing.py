"""How a document goes into the tables of the knowledge base."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ricordo.common.text import make_id
from ricordo.models.embedding_models import Vectors
from ricordo.readers.chunks import Chunk
from ricordo.readers.pages import Document
from ricordo.stores.search.vectors import Connection, Unit, is_whole

_NAMED = 5
"""Chunks without a vector that are named."""


@dataclass(frozen=True, slots=True)
class Filing:
    """A document on its way into the tables."""

    id: UUID
    user_id: str
    source: str
    document: Document
    digest: bytes
    metadata: dict[str, Any]
    chunks: Sequence[Chunk]

    async def is_stored(self, conn: Connection) -> bool:
        """Tell whether the document is stored with this content; what is known of it is brought up to date then."""
        same = await conn.execute(
            "UPDATE documents SET metadata = metadata || %s WHERE id = %s AND content_hash = %s",
            (Jsonb(self.metadata), self.id, self.digest),
        )
        return bool(same.rowcount)

    async def write(self, conn: Connection) -> None:
        """Write the document's own row."""
        read = self.document
        await conn.execute(
            "INSERT INTO documents (id, user_id, source, title, kind, content_hash, chunks, pages, metadata) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
            (
                *(self.id, self.user_id, self.source, read.title, read.kind, self.digest),
                *(len(self.chunks), read.page_count, Jsonb(self.metadata)),
            ),
        )

    def units(self) -> list[Unit]:
        """Return the chunks as they are searched for."""
        title = self.document.title
        return [
            Unit(
                make_id(self.id, self.digest.hex(), number),
                chunk.text,
                {
                    "document_id": self.id,
                    "chunk": number,
                    "page": chunk.page,
                    "source": self.source,
                    "title": title,
                    "url": self.metadata.get("url"),
                    "published": self.metadata.get("published"),
                    "metadata": Jsonb({"section": chunk.section} if chunk.section else {}),
                },
                # A chunk alone seldom says what it is about.
                "\n".join(part for part in (title, chunk.section, chunk.text) if part),
            )
            for number, chunk in enumerate(self.chunks)
        ]


def without_vector(vectors: Vectors, chunks: Sequence[Chunk]) -> str:
    """Say which chunks the embedding model gave no vector for; empty where there are none."""
    holes = [number for number, vector in enumerate(vectors) if not is_whole(vector)]
    if not holes:
        return ""
    named = ", ".join(f"{n + 1}" + (f" on page {page}" if (page := chunks[n].page) else "") for n in holes[:_NAMED])
    more = f" and {len(holes) - _NAMED} more" if len(holes) > _NAMED else ""
    return (
        f"the embedding model gave no vector for {len(holes)} of {len(chunks)} chunks (chunk {named}{more}): by its "
        "words alone such a chunk is found; `ricordo reembed` tries again"
    )
