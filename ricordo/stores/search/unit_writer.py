"""How units become rows: in batches, with their words, and at places beside their neighbours."""

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.types.json import Json, Jsonb

from ricordo.common.text import clean
from ricordo.common.words import date_words, terms
from ricordo.models.embedding_models import Vectors
from ricordo.models.embeddings import text_hash
from ricordo.stores.postgres.connection import Connection
from ricordo.stores.search.units import Prepared, Unit, is_whole, literal

SEQUENCES: Mapping[str, str] = {"knowledge_base": "document_id", "user_memory": "thread_id"}
"""The column whose units follow each other, for tables that have such an order."""
Record = dict[str, Any]

_BATCH = 500
"""Units written by one statement."""
_FIXED = frozenset({"id", "user_id", "place"})
"""Columns that a unit keeps when it is written anew."""
_SEQUENCE_BITS = 24
"""A sequence has 2^24 places of its own; two that meet by chance share them."""


def batches(ready: Prepared, user_id: str, model: str) -> list[list[Record]]:
    """Make the rows, in batches whose units set the same columns; the others of the table keep their defaults."""
    batches: list[list[Record]] = []
    for unit, vector in zip(ready.units, ready.vectors, strict=True):
        record = _record(unit, vector, user_id, model)
        if batches and len(batches[-1]) < _BATCH and batches[-1][0].keys() == record.keys():
            batches[-1].append(record)
        else:
            batches.append([record])
    return batches


def _record(unit: Unit, vector: Vectors, user_id: str, model: str) -> Record:
    text = unit.searched
    words = terms(text if unit.when is None else f"{text}\n{date_words(unit.when)}")
    return {
        **unit.columns,
        "id": unit.id,
        "user_id": user_id,
        # Far from all others, unless it is in a sequence: see give_places.
        "place": int.from_bytes(unit.id.bytes[:8], "big", signed=True),
        "content": clean(unit.content),
        "indexed": None if unit.indexed is None else text,
        "hash": "\\x" + text_hash(text).hex(),
        "embedding": literal(vector) if is_whole(vector) else None,
        "embedding_model": model if is_whole(vector) else None,
        "words": list(words),
        "counts": list(words.values()),
        "length": words.total(),
    }


async def give_places(conn: Connection, table: str, records: Sequence[Record]) -> None:
    """Put the units of a sequence behind its last one."""
    column = SEQUENCES.get(table)
    sequences: dict[int, list[Record]] = {}
    for record in records:
        if column is not None and (key := record.get(column)) is not None:
            # Of this user's own: places of different users, met in one search of what they share, do not mix.
            name = text_hash(json.dumps([record["user_id"], str(key)]))
            first = int.from_bytes(name[:8], "big", signed=True) >> _SEQUENCE_BITS << _SEQUENCE_BITS
            sequences.setdefault(first, []).append(record)
    if not sequences:
        return
    # Two that write to a sequence at once would take the same places: one waits for the other's transaction. All take
    # their sequences in the same order, so that no two wait for each other.
    async with conn.pipeline():
        await conn.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s || current_setting('app.user_id'), first)) "
            "FROM unnest(%s::bigint[]) AS s(first)",
            (table, sorted(sequences)),
        )
        cursor = await conn.execute(
            sql.SQL(
                "SELECT first, (SELECT max(place) FROM {t} WHERE user_id = current_setting('app.user_id') "
                "AND place BETWEEN first AND first + %s) AS last FROM unnest(%s::bigint[]) AS s(first)"
            ).format(t=sql.Identifier(table)),
            (2**_SEQUENCE_BITS - 1, list(sequences)),
        )
    for row in await cursor.fetchall():
        after = row["first"] if row["last"] is None else row["last"] + 1
        for place, record in enumerate(sequences[row["first"]], after):
            record["place"] = place


async def insert(conn: Connection, table: str, records: Sequence[Record], *, replace: bool) -> list[UUID]:
    """Insert rows; where the id is there already, keep what is there or replace it.

    Returns:
        The ids written.
    """
    names = {name: sql.Identifier(name) for name in records[0]}
    changes = [sql.SQL("{c} = excluded.{c}").format(c=c) for name, c in names.items() if name not in _FIXED]
    update = sql.SQL("UPDATE SET {}").format(sql.SQL(", ").join(changes))
    cursor = await conn.execute(
        sql.SQL(
            "INSERT INTO {t} ({columns}) SELECT {columns} FROM json_populate_recordset(NULL::{t}, %s) "
            "ON CONFLICT (id) DO {conflict} RETURNING id"
        ).format(
            t=sql.Identifier(table),
            columns=sql.SQL(", ").join(names.values()),
            conflict=update if replace else sql.SQL("NOTHING"),
        ),
        (json.dumps(records, default=_plain),),
    )
    return [row["id"] for row in await cursor.fetchall()]


def _plain(value: object) -> Any:
    if isinstance(value, Json | Jsonb):
        return value.obj
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"a column of a unit cannot hold {type(value).__name__}")
