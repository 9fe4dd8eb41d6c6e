"""Forgotten is forgotten: what other memories hold of a statement goes with it, and does not come back by an undo.

Workflows and mentions of entities are meant. The conversation itself stays as it was spoken.
"""

import re
from collections.abc import Sequence
from uuid import UUID

from ricordo.models.embeddings import Embedder
from ricordo.stores import entity
from ricordo.stores.postgres.connection import Connection
from ricordo.stores.search.vectors import VectorMemory
from ricordo.stores.user_memory import rows
from ricordo.stores.user_memory.firewall import share_of, states
from ricordo.stores.user_memory.rows import Row
from ricordo.stores.user_memory.signs import even, fold, written

_HALF = 0.5
"""Share of the words, of the statement or of a mention, by which a mention in the statement's own message is told."""
_WORD = re.compile(r"[a-z0-9]{3,}")
_BEGINNING = 3
"""Characters of a word that the database looks for, before its texts are read."""


async def erase(
    conn: Connection, embedder: Embedder, user_id: str, gone: Sequence[Row], *, instead: str | None = None
) -> None:
    """Delete the workflows and the mentions that hold what some memories say, and entities that are left without one.

    Args:
        conn: A transaction of the user.
        embedder: Embeds anew what stays of an entity.
        user_id: Whose memories they are.
        gone: The memories.
        instead: What has taken their place; what says that stays.

    Raises:
        EmbeddingError: The embedding model cannot be used.
    """
    sources = [source for found in (await rows.sources(conn, [row["id"] for row in gone])).values() for source in found]
    said_in = {source["message_id"] for source in sources if source["message_id"]}
    texts = list(dict.fromkeys([*(row["content"] for row in gone), *(source["wording"] for source in sources)]))

    own = _signed(instead or "")

    def has(text: str) -> bool:
        held = (one for one in texts if states(one, text))
        return any(
            instead is None or share_of(one, text) > share_of(instead, text) or (_signed(one) - own) & _signed(text)
            for one in held
        )

    def is_told(mention: Row) -> bool:
        return has(mention["mention"]) or (
            mention["message_id"] in said_in
            and any(max(share_of(one, mention["mention"]), share_of(mention["mention"], one)) >= _HALF for one in texts)
        )

    like = _like(texts)
    cursor = await conn.execute(
        "SELECT id, content, (thread_id, run_id) IN (SELECT thread_id, run_id FROM messages WHERE id = ANY(%s)) AS own "
        "FROM workflow WHERE content ~* %s OR octet_length(content) > char_length(content) "
        "OR (thread_id, run_id) IN (SELECT thread_id, run_id FROM messages WHERE id = ANY(%s))",
        (list(said_in), like, list(said_in)),
    )
    told = [row["id"] for row in await cursor.fetchall() if row["own"] or has(row["content"])]
    await conn.execute("DELETE FROM workflow WHERE id = ANY(%s)", (told,))
    cursor = await conn.execute(
        "SELECT entity_id, message_id, mention FROM entity_mentions "
        "WHERE mention ~* %s OR octet_length(mention) > char_length(mention) OR message_id = ANY(%s)",
        (like, list(said_in)),
    )
    mentions = [row for row in await cursor.fetchall() if is_told(row)]
    cursor = await conn.execute(
        "SELECT id, description FROM entity "
        "WHERE description ~* %s OR octet_length(description) > char_length(description)",
        (like,),
    )
    described: set[UUID] = {row["id"] for row in await cursor.fetchall() if has(row["description"])}
    await entity.take_back(conn, VectorMemory("entity", embedder), user_id, mentions, described)


def _signed(text: str) -> set[str]:
    """Return the words that a sign or their case tells from others: a correction may change nothing else.

    >>> sorted(_signed("My budget is $500, not 500."))
    ['$500']
    """
    words = (word.strip(".,;:!?()\"'") for word in even(text).split())
    return {word for word in words if any(one.exact for one in written(word))}


def _like(texts: Sequence[str]) -> str:
    """Return a pattern that every text of plain letters meets which has one of the words."""
    words = {word[:_BEGINNING] for text in texts for word in _WORD.findall(fold(text))}
    return rf"\m({'|'.join(sorted(words))})" if words else "(?!)"
