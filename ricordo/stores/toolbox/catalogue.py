"""The catalogue of tools in the database: what a search needs to know of a tool is made once.

Every row belongs to the deployment (user `*`) and is readable by all.
"""

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from psycopg import sql

from ricordo.common.errors import EmbeddingError
from ricordo.common.text import clean
from ricordo.models.embeddings import Embedder, light_embedder
from ricordo.stores.postgres.database import EVERYONE, Database
from ricordo.stores.search.units import literal
from ricordo.stores.toolbox.index import IndexedTool, Scores
from ricordo.stores.toolbox.text import ToolText

_log = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many are done, how many there are."""

_BATCH = 32
"""Tools that are embedded and stored together: an interrupted first start goes on where it stopped."""
_HEADLINE = 0.5
"""Weight in a tool's vector of the sentence that says what it does, beside the whole tool."""
MANY = 100
"""New tools that take long enough to be told of, and for a start not to wait for them."""


class Source(Protocol):
    """What the catalogue asks of a tool."""

    @property
    def name(self) -> str: ...  # noqa: D102 - as its name says
    @property
    def group(self) -> str: ...  # noqa: D102 - as its name says
    @property
    def content_hash(self) -> bytes:
        """Hash of all that the search text comes from."""

    def text(self, more: Sequence[str] = ()) -> ToolText:
        """Return what a search looks at."""


@dataclass(frozen=True)
class Row:
    """A tool as the catalogue holds it."""

    indexed: IndexedTool
    enabled: bool
    augmented: str | None
    augmented_hash: bytes | None


@dataclass(frozen=True)
class Changes:
    """What a synchronisation did, as names."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: int
    failed: Mapping[str, str]
    """Tools of which no schema can be made, with the reason."""
    unwritten: tuple[str, ...] = ()
    """Tools about which the model should have written, and did not."""


@dataclass(frozen=True)
class Entry:
    """A tool to be written, with what a model wrote about it."""

    tool: Source
    augmented: str | None = None
    augmented_hash: bytes | None = None

    @property
    def text(self) -> ToolText:
        """What a search looks at."""
        return self.tool.text([self.augmented] if self.augmented else [])

    @property
    def key(self) -> bytes:
        """Hash under which the vector is cached."""
        return hashlib.sha256(self.tool.content_hash + (self.augmented or "").encode()).digest()


def indexed(
    text: ToolText, content_hash: bytes = b"", vector: Scores | None = None, light: Scores | None = None
) -> IndexedTool:
    """Make of a tool's text what a search needs to know of it."""
    words = text.terms()
    weights = np.fromiter(words.values(), np.float32, len(words))
    return IndexedTool(text.name, text.group, list(words), weights, content_hash, vector, light)


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
            "SELECT name, group_name, content_hash, terms, weights, enabled, augmented, augmented_hash, "
            "CASE WHEN embedding_model = %s THEN halfvec_send(embedding) END AS vector, "
            "CASE WHEN light_model = %s THEN halfvec_send(light) END AS light FROM toolbox",
            (model_id, light_embedder().model_id),
        )
        return {row["name"]: _row(row) for row in await cursor.fetchall()}


def _row(row: Mapping[str, Any]) -> Row:
    words = row["terms"]
    indexed = IndexedTool(
        row["name"],
        row["group_name"],
        words.split(" ") if words else [],
        np.frombuffer(row["weights"], np.float32),
        row["content_hash"],
        _halves(row["vector"]),
        _halves(row["light"]),
    )
    return Row(indexed, row["enabled"], row["augmented"], row["augmented_hash"])


def _halves(sent: bytes | None) -> Scores | None:
    """Read what `halfvec_send` gives: a header of four bytes, then half precision in network order."""
    return None if sent is None else np.frombuffer(sent, ">f2", offset=4).astype(np.float32)


async def store(
    db: Database,
    embedder: Embedder,
    entries: Sequence[Entry],
    known: Mapping[bytes, IndexedTool],
    progress: Progress | None,
) -> AsyncIterator[dict[str, IndexedTool]]:
    """Index, embed and write new and changed tools; yield each batch. Whether they are enabled stays as it is.

    Without the embedding model they are not written, and the other views find them until the next start.

    Args:
        db: The database.
        embedder: The embedding model.
        entries: The tools.
        known: Tools as the process or the catalogue has them already, by their content hashes.
        progress: Told after each batch.

    Raises:
        DatabaseError: The database cannot be reached.
    """
    if len(entries) >= MANY:
        _log.warning(
            "%d tools are new or changed and are embedded once, which takes a while; until then their words find them.",
            len(entries),
        )
    for start in range(0, len(entries), _BATCH):
        batch = entries[start : start + _BATCH]
        made = await asyncio.to_thread(_by_words, batch, known)
        made = [replace(t, light=v) for t, v in zip(made, await _lights(batch, known), strict=True)]
        try:
            vectors = await _vectors(db, embedder, batch, known)
        except EmbeddingError as error:
            _log.warning("Some tools are found without the embedding model until the next start: %s", error)
        else:
            made = [replace(tool, vector=vector) for tool, vector in zip(made, vectors, strict=True)]
            await _write(db, embedder.model_id, list(zip(batch, made, strict=True)))
        yield {tool.name: tool for tool in made}
        if progress:
            progress("indexing tools", start + len(batch), len(entries))


