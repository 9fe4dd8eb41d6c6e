"""Looks through a whole database for traces of somebody."""

from collections.abc import Iterable

import psycopg
from psycopg import sql

_COLUMNS = """
    SELECT c.relname AS table, a.attname AS column, t.typname = 'bytea' AS is_bytes
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_type t ON t.oid = a.atttypid
    WHERE c.relkind IN ('r', 'm', 'p', 't') AND c.relnamespace = 'public'::regnamespace
"""


def traces(dsn: str, needles: Iterable[str]) -> list[str]:
    """Return where any of some texts stands: in a column of any type, as text or as bytes, or in the statistics.

    Every column of every table is looked at, whatever its type: arrays too are compared as they are written.
    """
    found = []
    with psycopg.connect(dsn, autocommit=True) as conn:
        columns = conn.execute(_COLUMNS).fetchall()
        assert len(columns) > 100, "the catalogue was read"
        places = [(table, column, is_bytes) for table, column, is_bytes in columns]
        for needle in needles:
            for table, column, is_bytes in places:
                text = (
                    sql.SQL("position(%s::bytea in {c}) > 0") if is_bytes else sql.SQL("position(%s in {c}::text) > 0")
                )
                query = sql.SQL("SELECT count(*) FROM {t} WHERE ").format(t=sql.Identifier(table)) + text.format(
                    c=sql.Identifier(column)
                )
                (count,) = conn.execute(query, (needle.encode() if is_bytes else needle,)).fetchone() or (0,)
                if count:
                    found.append(f"{needle} in {table}.{column}: {count}")
            kept = conn.execute(
                "SELECT tablename, attname FROM pg_stats WHERE schemaname = 'public' AND position(%s in "
                "concat(most_common_vals::text, histogram_bounds::text, most_common_elems::text)) > 0",
                (needle,),
            ).fetchall()
            found += [f"{needle} in the statistics of {table}.{column}" for table, column in kept]
    return found


def counts(dsn: str, but: str) -> dict[tuple[str, str], int]:
    """Return how many rows every user has in every table, without one user."""
    held: dict[tuple[str, str], int] = {}
    with psycopg.connect(dsn, autocommit=True) as conn:
        tables = [t for t, c, _ in conn.execute(_COLUMNS).fetchall() if c == "user_id"]
        for table in tables:
            query = sql.SQL("SELECT user_id, count(*) FROM {} WHERE user_id <> %s GROUP BY 1").format(
                sql.Identifier(table)
            )
            held |= {(table, user): count for user, count in conn.execute(query, (but,)).fetchall()}
    return held
