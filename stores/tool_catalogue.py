"""The catalogue of tools in the database: what a search needs to know of a tool is made once.

Every row belongs to the deployment (user `*`) and is readable by all.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from graph.embeddings import Embedder
from graph.errors import EmbeddingError, ToolError
from stores.database import EVERYONE, Database
from stores.text import clean
from stores.tool_index import IndexedTool, Scores
from stores.tool_text import ToolText

_log = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many are done, how many there are."""

_BATCH = 32
"""Tools that are embedded and stored together: an interrupted first start goes on where it stopped."""
_HEADLINE = 0.5
"""Weight in a tool's vector of the sentence that says what it does, beside the whole tool."""
_WORTH_TELLING = 100
"""New tools from which a start tells why it takes a while."""


class Source(Protocol):
    """What the catalogue asks of a tool."""

    @property
    def name(self) -> str: ...  # noqa: D102 - as its name says
    @property
    def group(self) -> str: ...  # noqa: D102 - as its name says
    @property
    def content_hash(self) -> bytes:
        """Hash of all that the search text comes from."""

    def text(self, phrases: Sequence[str] = ()) -> ToolText:
        """Return what a search looks at."""


@dataclass(frozen=True)
class Row:
    """A tool as the catalogue holds it."""

    indexed: IndexedTool
    content_hash: bytes
    enabled: bool
    description: str = ""


@dataclass(frozen=True)
class Changes:
    """What a synchronisation found, as names."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: int = 0
    failed: Mapping[str, str] | None = None
    """Tools of which no schema can be made, with the reason."""


def index(tool: Source, phrases: Sequence[str] = ()) -> IndexedTool:
    """Make what a search by words needs to know of a tool.

    Raises:
        ToolError: No schema can be made of the tool.
    """
    words = tool.text(phrases).terms()
    return IndexedTool(tool.name, tool.group, list(words), np.fromiter(words.values(), np.float32, len(words)))


async def embed(embedder: Embedder, texts: Sequence[ToolText]) -> Scores:
    """Embed tools: the whole of each and its headline, added up.

    Returns:
        Vectors of shape (number of texts, dims).

    Raises:
        EmbeddingError: The model cannot be loaded or reached.
    """
    vectors = await embedder.passages([passage for text in texts for passage in text.passages()])
    return np.asarray(vectors[0::2] + _HEADLINE * vectors[1::2], np.float32)


async def load(db: Database, model_id: str) -> dict[str, Row]:
    """Read the catalogue; vectors of another model are left out.

    Raises:
        DatabaseError: The database cannot be reached.
    """
    async with db.transaction(EVERYONE) as conn:
        cursor = await conn.cursor(binary=True).execute(
            "SELECT name, group_name, content_hash, terms, weights, enabled, "
            "CASE WHEN embedding_model = %s THEN halfvec_send(embedding) END AS vector FROM toolbox",
            (model_id,),
        )
        rows = await cursor.fetchall()
    return {row["name"]: _row(row) for row in rows}


def _row(row: Mapping[str, bytes]) -> Row:
    vector = row["vector"]
    return Row(
        IndexedTool(
            str(row["name"]),
            str(row["group_name"]),
            str(row["terms"]).split(" ") if row["terms"] else [],
            np.frombuffer(row["weights"], np.float32),
            # A header of four bytes, then half precision in network order.
            None if vector is None else np.frombuffer(vector, ">f2", offset=4).astype(np.float32),
        ),
        bytes(row["content_hash"]),
        bool(row["enabled"]),
    )


async def store(db: Database, embedder: Embedder, tools: Sequence[Source], progress: Progress | None) -> dict[str, Row]:
    """Index, embed and write new and changed tools, batch by batch; their `enabled` stays as it is.

    Without the embedding model, words alone find them until the next start.

    Raises:
        DatabaseError: The database cannot be reached.
    """
    if len(tools) >= _WORTH_TELLING:
        _log.warning("%d tools are new or changed and are indexed once; this takes a while.", len(tools))
    stored: dict[str, Row] = {}
    for start in range(0, len(tools), _BATCH):
        batch = tools[start : start + _BATCH]
        stored |= await _store_batch(db, embedder, batch)
        if progress:
            progress("indexing tools", start + len(batch), len(tools))
    return stored


async def _store_batch(db: Database, embedder: Embedder, tools: Sequence[Source]) -> dict[str, Row]:
    rows = {tool.name: Row(index(tool), tool.content_hash, enabled=True) for tool in tools}
    async with db.transaction(EVERYONE) as conn:
        cursor = await conn.execute(
            "SELECT hash, embedding::real[] AS vector FROM embedding_cache WHERE model = %s AND hash = ANY(%s)",
            (embedder.model_id, [tool.content_hash for tool in tools]),
        )
        known = {bytes(row["hash"]): np.asarray(row["vector"], np.float32) for row in await cursor.fetchall()}
    missing = [tool for tool in tools if tool.content_hash not in known]
    try:
        vectors = await embed(embedder, [tool.text() for tool in missing]) if missing else []
    except EmbeddingError as error:
        _log.warning("Tools are found by words alone until the next start: %s", error)
        return rows
    known.update(zip((tool.content_hash for tool in missing), vectors, strict=True))
    rows = {n: replace(r, indexed=replace(r.indexed, vector=known[r.content_hash])) for n, r in rows.items()}
    async with db.transaction(EVERYONE) as conn, conn.cursor() as cursor:
        await cursor.executemany(
            "INSERT INTO toolbox (name, group_name, tags, description, content_hash, terms, weights, embedding, "
            "embedding_model) VALUES (%s, %s, %s, %s, %s, %s, %s, %s::real[]::halfvec, %s) "
            "ON CONFLICT (name) DO UPDATE SET group_name = excluded.group_name, tags = excluded.tags, "
            "description = excluded.description, content_hash = excluded.content_hash, terms = excluded.terms, "
            "weights = excluded.weights, embedding = excluded.embedding, embedding_model = excluded.embedding_model, "
            "updated_at = now()",
            [_values(tool, rows[tool.name].indexed, embedder.model_id) for tool in tools],
        )
    return rows
