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

APP_ROLE = "ricordo_app"
_EXTENSIONS = ("vector", "pg_trgm")
_PGVECTOR = (0, 8)
_SET_IS_APART = 16_00_00
"""Since this version of PostgreSQL, a member of a role may administer it without being allowed to take it on."""
_CHECKPOINTER = "langgraph-checkpoint-postgres"
_LOCK_KEY = 7_524_401_827
_LOCK_SECONDS = 120
_POLL_SECONDS = 0.05
_ROLE_ATTEMPTS = 20


async def migrate(dsn: str) -> None:
    """Bring the schema up to date; several processes may do so at once, and again without effect.

    Raises:
        ConfigurationError: The address is malformed.
        DatabaseError: The server cannot be reached, lacks pgvector or refuses what we need; or the schema is not ours.
    """
    scripts = await asyncio.to_thread(_scripts)
    async with await connect(dsn) as conn:
        try:
            if _pending(scripts, await _applied(conn)):
                await _lock(conn)
                await _bring_up_to_date(conn, scripts)
        except psycopg.errors.InsufficientPrivilege as error:
            raise refused(conn, error) from error
        except psycopg.Error as error:
            raise failure(dsn, error) from error


async def _bring_up_to_date(conn: Connection, scripts: dict[str, str]) -> None:
    applied = await _applied(conn)
    if not applied:
        await _ensure_extensions(conn)
        await _ensure_role(conn)
    for name in _pending(scripts, applied):
        if name == _CHECKPOINTER:
            await _set_up_checkpointer(conn, scripts[name])
        else:
            await _apply(conn, name, scripts[name])


def _scripts() -> dict[str, str]:
    """Read what the schema is made of: each migration's SQL by file name, and the checkpointer's version."""
    folder = resources.files("ricordo.stores.postgres.migrations")
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return {f.name: f.read_text(encoding="utf-8") for f in files} | {_CHECKPOINTER: metadata.version(_CHECKPOINTER)}


def _fingerprint(script: str) -> str:
    return hashlib.sha256(script.encode()).hexdigest()


async def _applied(conn: Connection) -> dict[str, str]:
    """Return the fingerprints of what has been applied, by name."""
    try:
        rows = await (await conn.execute("SELECT name, fingerprint FROM ricordo_migrations")).fetchall()
    except psycopg.errors.UndefinedTable:
        return {}
    return {row["name"]: row["fingerprint"] for row in rows}


def _pending(scripts: dict[str, str], applied: dict[str, str]) -> list[str]:
    """Return the names that are still to be applied, in order.

    Raises:
        DatabaseError: What was applied is not what we have.
    """
    if unknown := sorted(applied.keys() - scripts.keys()):
        raise DatabaseError(
            f"The database was made by a newer Ricordo (it has {', '.join(unknown)}). Update Ricordo, or use another "
            f"database."
        )
    pending = [name for name, script in scripts.items() if applied.get(name) != _fingerprint(script)]
    if changed := [name for name in pending if name in applied and name != _CHECKPOINTER]:
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


async def _apply(conn: Connection, name: str, script: str) -> None:
    try:
        async with conn.transaction():
            await conn.execute(script.encode())
            await _record(conn, name, script)
    except psycopg.errors.InsufficientPrivilege:
        raise
    except psycopg.ProgrammingError as error:
        raise DatabaseError(
            f"The migration {name} failed: {error.diag.message_primary or error}. Ricordo needs a database of its own, "
            f"without other tables."
        ) from error


async def _record(conn: Connection, name: str, script: str) -> None:
    await conn.execute(
        "CREATE TABLE IF NOT EXISTS ricordo_migrations (name text PRIMARY KEY, fingerprint text NOT NULL, "
        "applied_at timestamptz NOT NULL DEFAULT now())"
    )
    await conn.execute(
        "INSERT INTO ricordo_migrations (name, fingerprint) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE "
        "SET fingerprint = excluded.fingerprint, applied_at = excluded.applied_at",
        [name, _fingerprint(script)],
    )


async def _set_up_checkpointer(conn: Connection, version: str) -> None:
    """Create or update LangGraph's tables; the version is recorded, so that the slow import is rarely needed."""
    saver = await asyncio.to_thread(importlib.import_module, "langgraph.checkpoint.postgres.aio")
    await saver.AsyncPostgresSaver(conn).setup()
    await conn.execute("SELECT ricordo_guard_checkpoints()")  # in 0005_sharing.sql
    await _record(conn, _CHECKPOINTER, version)


async def _ensure_extensions(conn: Connection) -> None:
    for name in _EXTENSIONS:
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


async def _ensure_role(conn: Connection) -> None:
    """Create the role of the application, which no policy spares, and let us take it on.

    Roles belong to the whole server, where no lock of ours reaches: two databases that migrate at once collide in the
    catalogue, and the second one tries again.
    """
    for attempt in range(_ROLE_ATTEMPTS):
        try:
            await _create_role(conn)
        except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation, psycopg.errors.InternalError_):
            if attempt == _ROLE_ATTEMPTS - 1:
                raise
            await asyncio.sleep(_POLL_SECONDS)
        else:
            return


async def _create_role(conn: Connection) -> None:
    role = sql.Identifier(APP_ROLE)
    privilege = "SET" if conn.info.server_version >= _SET_IS_APART else "MEMBER"
    cursor = await conn.execute(
        "SELECT rolsuper OR rolbypassrls AS unsafe, pg_has_role(oid, %s) AS member FROM pg_roles WHERE rolname = %s",
        [privilege, APP_ROLE],
    )
    found = await cursor.fetchone()
    if found is None:
        await conn.execute(sql.SQL("CREATE ROLE {} NOLOGIN NOINHERIT NOBYPASSRLS").format(role))
    elif found["unsafe"]:
        raise DatabaseError(
            f"The role {APP_ROLE} passes row-level security, so users would see each other's memories. An "
            f"administrator must run: ALTER ROLE {APP_ROLE} NOSUPERUSER NOBYPASSRLS;"
        )
    if not (found and found["member"]):
        await conn.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(role))


def refused(conn: Connection, error: psycopg.Error) -> DatabaseError:
    """Say what an administrator of the server must run, where our user may not."""
    user = '"' + conn.info.user.replace('"', '""') + '"'
    extensions = " ".join(f"CREATE EXTENSION IF NOT EXISTS {name};" for name in _EXTENSIONS)
    return DatabaseError(
        f"PostgreSQL does not let the user {user} set up or use the database {conn.info.dbname}: "
        f"{error.diag.message_primary}. An administrator must run, in that database, those of these that are missing: "
        f"{extensions} CREATE ROLE {APP_ROLE} NOLOGIN NOINHERIT NOBYPASSRLS; GRANT {APP_ROLE} TO {user}; "
        f"GRANT CREATE, USAGE ON SCHEMA public TO {user}; GRANT USAGE ON SCHEMA public TO {APP_ROLE};"
    )
