"""The database and the embedding model."""

import time
from typing import Any

import psycopg

from ricordo.cli.checks.check import Check
from ricordo.cli.checks.services import SECONDS
from ricordo.common.errors import RicordoError
from ricordo.common.settings import Settings
from ricordo.models.embeddings import Embedder, open_embedder
from ricordo.stores.postgres.connection import describe
from ricordo.stores.postgres.database import Database, open_database


async def check_memory(settings: Settings) -> dict[str, Check]:
    """Open the database and the embedding model, which must fit each other: `database` and `embeddings`."""
    embedder, embeddings = await _embeddings(settings)
    try:
        async with open_database(settings) as db:
            database, stored = await _database(settings, db)
    except (RicordoError, psycopg.Error) as error:
        return {"database": Check("database", "broken", str(error)), "embeddings": embeddings}
    if embedder and embeddings.status == "ok" and stored and stored != (embedder.model_id, embedder.dims):
        model, dims = stored
        embeddings = Check(
            "embeddings",
            "broken",
            f"the database holds vectors of {model} ({dims} dimensions), and {embedder.model_id} is chosen",
            "Set RICORDO_EMBEDDINGS back, or use another database.",
        )
    return {"database": database, "embeddings": embeddings}


async def _embeddings(settings: Settings) -> tuple[Embedder | None, Check]:
    try:
        embedder = open_embedder(
            settings.embeddings,
            api_key=settings.openai_api_key,
            base_url=settings.openai_base_url,
            timeout=SECONDS,
            max_retries=0,
        )
        began = time.perf_counter()
        await embedder.query("Does it load?")
        loaded = time.perf_counter()
        await embedder.query("And how quick is it?")
        query = time.perf_counter() - loaded
    except RicordoError as error:
        return None, Check("embeddings", "broken", str(error))
    detail = (
        f"{embedder.model_id}, {embedder.dims} dimensions; first use {loaded - began:.1f} s, "
        f"a question {1000 * query:.0f} ms"
    )
    return embedder, Check("embeddings", "ok", detail)


async def _database(settings: Settings, db: Database) -> tuple[Check, tuple[str, int] | None]:
    async with db.as_owner() as conn:
        row = await _one(
            conn,
            "SELECT current_setting('server_version') AS server, current_user AS owner, "
            "(SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector, "
            "(SELECT count(*) FROM ricordo_migrations) AS migrations, current_database() AS name, "
            "has_database_privilege('public', current_database(), 'CONNECT') AS open, "
            "pg_size_pretty(pg_database_size(current_database())) AS size",
        )
    async with db.transaction("doctor") as conn:
        app = await _one(
            conn, "SELECT current_user AS role, rolbypassrls AS bypass FROM pg_roles WHERE rolname = current_user"
        )
        space = await _one(conn, "SELECT model, dims FROM embedding_space")
    where = "embedded" if settings.database_url is None else describe(db.dsn)
    detail = (
        f"{where}: PostgreSQL {row['server']}, pgvector {row['vector']}, {row['migrations']} migrations, "
        f"{row['size']}; owner {row['owner']}, works as {app['role']}"
    )
    stored = (space["model"], space["dims"]) if space else None
    if app["bypass"]:
        advice = f"{app['role']} passes by row-level security: ALTER ROLE {app['role']} NOBYPASSRLS."
        return Check("database", "broken", detail, advice), stored
    if row["open"]:
        advice = (
            f"Every user of this server may connect: GRANT CONNECT ON DATABASE {row['name']} TO {row['owner']}; "
            f"REVOKE CONNECT ON DATABASE {row['name']} FROM PUBLIC;"
        )
        return Check("database", "missing", detail, advice), stored
    return Check("database", "ok", detail), stored


async def _one(conn: Any, query: str) -> dict[str, Any]:
    row: dict[str, Any] = await (await conn.execute(query)).fetchone() or {}
    return row
