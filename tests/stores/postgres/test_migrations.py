"""The schema: made once, whoever asks, and refused where it is not ours."""

import asyncio
import re
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from ricordo.common.errors import DatabaseError
from ricordo.stores.postgres import migrate as migrations
from ricordo.stores.postgres import role
from ricordo.stores.postgres.connection import Connection
from ricordo.stores.postgres.database import Database
from ricordo.stores.postgres.embedded import EmbeddedPostgres
from ricordo.stores.postgres.migrate import migrate

_HISTORY = "SELECT name, fingerprint, applied_at FROM ricordo_migrations ORDER BY name"
_SCHEMA = (
    "SELECT table_name, column_name, data_type, column_default FROM information_schema.columns "
    "WHERE table_schema = 'public' ORDER BY 1, 2"
)


def rows(dsn: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        return conn.execute(query.encode()).fetchall()


def run(dsn: str, command: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(command.encode())


def role_of(dsn: str) -> str:
    [(name,)] = rows(dsn, f"{role.ROLE_OF}current_database()")
    return str(name)


def as_user(dsn: str, user: str) -> str:
    parts = urlsplit(dsn)
    return parts._replace(netloc=f"{user}@").geturl()


async def test_a_second_run_changes_nothing(empty_dsn: str) -> None:
    await migrate(empty_dsn)
    history, schema = rows(empty_dsn, _HISTORY), rows(empty_dsn, _SCHEMA)
    names = [name for name, *_ in history]
    assert {"0001_core.sql", "langgraph-checkpoint-postgres"} <= set(names)
    await migrate(empty_dsn)
    assert (rows(empty_dsn, _HISTORY), rows(empty_dsn, _SCHEMA)) == (history, schema)


async def test_an_up_to_date_schema_costs_one_query_and_no_import_of_the_checkpointer(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate(dsn)  # a copy of the template: its role is made here
    monkeypatch.setitem(sys.modules, "langgraph.checkpoint.postgres.aio", None)  # an import would now fail
    queries = []
    execute = psycopg.AsyncConnection.execute

    async def counted(conn: Connection, query: bytes, *args: Any) -> object:
        queries.append(query)
        return await execute(conn, query, *args)

    monkeypatch.setattr(psycopg.AsyncConnection, "execute", counted)
    await migrate(dsn)
    assert len(queries) == 1


async def test_the_checkpointer_works_on_the_migrated_schema(dsn: str) -> None:
    async with AsyncPostgresSaver.from_conn_string(dsn) as saver:
        assert await saver.aget_tuple({"configurable": {"thread_id": "t"}}) is None
    assert len(rows(dsn, "SELECT * FROM checkpoint_migrations")) == len(AsyncPostgresSaver.MIGRATIONS)


async def test_a_new_version_of_the_checkpointer_is_set_up_again(dsn: str) -> None:
    run(dsn, "UPDATE ricordo_migrations SET fingerprint = 'old' WHERE name = 'langgraph-checkpoint-postgres'")
    run(dsn, "DROP TABLE checkpoint_migrations, checkpoints, checkpoint_blobs, checkpoint_writes")
    await migrate(dsn)
    assert rows(dsn, "SELECT count(*) FROM checkpoints") == [(0,)]


async def test_several_at_once_on_one_database_make_one_schema(empty_dsn: str) -> None:
    await asyncio.gather(*(migrate(empty_dsn) for _ in range(4)))
    assert len(rows(empty_dsn, _HISTORY)) == len(migrations._scripts()) + 1  # and the role


async def test_several_databases_at_once_on_a_new_server_make_a_role_each(tmp_path: Path) -> None:
    with EmbeddedPostgres(tmp_path, options=["-F"], idle_seconds=0) as server:
        address = server.start()
        names = [f"d{n}" for n in range(4)]
        for name in names:
            run(address, f"CREATE DATABASE {name}")
        addresses = [urlsplit(address)._replace(path=f"/{name}").geturl() for name in names]
        await asyncio.gather(*map(migrate, addresses))
        for one in addresses:
            async with Database.open(one) as db, db.transaction("ann") as conn:
                await conn.execute("SELECT FROM threads")


async def test_a_migration_of_another_process_that_never_ends_is_an_error(
    empty_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "_LOCK_SECONDS", 0.1)
    with psycopg.connect(empty_dsn) as conn:
        conn.execute("SELECT pg_advisory_lock(%s)", [migrations._LOCK_KEY])
        with pytest.raises(DatabaseError, match="Another process has been migrating"):
            await migrate(empty_dsn)


async def test_a_server_that_takes_no_writes_is_an_error_with_the_reason(empty_dsn: str) -> None:
    run(empty_dsn, f"ALTER DATABASE {urlsplit(empty_dsn).path[1:]} SET default_transaction_read_only = on")
    with pytest.raises(DatabaseError, match="read-only transaction"):
        await migrate(empty_dsn)


async def test_a_failed_migration_leaves_nothing_behind(empty_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scripts = migrations._scripts() | {"0099_last.sql": "CREATE TABLE last (x int); SELECT nonsense"}
    monkeypatch.setattr(migrations, "_scripts", lambda: scripts)
    with pytest.raises(DatabaseError, match=r"0099_last\.sql failed: .*nonsense.*database of its own"):
        await migrate(empty_dsn)
    assert rows(empty_dsn, "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace") == []
    assert rows(empty_dsn, "SELECT extname FROM pg_extension") == [("plpgsql",)]
    assert rows(empty_dsn, f"SELECT FROM pg_roles WHERE rolname = ({role.ROLE_OF}current_database())") == []
    scripts["0099_last.sql"] = "CREATE TABLE last (x int)"
    await migrate(empty_dsn)
    assert rows(empty_dsn, "SELECT count(*) FROM last") == [(0,)]


async def test_tables_of_another_program_are_left_alone(empty_dsn: str) -> None:
    run(empty_dsn, "CREATE TABLE messages (id int)")
    with pytest.raises(DatabaseError, match=r'0001_core\.sql failed: relation "messages" already exists'):
        await migrate(empty_dsn)
    assert rows(empty_dsn, "SELECT to_regclass('threads')::text") == [(None,)]


async def test_the_schema_of_a_newer_program_is_refused(dsn: str) -> None:
    run(dsn, "INSERT INTO ricordo_migrations (name, fingerprint) VALUES ('9999_later.sql', 'x')")
    with pytest.raises(DatabaseError, match=r"newer Ricordo .*9999_later\.sql.* Update Ricordo"):
        await migrate(dsn)


async def test_a_migration_that_was_edited_afterwards_is_refused(dsn: str) -> None:
    run(dsn, "UPDATE ricordo_migrations SET fingerprint = 'x' WHERE name = '0001_core.sql'")
    with pytest.raises(DatabaseError, match=r"other versions of 0001_core\.sql"):
        await migrate(dsn)


async def test_a_missing_extension_is_named(empty_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "EXTENSIONS", ("no_such_extension",))
    with pytest.raises(DatabaseError, match="lacks the extension no_such_extension"):
        await migrate(empty_dsn)


async def test_an_old_pgvector_is_refused(empty_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "_PGVECTOR", (99, 0))
    with pytest.raises(DatabaseError, match=r"too old.*ALTER EXTENSION vector UPDATE"):
        await migrate(empty_dsn)


@pytest.fixture
def login(server: str, empty_dsn: str) -> Iterator[str]:
    """Address of an empty database by an ordinary user who owns it."""
    user = f"u_{uuid.uuid4().hex}"
    database = urlsplit(empty_dsn).path[1:]
    run(server, f"CREATE ROLE {user} LOGIN")
    run(server, f"ALTER DATABASE {database} OWNER TO {user}")
    yield as_user(empty_dsn, user)
    run(server, f"ALTER DATABASE {database} OWNER TO postgres")
    run(empty_dsn, f"DROP OWNED BY {user} CASCADE")
    run(server, f"DROP ROLE {user}")


async def test_an_ordinary_user_is_told_what_an_administrator_must_run(login: str, empty_dsn: str) -> None:
    with pytest.raises(DatabaseError, match="An administrator must run") as caught:
        await migrate(login)
    for command in re.findall(r"(?:CREATE|GRANT) [^;]*;", str(caught.value)):
        run(empty_dsn, command)
    await migrate(login)
    async with Database.open(login) as db:
        async with db.transaction("ann") as conn:
            await conn.execute("INSERT INTO threads (thread_id, user_id, name) VALUES (gen_random_uuid(), 'ann', 't')")
        async with db.transaction("bob") as conn:
            assert (await conn.execute("SELECT FROM threads")).rowcount == 0
        async with db.as_owner() as conn:
            assert (await conn.execute("DELETE FROM threads")).rowcount == 0
        async with db.as_owner("ann") as conn:
            await conn.execute("SELECT FROM checkpoints")
            assert (await conn.execute("DELETE FROM threads")).rowcount == 1


async def test_a_user_who_may_grant_the_role_takes_it_on(server: str, login: str, empty_dsn: str) -> None:
    user = urlsplit(login).username
    run(empty_dsn, "CREATE EXTENSION vector")  # which takes an administrator
    name = role_of(empty_dsn)
    run(server, f"CREATE ROLE {name}; ALTER ROLE {user} CREATEROLE")
    run(server, f"GRANT {name} TO {user} WITH ADMIN TRUE, SET FALSE, INHERIT FALSE")
    await migrate(login)
    async with Database.open(login) as db, db.transaction("ann") as conn:
        await conn.execute("SELECT FROM threads")


async def test_a_user_who_may_not_act_as_the_application_is_told_so(server: str, dsn: str) -> None:
    user = f"u_{uuid.uuid4().hex}"
    run(server, f"CREATE ROLE {user} LOGIN")
    try:
        async with Database.open(as_user(dsn, user)) as db:
            with pytest.raises(DatabaseError, match=f'GRANT {role_of(dsn)} TO "{user}"'):
                async with db.transaction("ann"):
                    pass
    finally:
        run(server, f"DROP ROLE {user}")


async def test_an_application_role_that_passes_row_level_security_is_refused(tmp_path: Path) -> None:
    with EmbeddedPostgres(tmp_path, options=["-F"], idle_seconds=0) as server:
        address = server.start()
        run(address, f"CREATE ROLE {role_of(address)} BYPASSRLS")
        with pytest.raises(DatabaseError, match=f"ALTER ROLE {role_of(address)} NOSUPERUSER NOBYPASSRLS"):
            await migrate(address)
