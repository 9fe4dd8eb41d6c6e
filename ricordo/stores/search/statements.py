"""The statements of a search in one table: words, then meaning, then the rows of what is best.

A user with few units is searched exactly; the vector index, which belongs to all users, serves those with many. It
comes back short when a user or a condition leaves little of what it visits: then too the search is exact.
"""

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import numpy as np
from psycopg import sql

from ricordo.models.embedding_models import Vectors
from ricordo.stores.postgres.connection import Connection
from ricordo.stores.search.fusion import Posting, bm25, fuse
from ricordo.stores.search.units import Query, literal

_CANDIDATES = 60
"""Units that each half brings to the fusion, and twice as many as are asked for."""
_FILTERED_CANDIDATES = 2000
"""The same for words where a condition will remove an unknown share of them."""
_WIDEST_VISIT = 1000
"""What the vector index takes as its `ef_search`; it goes on by itself where that is not enough."""
_QUERY_TERMS = 64
"""Terms of a query that are looked up, the most frequent ones."""
_SAMPLE = 256
"""The average unit is taken from about as many, picked by a hash."""
_CENTRE_HELD_BACK = 20
_MANY = 100
"""Units from which on a user's statistics are kept for a while: a few more change nothing then."""
_KEPT_SECONDS = 60
_KEPT_USERS = 1000
_EXACT = 2000
"""Units up to which an exact search is faster than the index in any case."""
_VISIT = 500
"""Above that, an exact look at n units costs as much as the index does where N / n ≥ n / 500 of N units are this
user's: it visits that many strangers for each of them."""


@dataclass(frozen=True)
class Statistics:
    """What the ranking needs to know of all units of a user."""

    units: int
    mean_length: float
    """Terms of a unit, on average."""
    centre: Vectors | None
    """The average vector, shape (dims,); None where no unit is embedded by this model."""
    in_table: int
    """Units of all users, roughly."""
    read_at: float = field(default_factory=time.monotonic)

    @property
    def by_index(self) -> bool:
        """Whether the vector index is faster than an exact search."""
        return self.units > _EXACT and self.units**2 > _VISIT * max(self.in_table, self.units)


