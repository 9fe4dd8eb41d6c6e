"""A database for measuring, beside the user's own: made on the same server, dropped in the end."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.errors import InsufficientPrivilege

from ricordo.common.errors import DatabaseError
from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.connection import connect
from ricordo.stores.postgres.database import Database
from ricordo.stores.postgres.migrate import migrate
from ricordo.stores.postgres.role import ROLE_OF
from ricordo.stores.search.vectors import ensure_space


@asynccontextmanager
async def scratch_database(dsn: str, embedder: Embedder) -> AsyncIterator[Database]:
    """Open an empty, migrated database on a server.

    Args:
        dsn: Any database of the server, by a role that may create databases.
        embedder: Its model fills the new database.

    Raises:
        DatabaseError: The role may not create databases.
    """
    name = f"ricordo_scratch_{uuid4().hex[:12]}"
    await _run(dsn, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        own = make_conninfo(dsn, dbname=name)
        await migrate(own)
        await ensure_space(own, embedder)
        async with Database.open(own) as db:
            yield db
    finally:
        await _drop(dsn, name)


async def _drop(dsn: str, name: str) -> None:
    async with await connect(dsn) as conn:
        row = await (await conn.execute(f"{ROLE_OF}%s".encode(), [name])).fetchone()
    await _run(dsn, sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
    if row:
        await _run(dsn, sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(row["role"])))


async def _run(dsn: str, statement: sql.Composed) -> None:
    try:
        async with await connect(dsn) as conn:
            await conn.execute(statement)
    except InsufficientPrivilege as error:
        raise DatabaseError(
            f"Measuring needs a database of its own, and this role may not create one: {error}. Let it (ALTER ROLE … "
            "CREATEDB), or unset RICORDO_DATABASE_URL to measure on the embedded server."
        ) from error
