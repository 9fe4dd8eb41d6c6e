"""Transactions: whose rows they see, and what happens when the server does not answer."""

import asyncio
import os
import signal
import time
import uuid
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from ricordo.common.errors import ConfigurationError, DatabaseError, InputError
from ricordo.common.settings import Settings
from ricordo.stores.postgres.connection import Connection
from ricordo.stores.postgres.database import EVERYONE, Database, open_database
from ricordo.stores.postgres.watcher import postmaster_pid


async def value(conn: Connection, query: str, *params: object) -> object:
    """First column of the first row."""
    row = await (await conn.execute(query.encode(), params)).fetchone()
    assert row is not None
    return next(iter(row.values()))


def wait_for_end(pid: int) -> None:
    """A child of the server needs a moment to notice that the server was killed."""
    with suppress(ProcessLookupError):
        while True:
            os.kill(pid, 0)
            time.sleep(0.01)


async def add_thread(conn: Connection, user_id: str) -> uuid.UUID:
    thread_id = uuid.uuid4()
    await conn.execute("INSERT INTO threads (thread_id, user_id, name) VALUES (%s, %s, 't')", [thread_id, user_id])
    return thread_id


async def test_a_transaction_runs_as_the_application_for_one_user(db: Database) -> None:
    async with db.as_owner() as conn:
        role = await value(conn, "SELECT ricordo_role()")
    async with db.transaction("ann") as conn:
        assert await value(conn, "SELECT current_user") == role
        assert await value(conn, "SELECT current_setting('app.user_id')") == "ann"
        assert await value(conn, "SELECT current_setting('hnsw.iterative_scan')") == "relaxed_order"
        assert await value(conn, "SELECT current_setting('TimeZone')") == "UTC"


async def test_nothing_of_a_transaction_is_left_on_the_connection(dsn: str) -> None:
    async with Database.open(dsn, max_connections=1) as db:
        async with db.transaction("ann") as conn:
            await add_thread(conn, "ann")
        async with db.as_owner() as conn:
            assert await value(conn, "SELECT current_user") == "postgres"
            assert not await value(conn, "SELECT current_setting('app.user_id', true)")


async def test_an_error_undoes_the_whole_transaction(db: Database) -> None:
    async def fail() -> None:
        async with db.transaction("ann") as conn:
            await add_thread(conn, "ann")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    async with db.transaction("ann") as conn:
        assert await value(conn, "SELECT count(*) FROM threads") == 0


@pytest.mark.parametrize("other", ["ab", "a_b", "a%", "A", "a.b", "'; --", "%", "*", "\uff41"])
async def test_a_user_sees_and_changes_only_own_rows(db: Database, other: str) -> None:
    async with db.transaction("a") as conn:
        thread_id = await add_thread(conn, "a")
    async with db.transaction(other) as conn:
        assert await value(conn, "SELECT count(*) FROM threads") == 0
        assert (await conn.execute("UPDATE threads SET name = 'x'")).rowcount == 0
        assert (await conn.execute("DELETE FROM threads")).rowcount == 0
    async with db.transaction("a") as conn:
        assert await value(conn, "SELECT name FROM threads WHERE thread_id = %s", thread_id) == "t"


async def test_a_row_for_another_user_is_refused(db: Database) -> None:
    for victim in ("bob", EVERYONE):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            async with db.transaction("ann") as conn:
                await add_thread(conn, victim)


async def test_a_message_cannot_be_put_into_the_thread_of_another(db: Database) -> None:
    async with db.transaction("ann") as conn:
        thread_id = await add_thread(conn, "ann")
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        async with db.transaction("bob") as conn:
            await conn.execute(
                "INSERT INTO messages (id, user_id, thread_id, run_id, role, content, tokens) "
                "VALUES (gen_random_uuid(), 'bob', %s, 'r', 'user', 'hello', 1)",
                [thread_id],
            )


async def test_concurrent_transactions_of_several_users_do_not_mix(db: Database) -> None:
    async def work(user_id: str) -> None:
        for n in range(1, 11):
            async with db.transaction(user_id) as conn:
                await add_thread(conn, user_id)
                await asyncio.sleep(0)
                assert await value(conn, "SELECT count(*) FROM threads") == n
                assert await value(conn, "SELECT min(user_id) || max(user_id) FROM threads") == user_id * 2

    await asyncio.gather(*(work(f"user{n}") for n in range(12)))


@pytest.mark.parametrize("user_id", ["", "a\0b", "\ud800", "u" * 257])
async def test_what_is_no_user_id_is_refused(db: Database, user_id: str) -> None:
    with pytest.raises(InputError, match="A user id has 1 to 256 characters"):
        async with db.transaction(user_id):
            pass


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(user_id=st.text(st.characters(categories=["L", "M", "N", "P", "S"]), min_size=1, max_size=256))
async def test_any_text_that_shows_is_a_user_id(db: Database, user_id: str) -> None:
    async with db.transaction(user_id) as conn:
        assert await value(conn, "SELECT current_setting('app.user_id')") == user_id


async def test_the_application_has_no_rights_on_checkpoints_and_migrations(db: Database) -> None:
    async with db.as_owner() as conn:
        cursor = await conn.execute(
            "SELECT relname, has_table_privilege(ricordo_role(), oid, 'SELECT, INSERT, UPDATE, DELETE') AS may "
            "FROM pg_class WHERE relkind = 'r' AND (relname LIKE 'checkpoint%' OR relname = 'ricordo_migrations')"
        )
        rights = {row["relname"]: row["may"] for row in await cursor.fetchall()}
    assert len(rights) == 5
    assert not any(rights.values())