class Search:
    """Searches one table with one embedding model."""

    def __init__(self, table: str, model: str, *, near: bool) -> None:
        self._near = near
        self._kept: OrderedDict[tuple[str, ...], Statistics] = OrderedDict()
        self._columns: sql.Composed | None = None
        self._names = {
            "t": sql.Identifier(table),
            "terms": sql.Identifier(f"{table}_terms"),
            "model": sql.Literal(model),
        }
        self._table = table

    async def run(
        self, conn: Connection, query: Query, k: int, *, where: sql.Composable | None, params: Sequence[Any]
    ) -> dict[UUID, float]:
        """Return the ids of the k best units with their scores, best first."""
        asked = [term for term, _ in query.terms.most_common(_QUERY_TERMS)]
        count = max(_CANDIDATES, 2 * k)
        owners, postings = await self._postings(conn, asked, count)
        known = await self._statistics(conn, owners)
        words = bm25(postings, len(asked), known.units, known.mean_length, near=self._near)
        nearest = _Nearest(query.embedding, known, count)
        places = words.best(count if where is None else max(count, _FILTERED_CANDIDATES))
        # The database sees to it that no other rows are read. Said here too, it plans with the number of the users.
        theirs = sql.SQL("user_id = ANY(%s) AND ({})").format(where or sql.SQL("true"))
        found = await self._candidates(conn, nearest, places, theirs, [list(owners), *params])
        if not found:
            return {}
        at = np.array([row["place"] for row in found.values()])
        dense = np.array([np.nan if row["dense"] is None else row["dense"] for row in found.values()])
        fused = fuse(dense, words.at(at), words.possible)
        ids = list(found)
        order = np.lexsort((at, -np.nan_to_num(dense), -fused))[:k]
        return {ids[i]: float(fused[i]) for i in order}

    async def rows(self, conn: Connection, ids: Sequence[UUID], query: Query) -> dict[UUID, dict[str, Any]]:
        """Read units whole, without the columns that only serve the search.

        Beside them `with_query` and `with_centre`: inner products with the question and with what closeness is measured
        against, None where there is no vector.
        """
        if self._columns is None:
            cursor = await conn.execute(
                "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped "
                "AND attname <> ALL(ARRAY['place', 'hash', 'embedding', 'words', 'counts']) ORDER BY attnum",
                (self._table,),
            )
            self._columns = sql.SQL(", ").join([sql.Identifier(row["attname"]) for row in await cursor.fetchall()])
        against: list[str | None] = [None, None]
        if query.embedding is not None and query.background is not None:
            against = [literal(query.embedding), literal(query.background.centre)]
        statement = sql.SQL(
            "SELECT {columns}, -(own <#> %s::halfvec) AS with_query, -(own <#> %s::halfvec) AS with_centre FROM {t}, "
            "LATERAL (SELECT CASE WHEN embedding_model = {model} THEN embedding END AS own) v WHERE id = ANY(%s)"
        ).format(columns=self._columns, **self._names)
        cursor = await conn.execute(statement, (*against, list(ids)))
        return {row["id"]: row for row in await cursor.fetchall()}

    async def _postings(self, conn: Connection, terms: list[str], count: int) -> tuple[tuple[str, ...], list[Posting]]:
        """Read whose units are searched and where the terms occur, packed: a common word occurs thousands of times."""
        cursor = await conn.execute(
            sql.SQL(
                # The settings of the vector index go along, to save a round trip.
                "SELECT ricordo_owners(%s) AS owners, NULL::bytea AS places, NULL::bytea AS counts, "
                "NULL::bytea AS lengths, set_config('hnsw.iterative_scan', 'relaxed_order', true), "
                "set_config('hnsw.ef_search', %s::text, true) UNION ALL "
                "SELECT NULL, string_agg(int8send(place), ''), string_agg(int4send(tf), ''), "
                "string_agg(int4send(length), ''), NULL, NULL FROM {terms} WHERE term = ANY(%s) GROUP BY term"
            ).format(**self._names),
            (self._table, min(count, _WIDEST_VISIT), terms),
        )
        head, *rows = await cursor.fetchall()
        return tuple(head["owners"]), [_posting(row) for row in rows]

    async def _statistics(self, conn: Connection, owners: tuple[str, ...]) -> Statistics:
        kept = self._kept.get(owners)
        if kept is not None and time.monotonic() - kept.read_at < _KEPT_SECONDS:
            return kept
        cursor = await conn.execute(
            sql.SQL(
                "SELECT units, mean_length, "
                "(SELECT reltuples::bigint FROM pg_class WHERE oid = %s::regclass) AS in_table, "
                "(SELECT avg(embedding)::real[] FROM {t} WHERE embedding_model = {model} "
                "AND user_id = ANY(%s) AND place = ANY(ARRAY(SELECT place FROM {t} WHERE user_id = ANY(%s) "
                "AND hashint8(place) %% greatest(units / %s, 1) = 0))) AS centre "
                "FROM (SELECT count(*)::int AS units, coalesce(avg(length), 0)::float8 AS mean_length FROM {t} "
                "WHERE user_id = ANY(%s)) known"
            ).format(**self._names),
            (self._table, list(owners), list(owners), _SAMPLE, list(owners)),
        )
        (row,) = await cursor.fetchall()
        centre = None if row["centre"] is None else np.asarray(row["centre"], np.float32)
        known = Statistics(row["units"], row["mean_length"], centre, row["in_table"])
        self._kept.pop(owners, None)
        if known.units >= _MANY:
            self._kept[owners] = known
            if len(self._kept) > _KEPT_USERS:
                self._kept.popitem(last=False)
        return known

    async def _candidates(
        self, conn: Connection, nearest: "_Nearest", places: list[int], where: sql.Composable, params: list[Any]
    ) -> dict[UUID, dict[str, Any]]:
        """Read the units nearest in meaning and those at the places: id, place, dense."""
        names = self._names | {"where": where, "n": sql.Literal(nearest.count)}
        vector = nearest.vector
        if vector is None:
            by_words = sql.SQL("SELECT id, place, NULL AS dense FROM {t} WHERE place = ANY(%s) AND ({where})")
            cursor = await conn.execute(by_words.format(**names), (places, *params))
            return {row["id"]: row for row in await cursor.fetchall()}
        rows: list[dict[str, Any]] = []
        if nearest.by_index:
            statement = sql.SQL(
                "(SELECT id, place, 1 - (embedding::halfvec({width}) <=> %s::halfvec({width})) AS dense, true AS near "
                "FROM {t} WHERE embedding_model = {model} AND ({where}) "
                "ORDER BY embedding::halfvec({width}) <=> %s::halfvec({width}) LIMIT {n}) UNION ALL "
                "SELECT id, place, CASE WHEN embedding_model = {model} THEN -(embedding <#> %s::halfvec) END, false "
                "FROM {t} WHERE place = ANY(%s) AND ({where})"
            ).format(width=sql.Literal(nearest.width), **names)
            cursor = await conn.execute(statement, (vector, *params, vector, vector, places, *params))
            rows = await cursor.fetchall()
        if sum(row["near"] for row in rows) < nearest.count:
            statement = sql.SQL(
                "WITH scored AS MATERIALIZED (SELECT id, place, CASE WHEN embedding_model = {model} "
                "THEN -(embedding <#> %s::halfvec) END AS dense FROM {t} WHERE ({where})) "
                "(SELECT * FROM scored WHERE dense IS NOT NULL ORDER BY dense DESC LIMIT {n}) UNION ALL "
                "SELECT * FROM scored WHERE place = ANY(%s)"
            ).format(**names)
            cursor = await conn.execute(statement, (vector, *params, places))
            rows = await cursor.fetchall()
        for row in rows:
            row["dense"] = None if row["dense"] is None else row["dense"] - nearest.average
        return {row["id"]: row for row in rows}


class _Nearest:
    """What is near a query in meaning, and how it is looked for.

    What a unit shares with the average one says nothing about it: unit vectors are compared with query - centre, which
    ranks them by what they have beyond that.
    """

    def __init__(self, embedding: Vectors | None, known: Statistics, count: int) -> None:
        self.count = count
        self.vector: str | None = None
        self.by_index = known.by_index
        if embedding is None or known.centre is None:
            return
        # Few units are no sample of anything: their average is held back.
        beyond = embedding - known.centre * (known.units / (known.units + _CENTRE_HELD_BACK))
        beyond /= max(float(np.linalg.norm(beyond)), 1e-9)
        self.vector = literal(beyond)
        self.width = len(embedding)
        self.average = float(beyond @ known.centre)
        """What the average unit scores."""


def _posting(row: dict[str, Any]) -> Posting:
    places = np.frombuffer(row["places"], ">i8").astype(np.int64)
    order = np.argsort(places, kind="stable")
    counts, lengths = (np.frombuffer(row[name], ">i4").astype(np.int32)[order] for name in ("counts", "lengths"))
    return Posting(places[order], counts, lengths)
