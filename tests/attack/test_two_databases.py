"""Two Ricordo databases on one PostgreSQL: whoever works in one has no way into the other."""

from collections.abc import Iterator
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest

from ricordo.stores.postgres.database import Database
from ricordo.stores.postgres.migrate import migrate

_HELD = "SELECT count(*) FROM pg_class c, aclexplode(c.relacl) a WHERE a.grantee::regrole::text = "


def run(dsn: str, command: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(command.encode())


def value(dsn: str, query: str) -> object:
    with psycopg.connect(dsn, autocommit=True) as conn:
        row = conn.execute(query.encode()).fetchone()
    return row and row[0]


def of(dsn: str, *, user: str | None = None, database: str | None = None) -> str:
    parts = urlsplit(dsn)
    return parts._replace(netloc=f"{user}@" if user else parts.netloc, path=f"/{database or parts.path[1:]}").geturl()


@pytest.fixture
def two(server: str) -> Iterator[tuple[str, str]]:
    """Addresses of two empty databases, each by an ordinary user who owns it and may create roles."""
    names = [f"u_{uuid4().hex}" for _ in range(2)]
    for name in names:
        run(server, f"CREATE ROLE {name} LOGIN CREATEROLE")
        run(server, f"CREATE DATABASE {name} OWNER {name}")
        run(of(server, database=name), "CREATE EXTENSION vector")
    yield of(server, user=names[0], database=names[0]), of(server, user=names[1], database=names[1])
    for name in names:
        role = value(server, f"SELECT 'ricordo_app_' || oid FROM pg_database WHERE datname = '{name}'")  # noqa: S608 - ours
        run(server, f"DROP DATABASE {name} WITH (FORCE)")
        run(server, f"DROP ROLE IF EXISTS {role}")
    for name in names:
        run(server, f"DROP ROLE {name}")


def break_in(one: str, other: str) -> None:
    """Read all threads of the other database by the login of the first one."""
    user = urlsplit(one).username
    with psycopg.connect(of(other, user=user), autocommit=True) as conn:
        role = conn.execute("SELECT ricordo_role()").fetchone()
        conn.execute(b"SET ROLE " + str(role and role[0]).encode())
        conn.execute("SELECT set_config('app.user_id', 'ann', false)")
        conn.execute("SELECT FROM threads")


async def test_the_owner_of_one_database_neither_enters_the_other_nor_works_as_its_application(
    two: tuple[str, str], server: str
) -> None:
    for address in two:
        await migrate(address)
    for one, other in (two, two[::-1]):
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            break_in(one, other)
    database = urlsplit(two[1]).path[1:]
    run(of(server, database=database), f"GRANT CONNECT ON DATABASE {database} TO PUBLIC")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        break_in(*two)
    async with Database.open(two[1]) as db, db.transaction("ann") as conn:
        await conn.execute("SELECT FROM threads")


async def test_a_database_of_an_earlier_version_is_closed_by_the_next_start(empty_dsn: str, server: str) -> None:
    await migrate(empty_dsn)
    role = value(empty_dsn, "SELECT ricordo_role()")
    database = urlsplit(empty_dsn).path[1:]
    # As it was: one role for all, everybody comes in, and nothing is known of a role of one's own.
    run(server, "DO $$ BEGIN CREATE ROLE ricordo_app; EXCEPTION WHEN duplicate_object THEN END $$")
    for old in (
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ricordo_app",
        "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ricordo_app",
        f"GRANT CONNECT ON DATABASE {database} TO PUBLIC",
        "DROP FUNCTION ricordo_role, ricordo_give_rights",
        "DELETE FROM ricordo_migrations WHERE name IN ('0011_own_role.sql', 'application role')",
        f"DROP OWNED BY {role}",
    ):
        run(empty_dsn, old)
    await migrate(empty_dsn)
    assert value(empty_dsn, f"{_HELD}'ricordo_app'") == 0
    assert value(empty_dsn, "SELECT has_database_privilege('public', current_database(), 'CONNECT')") is False
    async with Database.open(empty_dsn) as db, db.transaction("ann") as conn:
        await conn.execute("INSERT INTO threads (thread_id, user_id, name) VALUES (gen_random_uuid(), 'ann', 't')")
    assert value(empty_dsn, "SELECT count(*) FROM threads") == 1


async def test_a_copy_of_a_database_gets_a_role_of_its_own(dsn: str) -> None:
    former = value(dsn, "SELECT ricordo_role()")
    await migrate(dsn)
    role = value(dsn, "SELECT ricordo_role()")
    assert role != former
    assert value(dsn, f"{_HELD}'{former}'") == 0
    assert value(dsn, f"{_HELD}'{role}'") != 0