async def test_every_table_of_the_application_is_under_row_level_security(db: Database) -> None:
    async with db.as_owner() as conn:
        cursor = await conn.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
            "AND has_table_privilege(ricordo_role(), oid, 'SELECT') AND NOT (relrowsecurity AND relforcerowsecurity)"
        )
        assert await cursor.fetchall() == []
        role = "FROM pg_roles WHERE rolname = ricordo_role()"
        assert await value(conn, f"SELECT rolsuper OR rolbypassrls OR rolcanlogin {role}") is False


async def test_a_lost_connection_is_a_clear_error_and_the_next_transaction_works(db: Database) -> None:
    async def lose() -> None:
        async with db.transaction("ann") as conn:
            await add_thread(conn, "ann")
            async with db.as_owner() as killer:
                await killer.execute("SELECT pg_terminate_backend(%s)", [conn.info.backend_pid])
            await conn.execute("SELECT 1")

    with pytest.raises(DatabaseError, match="What was saved before is kept") as caught:
        await lose()
    assert isinstance(caught.value.__cause__, psycopg.OperationalError)
    async with db.transaction("ann") as conn:
        assert await value(conn, "SELECT count(*) FROM threads") == 0


async def test_connections_that_died_while_idle_are_replaced(db: Database, server: str) -> None:
    async with db.transaction("ann") as conn:
        pid = conn.info.backend_pid
    async with await psycopg.AsyncConnection.connect(server, autocommit=True) as admin:
        await admin.execute("SELECT pg_terminate_backend(%s)", [pid])
    async with db.transaction("ann") as conn:
        assert await value(conn, "SELECT 1") == 1
        assert conn.info.backend_pid != pid


async def test_a_cancelled_transaction_gives_its_connection_back(dsn: str) -> None:
    async with Database.open(dsn, max_connections=1) as db:

        async def slow() -> None:
            async with db.transaction("ann") as conn:
                await add_thread(conn, "ann")
                await conn.execute("SELECT pg_sleep(60)")

        task = asyncio.create_task(slow())
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with db.transaction("ann") as conn:
            assert await value(conn, "SELECT count(*) FROM threads") == 0


async def test_when_all_connections_are_busy_the_error_says_so(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Database.open(dsn, max_connections=1) as db, db.transaction("ann"):
        monkeypatch.setattr(db._pool, "timeout", 0.2)
        with pytest.raises(DatabaseError, match="All 1 connections"):
            async with db.transaction("ann"):
                pass


def test_a_database_of_another_event_loop_is_refused(dsn: str) -> None:
    async def opened() -> None:
        async with Database.open(dsn) as db:
            with pytest.raises(DatabaseError, match="event loop"):
                await asyncio.to_thread(asyncio.run, use(db))

    async def use(db: Database) -> None:
        async with db.transaction("ann"):
            pass

    asyncio.run(opened())


@pytest.mark.parametrize(
    "address", ["postgresql://ann:s3cret@127.0.0.1:1/memory", "host=127.0.0.1 port=1 dbname=memory password=s3cret"]
)
async def test_an_unreachable_server_is_named_without_the_password(address: str) -> None:
    with pytest.raises(DatabaseError, match=r"memory at 127\.0\.0\.1, port 1\b.*refused") as caught:
        async with open_database(Settings(database_url=SecretStr(address))):
            pass
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in str(caught.value.__cause__)


@pytest.mark.parametrize("address", ["mysql://ann:s3cret@host/x", "postgresql://ann:s3cret%zz@host/x", "s3cret"])
async def test_a_malformed_address_is_refused_without_the_password(address: str) -> None:
    with pytest.raises(ConfigurationError, match="RICORDO_DATABASE_URL") as caught:
        async with open_database(Settings(database_url=SecretStr(address))):
            pass
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


async def test_a_server_that_dies_later_is_an_error_with_the_reason(
    dsn: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with Database.open(dsn) as db:
        async with db.as_owner() as conn:
            name = conn.info.dbname
        async with await psycopg.AsyncConnection.connect(dsn.replace(name, "postgres"), autocommit=True) as admin:
            await admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
            await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        monkeypatch.setattr(db._pool, "timeout", 0.2)
        with pytest.raises(DatabaseError, match="not currently accepting connections"):
            async with db.transaction("ann"):
                pass
    assert caplog.records == []


async def test_the_embedded_database_opens_with_its_schema_and_survives_a_crash_of_the_server(new_home: Path) -> None:
    async with open_database(Settings(home=new_home)) as db:
        async with db.transaction("ann") as conn:
            await add_thread(conn, "ann")
            backend = conn.info.backend_pid
        data = new_home / "postgres" / "data"
        pid = postmaster_pid(data)
        assert pid
        os.kill(pid, signal.SIGKILL)
        await asyncio.to_thread(wait_for_end, backend)
        async with db.transaction("ann") as conn:
            assert await value(conn, "SELECT count(*) FROM threads") == 1


async def test_a_server_of_ones_own_is_opened_with_its_schema(empty_dsn: str) -> None:
    async with open_database(Settings(database_url=SecretStr(empty_dsn))) as db, db.transaction("ann") as conn:
        assert await value(conn, "SELECT count(*) FROM threads") == 0
