"""Databases and servers that are not as we make them: each is served, or refused in words with nothing written."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from pydantic import SecretStr

from ricordo.cli.checks.memory import check_memory
from ricordo.cli.parts import output
from ricordo.common.errors import DatabaseError
from ricordo.common.settings import Settings
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres import connection
from ricordo.stores.postgres.database import open_database
from ricordo.stores.search.vectors import ensure_space
from tests.support.small_embedder import small_embedder


def run(dsn: str, command: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(command.encode())


def relations(dsn: str) -> list[str]:
    query = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind <> 'i' ORDER BY 1"
    with psycopg.connect(dsn, autocommit=True) as conn:
        return [name for (name,) in conn.execute(query.encode()).fetchall()]


def name_of(dsn: str) -> str:
    return urlsplit(dsn).path[1:]


def settings_of(dsn: str) -> Settings:
    return Settings(database_url=SecretStr(dsn))


async def use(dsn: str) -> None:
    """Write and read what has moments, intervals, arrays and policies in it."""
    embedder = small_embedder()
    async with open_database(settings_of(dsn)) as db:
        await ensure_space(db.dsn, embedder)
        memory = MemoryManager(db, embedder, "ann")
        await memory.write_conversational_memory("t", "user", "Où est la clé ? 鍵はどこ 🐚")
        assert [m.text for m in await memory.read_conversational_memory("t")] == ["Où est la clé ? 鍵はどこ 🐚"]
        await memory.write_knowledge_base("The key is under the third stone.", {"source": "k"})
        assert await MemoryManager(db, embedder, "bob").read_knowledge_base("key") == []
        assert await memory.read_knowledge_base("key")


async def is_refused(dsn: str, why: str) -> None:
    """The start and the doctor say the same."""
    with pytest.raises(DatabaseError, match=why) as caught:
        async with open_database(settings_of(dsn)):
            pass
    database = (await check_memory(settings_of(dsn)))["database"]
    assert (database.status, database.detail) == ("broken", str(caught.value))


@contextmanager
def another(server: str, options: str) -> Iterator[str]:
    name = f"t_{uuid4().hex}"
    run(server, f"CREATE DATABASE {name} {options}")
    yield urlsplit(server)._replace(path=f"/{name}").geturl()
    run(server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
async def test_a_database_that_cannot_hold_every_text_is_refused(server: str, encoding: str) -> None:
    options = f"ENCODING '{encoding}' TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'"
    with another(server, options) as dsn:
        await is_refused(dsn, f"is encoded in {encoding}.*ENCODING 'UTF8'")
        assert relations(dsn) == []


async def test_a_database_that_takes_no_writes_any_more_is_refused_also_with_its_schema(dsn: str) -> None:
    run(dsn, f"ALTER DATABASE {name_of(dsn)} SET default_transaction_read_only = on")
    await is_refused(dsn, "read-only transaction.*Switch that off")


@pytest.mark.parametrize(
    "setting",
    [
        "DateStyle = 'SQL, DMY'",
        "DateStyle = 'German'",
        "IntervalStyle = 'iso_8601'",
        "TimeZone = 'Asia/Kolkata'",
        "client_encoding = LATIN1",
        "bytea_output = 'escape'",
        "default_transaction_isolation = 'repeatable read'",
        "search_path = mem, public",
    ],
)
async def test_settings_of_a_server_that_change_what_is_said_are_no_hindrance(empty_dsn: str, setting: str) -> None:
    run(empty_dsn, "CREATE EXTENSION vector; CREATE EXTENSION pg_trgm; CREATE SCHEMA mem")
    run(empty_dsn, f"ALTER DATABASE {name_of(empty_dsn)} SET {setting}")
    await use(empty_dsn)
    assert ("messages" in relations(empty_dsn)) is ("search_path" not in setting)
    assert (await check_memory(settings_of(empty_dsn)))["database"].status == "ok"


async def test_policies_that_make_errors_are_refused(dsn: str, empty_dsn: str) -> None:
    for address in (dsn, empty_dsn):
        before = relations(address)
        run(address, f"ALTER DATABASE {name_of(address)} SET row_security = off")
        await is_refused(address, "row_security is off .*RESET row_security")
        assert relations(address) == before


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("nowhere", "No schema of the search_path"),
        ('"$user"', "leads each role to a schema of its own"),
        ("mem", "outside the search_path .*: (pg_trgm|vector) in public"),
    ],
)
async def test_a_search_path_that_leads_astray_is_refused(empty_dsn: str, path: str, why: str) -> None:
    run(empty_dsn, "CREATE EXTENSION vector; CREATE EXTENSION pg_trgm; CREATE SCHEMA mem; CREATE SCHEMA postgres")
    run(empty_dsn, f"ALTER DATABASE {name_of(empty_dsn)} SET search_path = {path}")
    await is_refused(empty_dsn, why)


@pytest.mark.parametrize(
    "table",
    [
        "TABLE messages (id int)",
        "VIEW threads AS SELECT 1 AS id",
        "TABLE checkpoints (id int)",
        "VIEW checkpoint_writes AS SELECT 1 AS id",
        "TABLE ricordo_migrations (id int)",
        "TABLE memory_of_others (id int); CREATE TABLE documents (id int)",
    ],
)
async def test_tables_of_another_program_are_named_and_nothing_is_left(empty_dsn: str, table: str) -> None:
    run(empty_dsn, f"CREATE {table}")
    before = relations(empty_dsn)
    await is_refused(empty_dsn, "Ricordo needs a database of its own")
    assert relations(empty_dsn) == before


async def test_a_connection_waits_for_a_place(server: str) -> None:
    user = f"u_{uuid4().hex}"
    run(server, f"CREATE ROLE {user} LOGIN CONNECTION LIMIT 1")
    address = urlsplit(server)._replace(netloc=f"{user}@").geturl()
    refusals: list[BaseException] = []
    full = connection.is_full
    with psycopg.connect(address) as first, pytest.MonkeyPatch.context() as patch:

        def told(error: BaseException) -> bool:
            refusals.append(error)
            first.close()
            return full(error)

        patch.setattr(connection, "is_full", told)
        async with await connection.connect(address):
            assert refusals
            patch.setattr(connection, "FULL_SECONDS", 0)
            with pytest.raises(DatabaseError, match="too many connections"):
                await connection.connect(address)
    run(server, f"DROP ROLE {user}")


@pytest.mark.parametrize("kind", [psycopg.errors.UndefinedColumn, psycopg.DataError, psycopg.InterfaceError])
def test_no_error_of_the_database_is_told_as_a_bug(kind: type[Exception], capsys: pytest.CaptureFixture[str]) -> None:
    assert output.report(kind("column x does not exist")) == output.FAILED
    told = capsys.readouterr().err
    assert "PostgreSQL refused" in told
    assert "a bug" not in told
