"""The schema brought up to date: extensions, the application's role, migrations, the checkpointer's tables.

When nothing is to be done, that costs one connection and one query.
"""

import asyncio
import hashlib
import importlib
from importlib import metadata, resources

import psycopg
from psycopg import sql

from ricordo.common.errors import DatabaseError
from ricordo.stores.postgres.connection import Connection, connect, failure
from ricordo.stores.postgres.fitness import assert_own_schema, assert_policies_filter, assert_writable_text
from ricordo.stores.postgres.role import EXTENSIONS, PLACEHOLDER, ROLE_OF, ensure_role, refused, role_of

_PGVECTOR = (0, 8)
_CHECKPOINTER = "langgraph-checkpoint-postgres"
_ROLE = "application role"
"""Recorded beside the migrations, with the role's name as its fingerprint."""
_OF_ANOTHER = "Ricordo needs a database of its own, without other tables."
_LOCK_KEY = 7_524_401_827
_LOCK_SECONDS = 120
_POLL_SECONDS = 0.05


async def migrate(dsn: str) -> None:
    """Bring the schema up to date; several processes may do so at once, and again without effect.

    All that is of our own making is one transaction: after an error, the database is as it was.

    Raises:
        ConfigurationError: The address is malformed.
        DatabaseError: The server cannot be reached, lacks pgvector or refuses what we need; or the schema is not ours.
    """
    scripts = await asyncio.to_thread(_scripts)
    async with await connect(dsn) as conn:
        assert_writable_text(conn)
        try:
            applied, role = await _applied(conn)
            if _pending(scripts, applied, role):
                await _lock(conn)
                await _bring_up_to_date(conn, scripts)
        except psycopg.errors.InsufficientPrivilege as error:
            raise await refused(conn, error) from error
        except psycopg.Error as error:
            raise failure(dsn, error) from error


async def _bring_up_to_date(conn: Connection, scripts: dict[str, str]) -> None:
    applied, _ = await _applied(conn)
    role = await role_of(conn)
    pending = _pending(scripts, applied, role)
    async with conn.transaction():
        if not applied:
            await _ensure_extensions(conn)
            await assert_own_schema(conn)
            await _assert_no_other_checkpoints(conn)
        if _ROLE in pending:
            await ensure_role(conn, role)
        for name in pending:
            if name in scripts and name != _CHECKPOINTER:
                await _apply(conn, name, scripts[name], role)
        if _ROLE in pending:
            await conn.execute("SELECT ricordo_give_rights(%s)", [role])  # of 0011_own_role.sql
            await _record(conn, _ROLE, role)
    if _CHECKPOINTER in pending:
        await _set_up_checkpointer(conn, scripts[_CHECKPOINTER])


def _scripts() -> dict[str, str]:
    """Read what the schema is made of: each migration's SQL by file name, and the checkpointer's version."""
    folder = resources.files("ricordo.stores.postgres.migrations")
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return {f.name: f.read_text(encoding="utf-8") for f in files} | {_CHECKPOINTER: metadata.version(_CHECKPOINTER)}


def _fingerprint(script: str) -> str:
    return hashlib.sha256(script.encode()).hexdigest()


async def _applied(conn: Connection) -> tuple[dict[str, str], str]:
    """Return the fingerprints of what has been applied, by name, and the role that this database's application has.

    Raises:
        DatabaseError: The list is another program's.
    """
    try:
        cursor = await conn.execute(
            f"SELECT name, fingerprint, ({ROLE_OF}current_database()) AS role, "  # noqa: S608 - ours
            "current_setting('row_security') AS row_security FROM ricordo_migrations".encode()
        )
        rows = await cursor.fetchall()
    except psycopg.errors.UndefinedTable:
        return {}, ""
    except (psycopg.errors.UndefinedColumn, psycopg.errors.WrongObjectType) as error:
        raise DatabaseError(f"The table ricordo_migrations is another program's: {error}. {_OF_ANOTHER}") from error
    if rows:
        assert_policies_filter(conn, rows[0]["row_security"])
    return {row["name"]: row["fingerprint"] for row in rows}, rows[0]["role"] if rows else ""


