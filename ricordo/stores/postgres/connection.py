"""Connections to PostgreSQL, and what is said when there is none."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row

from ricordo.common.errors import ConfigurationError, DatabaseError

Connection = AsyncConnection[dict[str, Any]]
"""Rows are dicts."""

_DEFAULTS: dict[str, Any] = {"connect_timeout": 10, "application_name": "ricordo"}
_FULL = re.compile(r"too many (?:clients|connections)|connection slots|no more connections allowed")
"""What a server (53300) and PgBouncer say when all their places are taken; a refused connection has no SQLSTATE."""
FULL_SECONDS = 60
"""How long one waits for a place."""
_POLL_SECONDS = 0.2


def normalise(dsn: str) -> str:
    """Read an address and fill in what we want where it says nothing.

    Raises:
        ConfigurationError: The address is malformed.
    """
    try:
        given = conninfo_to_dict(dsn)
    except psycopg.Error:
        # Not chained: the message of the cause shows parts of the address, and so of the password.
        raise ConfigurationError(
            "The address of the database cannot be read. RICORDO_DATABASE_URL is written as "
            "postgresql://user:password@host:5432/database; special characters in the password are percent-encoded."
        ) from None
    # Whatever the server, the role or PGCLIENTENCODING says: we write what people write.
    return make_conninfo("", **(_DEFAULTS | given | {"client_encoding": "UTF8"}))


def options_for(*, pooled: bool = False, prepare_after: int = 3) -> dict[str, Any]:
    """Return the options of a connection, as LangGraph's saver wants them too: no transaction unless one is opened.

    Args:
        pooled: A pooler gives a server to each transaction: a prepared statement would be left on another's.
        prepare_after: How often a statement is run before it is prepared.
    """
    return {"autocommit": True, "row_factory": dict_row, "prepare_threshold": None if pooled else prepare_after}


def describe(dsn: str) -> str:
    """Name a database and its server; never the password."""
    parts = conninfo_to_dict(dsn)
    host = parts.get("host") or parts.get("hostaddr") or "the local socket"
    return (
        f"database {parts.get('dbname') or parts.get('user') or 'postgres'} at {host}, port {parts.get('port') or 5432}"
    )


def failure(dsn: str, error: psycopg.Error) -> DatabaseError:
    """Say that the database cannot be used, and why."""
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return DatabaseError(
        f"PostgreSQL failed ({describe(dsn)}): {reason}. What was saved before is kept, an answer that was given "
        "included: look there before you ask again. ricordo doctor shows whether the server runs; the embedded one is "
        "started by the next command, one of your own is that of RICORDO_DATABASE_URL."
    )


async def connect(dsn: str) -> Connection:
    """Open one connection outside the pool, as the user of the address; wait while the server has no place for it.

    Raises:
        ConfigurationError: The address is malformed.
        DatabaseError: The server cannot be reached or refuses us.
    """
    dsn = normalise(dsn)
    deadline = time.monotonic() + FULL_SECONDS
    while True:
        try:
            return await AsyncConnection.connect(dsn, **options_for())
        except psycopg.OperationalError as error:
            if not is_full(error) or time.monotonic() > deadline:
                raise failure(dsn, error) from error
        await asyncio.sleep(_POLL_SECONDS)


def is_full(error: BaseException) -> bool:
    """Tell whether a connection was refused for want of a place, which others will make by leaving."""
    return _FULL.search(str(error)) is not None


@asynccontextmanager
async def alone(dsn: str, lock: str, doing: str, *, wait: bool = False) -> AsyncIterator[Connection]:
    """Keep other processes out of a long work; the database lets go of the lock when this one dies.

    Args:
        dsn: The database.
        lock: Name of the lock.
        doing: What whoever holds it is at, for the message.
        wait: Whether to wait for whoever holds it.

    Yields:
        The session that holds the lock.

    Raises:
        DatabaseError: Another process holds the lock.
    """
    async with await connect(dsn) as session:
        if wait:
            await session.execute("SELECT pg_advisory_lock(hashtext(%s))", [lock])
            yield session
            return
        row = await (await session.execute("SELECT pg_try_advisory_lock(hashtext(%s)) AS alone", [lock])).fetchone()
        if not (row and row["alone"]):
            raise DatabaseError(
                f"Another process is {doing}. Wait for it to end, or end it and try again: what it has done is kept."
            )
        yield session
