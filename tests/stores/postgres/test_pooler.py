"""Behind a pooler that gives a server to each transaction."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from pydantic import SecretStr

from ricordo.common.errors import ConfigurationError
from ricordo.common.settings import Settings
from ricordo.graph.notebook import open_agent
from ricordo.graph.thread.checkpoints import checkpointer_of
from ricordo.stores.postgres.database import Database, open_database
from ricordo.stores.postgres.pooler import assert_sessions
from ricordo.stores.thread_lock import ThreadLocks
from tests.support.stand_ins.pooler import pooler

_HOLDERS = b"""SELECT application_name AS name FROM pg_stat_activity JOIN pg_locks USING (pid)
    WHERE datname = current_database() AND locktype = 'advisory'"""


@pytest.fixture
async def pooled(dsn: str) -> AsyncIterator[str]:
    async with pooler(dsn) as address:
        yield address


def settings(pooled: str, direct: str | None, home: Path) -> Settings:
    own = SecretStr(direct) if direct else None
    return Settings(database_url=SecretStr(pooled), database_direct_url=own, home=home, model="offline")


async def test_without_an_address_past_it_the_start_is_refused_with_the_setting_that_is_missing(
    pooled: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=r"^RICORDO_DATABASE_URL leads to a pooler .* RICORDO_DATABASE_DIRECT"):
        async with open_database(settings(pooled, None, tmp_path)):
            pass


async def test_a_direct_address_that_is_none_is_named(pooled: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"^RICORDO_DATABASE_DIRECT_URL leads to a pooler"):
        async with open_database(settings(pooled, pooled, tmp_path)):
            pass


async def test_an_address_of_postgresql_itself_is_taken(dsn: str) -> None:
    await assert_sessions(dsn, "RICORDO_DATABASE_URL")


def test_a_direct_address_alone_is_refused(dsn: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="RICORDO_DATABASE_DIRECT_URL needs RICORDO_DATABASE_URL"):
        Settings(database_direct_url=SecretStr(dsn), home=tmp_path)


async def test_turns_work_and_prepare_nothing_on_the_pooler_s_server(pooled: str, dsn: str, tmp_path: Path) -> None:
    direct = psycopg.conninfo.make_conninfo(dsn, application_name="past-it")
    async with open_agent(settings(pooled, direct, tmp_path)) as agent:
        asked = [agent.ask("What time is it?", f"t{i % 2}", timezone="Europe/Rome") for i in range(4)]
        assert [answer.stop_reason for answer in await asyncio.gather(*asked)] == ["answer"] * 4
        async with agent.resources.db.as_owner() as conn:
            cursor = await conn.execute("SELECT count(*) AS n FROM pg_prepared_statements")
            assert await cursor.fetchone() == {"n": 0}
            # The upkeep's own is held past the pooler, and other databases have theirs.
            cursor = await conn.execute(_HOLDERS)
            assert {row["name"] for row in await cursor.fetchall()} <= {"past-it"}


async def test_a_lock_on_a_thread_is_held_past_the_pooler(pooled: str, dsn: str, tmp_path: Path) -> None:
    direct = psycopg.conninfo.make_conninfo(dsn, application_name="past-it")
    async with open_database(settings(pooled, direct, tmp_path)) as db:
        locks = ThreadLocks(db.dsn)
        async with locks.hold(uuid4(), "t", 1), db.as_owner() as conn:
            cursor = await conn.execute(_HOLDERS)
            assert [row["name"] for row in await cursor.fetchall()] == ["past-it"]
        await locks.close()


async def test_no_setting_of_a_session_is_left_on_the_pooler_s_server(pooled: str, dsn: str) -> None:
    async with Database.open(dsn, pooler=pooled) as db, checkpointer_of(db):
        async with db.transaction("ann") as conn:
            await conn.execute("SELECT 1")
        async with await psycopg.AsyncConnection.connect(pooled, autocommit=True, prepare_threshold=None) as other:
            cursor = await other.execute("SELECT source FROM pg_settings WHERE name = 'TimeZone'")
            assert await cursor.fetchone() != ("session",)
            cursor = await other.execute("SELECT current_user, current_setting('app.user_id', true)")
            assert await cursor.fetchone() in [("postgres", ""), ("postgres", None)]