def _by_words(entries: Sequence[Entry], known: Mapping[bytes, IndexedTool]) -> list[IndexedTool]:
    """Index tools by their words, those excepted that are known."""
    made = (known[e.tool.content_hash] if _plain(e, known) else indexed(e.text, e.tool.content_hash) for e in entries)
    return [replace(tool, vector=None, light=None) for tool in made]


async def _lights(entries: Sequence[Entry], known: Mapping[bytes, IndexedTool]) -> Sequence[Scores | None]:
    """Embed tools by the light model, those excepted that are known; without it, the other views find them."""
    vectors = {e.key: known[e.tool.content_hash].light for e in entries if _plain(e, known)}
    missing = [entry for entry in entries if vectors.get(entry.key) is None]
    try:
        made = await embed(light_embedder(), [entry.text for entry in missing])
    except EmbeddingError as error:
        _log.warning("Some tools are found less well until the next start: %s", error)
    else:
        vectors.update(zip((entry.key for entry in missing), made, strict=True))
    return [vectors.get(entry.key) for entry in entries]


def _plain(entry: Entry, known: Mapping[bytes, IndexedTool]) -> bool:
    """Tell whether a tool is known, and no text by a model makes it another."""
    return not entry.augmented and entry.tool.content_hash in known


async def _vectors(
    db: Database, embedder: Embedder, entries: Sequence[Entry], known: Mapping[bytes, IndexedTool]
) -> list[Scores]:
    """Embed tools, those excepted that the process knows or that were embedded before they went away."""
    keys = [entry.key for entry in entries]
    async with db.transaction(EVERYONE) as conn:
        cursor = await conn.execute(
            "SELECT hash, embedding::real[] AS vector FROM embedding_cache WHERE model = %s AND hash = ANY(%s)",
            (embedder.model_id, keys),
        )
        vectors = {bytes(row["hash"]): np.asarray(row["vector"], np.float32) for row in await cursor.fetchall()}
    mine = ((e.key, known[e.tool.content_hash].vector) for e in entries if _plain(e, known))
    vectors |= {key: vector for key, vector in mine if vector is not None}
    missing = [entry for entry in entries if entry.key not in vectors]
    if missing:
        made = await embed(embedder, [entry.text for entry in missing])
        vectors.update(zip((entry.key for entry in missing), made, strict=True))
    return [vectors[key] for key in keys]


async def _write(db: Database, model_id: str, made: Sequence[tuple[Entry, IndexedTool]]) -> None:
    columns = (
        "name, group_name, tags, description, content_hash, terms, weights, embedding, embedding_key, "
        "embedding_model, light, light_model, augmented, augmented_hash"
    )
    values = [
        (
            tool.name,
            tool.group,
            list(entry.text.tags),
            clean(entry.text.description),
            tool.content_hash,
            " ".join(tool.terms),
            tool.weights.tobytes(),
            literal(tool.vector) if tool.vector is not None else None,
            entry.key,
            model_id,
            literal(tool.light) if tool.light is not None else None,
            light_embedder().model_id,
            entry.augmented,
            entry.augmented_hash,
        )
        for entry, tool in made
    ]
    update = ", ".join(f"{name} = excluded.{name}" for name in columns.split(", ")[1:])
    statement = sql.SQL(
        "INSERT INTO toolbox ({columns}) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s, %s::halfvec, %s, %s, %s::halfvec, %s, %s, %s) "
        "ON CONFLICT (name) DO UPDATE SET {update}, updated_at = now()"
    ).format(columns=sql.SQL(columns), update=sql.SQL(update))
    async with db.transaction(EVERYONE) as conn, conn.cursor() as cursor:
        await cursor.executemany(statement, values)


async def remove(db: Database, names: Collection[str]) -> None:
    """Take tools out of the catalogue; their vectors are kept, in case they come back.

    Raises:
        DatabaseError: The database cannot be reached.
    """
    if not names:
        return
    async with db.transaction(EVERYONE) as conn:
        await conn.execute(
            "WITH gone AS (DELETE FROM toolbox WHERE name = ANY(%s) RETURNING *) "
            "INSERT INTO embedding_cache (user_id, model, hash, embedding) "
            "SELECT user_id, embedding_model, embedding_key, embedding FROM gone ON CONFLICT DO NOTHING",
            (list(names),),
        )


async def set_enabled(db: Database, name: str, *, enabled: bool) -> bool:
    """Set a tool aside or take it back; tell whether the catalogue has it.

    Raises:
        DatabaseError: The database cannot be reached.
    """
    async with db.transaction(EVERYONE) as conn:
        cursor = await conn.execute("UPDATE toolbox SET enabled = %s WHERE name = %s", (enabled, name))
        return cursor.rowcount == 1