def _pending(scripts: dict[str, str], applied: dict[str, str], role: str) -> list[str]:
    """Return the names that are still to be applied, in order.

    Raises:
        DatabaseError: What was applied is not what we have.
    """
    wanted = {name: _fingerprint(script) for name, script in scripts.items()} | {_ROLE: role}
    if unknown := sorted(applied.keys() - wanted.keys()):
        raise DatabaseError(
            f"The database was made by a newer Ricordo (it has {', '.join(unknown)}). Update Ricordo, or use another "
            f"database."
        )
    pending = [name for name, fingerprint in wanted.items() if applied.get(name) != fingerprint]
    if changed := [name for name in pending if name in applied and name not in {_CHECKPOINTER, _ROLE}]:
        raise DatabaseError(
            f"The database was made with other versions of {', '.join(changed)}. Migrations are never edited once "
            f"applied: restore these files and add a new one, or start with a new database."
        )
    return pending


async def _lock(conn: Connection) -> None:
    """Take the one lock of all migrations of this database, until the connection is closed.

    It is polled: a statement that waits for it would hold a snapshot, and `CREATE INDEX CONCURRENTLY` in the
    checkpointer's set-up waits for all snapshots.
    """
    for _ in range(int(_LOCK_SECONDS / _POLL_SECONDS)):
        row = await (await conn.execute("SELECT pg_try_advisory_lock(%s) AS locked", [_LOCK_KEY])).fetchone()
        if row and row["locked"]:
            return
        await asyncio.sleep(_POLL_SECONDS)
    raise DatabaseError(
        f"Another process has been migrating the database for {_LOCK_SECONDS} seconds. Wait for it, or end it, and "
        f"try again."
    )


async def _apply(conn: Connection, name: str, script: str, role: str) -> None:
    try:
        await conn.execute(script.replace(f"TO {PLACEHOLDER}", f"TO {role}").encode())
        await _record(conn, name, _fingerprint(script))
    except psycopg.errors.InsufficientPrivilege:
        raise
    except psycopg.ProgrammingError as error:
        raise DatabaseError(
            f"The migration {name} failed: {error.diag.message_primary or error}. {_OF_ANOTHER}"
        ) from error


async def _record(conn: Connection, name: str, fingerprint: str) -> None:
    await conn.execute(
        "CREATE TABLE IF NOT EXISTS ricordo_migrations (name text PRIMARY KEY, fingerprint text NOT NULL, "
        "applied_at timestamptz NOT NULL DEFAULT now())"
    )
    await conn.execute(
        "INSERT INTO ricordo_migrations (name, fingerprint) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE "
        "SET fingerprint = excluded.fingerprint, applied_at = excluded.applied_at",
        [name, fingerprint],
    )


async def _assert_no_other_checkpoints(conn: Connection) -> None:
    """Refuse to share a database: LangGraph's set-up would take any table of such a name for its own."""
    cursor = await conn.execute(
        "SELECT name FROM unnest(%s::text[]) name WHERE to_regclass(name) IS NOT NULL",
        [["checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_migrations"]],
    )
    if found := [row["name"] for row in await cursor.fetchall()]:
        raise DatabaseError(f"The database has tables of another program: {', '.join(found)}. {_OF_ANOTHER}")


async def _set_up_checkpointer(conn: Connection, version: str) -> None:
    """Create or update LangGraph's tables; the version is recorded, so that the slow import is rarely needed.

    Its set-up builds indexes beside the work of others, which no transaction allows; cut off, it goes on where it was.
    """
    saver = await asyncio.to_thread(importlib.import_module, "langgraph.checkpoint.postgres.aio")
    await saver.AsyncPostgresSaver(conn).setup()
    await conn.execute("SELECT ricordo_guard_checkpoints()")  # in 0005_sharing.sql
    await _record(conn, _CHECKPOINTER, _fingerprint(version))


async def _ensure_extensions(conn: Connection) -> None:
    for name in EXTENSIONS:
        try:
            await conn.execute(sql.SQL("CREATE EXTENSION IF NOT EXISTS {}").format(sql.Identifier(name)))
        except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile) as error:
            raise DatabaseError(
                f"The PostgreSQL server lacks the extension {name}: {error.diag.message_primary}. Install it there "
                f"(pgvector: https://github.com/pgvector/pgvector), or unset RICORDO_DATABASE_URL to use the embedded "
                f"server."
            ) from error
    cursor = await conn.execute("SELECT extversion AS v FROM pg_extension WHERE extname = 'vector'")
    row = await cursor.fetchone()
    version = row["v"] if row else "0"
    if tuple(map(int, version.split("."))) < _PGVECTOR:
        raise DatabaseError(
            f"The PostgreSQL server has pgvector {version}, too old for filtered searches to be complete. Install 0.8 "
            f"or later there, then have an administrator run: ALTER EXTENSION vector UPDATE;"
        )
