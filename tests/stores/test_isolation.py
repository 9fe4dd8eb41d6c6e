"""Whatever a user does, and however the user is called: nobody else's rows are read, changed or deleted."""

import asyncio
import os
from typing import Any

import psycopg
import pytest
from psycopg import sql

from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import EVERYONE, Database
from ricordo.stores.search.vectors import Query, ensure_space
from ricordo.stores.user_memory.work import Said
from tests.support.crowd import EVERYONE_MARK, LOUD, Somebody, World
from tests.support.crowd_sql import NAMES
from tests.support.small_embedder import small_embedder

_OPERATIONS = int(os.environ.get("ISOLATION_OPERATIONS", "700"))
_SEED = int(os.environ.get("ISOLATION_SEED", "1"))


async def rows(db: Database, query: str, *params: object) -> list[dict[str, Any]]:
    async with db.as_owner() as conn:
        return await (await conn.execute(query.encode(), params)).fetchall()


@pytest.fixture
async def memory(db: Database) -> MemoryManager:
    embedder = small_embedder()
    await ensure_space(db.dsn, embedder)
    return MemoryManager(db, embedder)


async def test_nine_users_at_once_never_meet_a_row_of_another(memory: MemoryManager, db: Database) -> None:
    everyone = MemoryManager(db, memory.embedder, EVERYONE)
    for number in range(5):
        await everyone.write_knowledge_base(f"gull tern {number} {EVERYONE_MARK}", {"source": f"{number}.txt"})
    before = await rows(db, "SELECT * FROM knowledge_base WHERE user_id = '*' ORDER BY id")
    world = World()
    people = [Somebody(n, memory.for_user(name), world, _SEED) for n, name in enumerate(NAMES)]

    async def live(somebody: Somebody) -> None:
        for _ in range(_OPERATIONS // len(people)):
            await somebody.act()

    await asyncio.gather(*map(live, people))
    for somebody in people:
        await somebody.read_all()
        for table, kept in somebody.kept.items():
            query = f"SELECT id, t::text AS text FROM {table} t WHERE user_id = %s AND id = ANY(%s)"  # noqa: S608 - ours
            found = {row["id"]: row["text"] for row in await rows(db, query, somebody.user, list(kept))}
            assert found.keys() == kept, f"{somebody.user!r} misses rows of {table}"
            somebody.check(found)
    assert await rows(db, "SELECT * FROM knowledge_base WHERE user_id = '*' ORDER BY id") == before
    assert sum(world.done.values()) == _OPERATIONS // len(people) * len(people)
    assert len(world.done) == 25, f"every path was taken: {world.done}"
    assert all(any(somebody.kept.values()) for somebody in people if somebody.user not in LOUD)


async def test_every_table_is_under_row_level_security_and_none_of_the_others_is_open(db: Database) -> None:
    tables = await rows(
        db,
        "SELECT relname, relrowsecurity AS enabled, relforcerowsecurity AS forced, "
        "(SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid) AS policies, "
        "EXISTS (SELECT FROM pg_attribute a WHERE attrelid = c.oid AND attname = 'user_id' AND attnotnull) AS named, "
        "has_table_privilege(ricordo_role(), oid, 'SELECT, INSERT, UPDATE, DELETE') AS some, "
        "has_table_privilege(ricordo_role(), oid, 'TRUNCATE, REFERENCES, TRIGGER') AS more "
        "FROM pg_class c WHERE relkind IN ('r', 'p', 'm', 'v', 'f') AND relnamespace = 'public'::regnamespace",
    )
    foreign = {row["relname"] for row in tables if row["relname"].startswith("checkpoint")} | {"ricordo_migrations"}
    assert len(foreign) == 5
    assert len(tables) > 20
    for row in tables:
        assert not row["more"], row
        if row["relname"] in foreign:
            assert not row["some"], row
        else:
            assert row["enabled"], row
            assert row["forced"], row
            assert row["policies"], row
            assert row["named"], row


async def test_every_policy_compares_the_whole_name(db: Database) -> None:
    """No LIKE, no pattern, no lower-casing: `a` is neither `A` nor `a%`."""
    policies = await rows(db, "SELECT policyname, roles::text[], qual, with_check, cmd FROM pg_policies")
    for policy in policies:
        said = f"{policy['qual']} {policy['with_check']}"
        if policy["policyname"] == "owner_reads":
            assert (policy["cmd"], policy["roles"]) == ("SELECT", ["postgres"])
            continue
        assert "~" not in said
        assert "lower" not in said
        assert any(text in said for text in ("current_setting('app.user_id'", "ricordo_owners", "'*'")), policy


@pytest.mark.parametrize("table", ["documents", "knowledge_base", "knowledge_base_terms", "embedding_space"])
async def test_what_is_for_everyone_is_read_by_all_and_written_by_nobody(
    memory: MemoryManager, db: Database, table: str
) -> None:
    await MemoryManager(db, memory.embedder, EVERYONE).write_knowledge_base("gull tern", {"source": "x"})
    before = await rows(db, f"SELECT * FROM {table}")  # noqa: S608 - ours
    assert before
    async with db.transaction("a") as conn:
        assert (await conn.execute(f"SELECT FROM {table}".encode())).rowcount == len(before)
        for change in ("UPDATE {} SET user_id = user_id", "DELETE FROM {}"):
            assert (await conn.execute(sql.SQL(change).format(sql.Identifier(table)))).rowcount == 0
    assert await rows(db, f"SELECT * FROM {table}") == before  # noqa: S608 - ours


async def test_a_row_cannot_be_hung_on_the_row_of_another(memory: MemoryManager, db: Database) -> None:
    """Else it would go, or change, together with that one."""
    document = await memory.for_user("a").write_knowledge_base("gull", {"source": "x"})
    message = await memory.for_user("a").write_conversational_memory("t", "user", "gull")
    chunk = (
        "INSERT INTO knowledge_base (id, user_id, document_id, chunk, source, place, content, hash, words, counts, "
        "length) VALUES (gen_random_uuid(), 'ab', %s, 0, 'x', 1, 'x', 'x', '{}', '{}', 0)"
    )
    mention = "INSERT INTO entity_mentions (user_id, entity_id, message_id, mention) VALUES ('ab', %(m)s, %(m)s, 'x')"
    for statement, key in ((chunk, [document]), (mention, {"m": message})):
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            async with db.transaction("ab") as conn:
                await conn.execute(statement.encode(), key)


async def test_every_foreign_key_names_the_user(db: Database) -> None:
    """Foreign keys are checked outside row-level security."""
    keys = await rows(
        db,
        "SELECT conrelid::regclass::text AS t, (SELECT array_agg(attname::text) FROM pg_attribute "
        "WHERE attrelid = conrelid AND attnum = ANY(conkey)) AS columns FROM pg_constraint "
        "WHERE contype = 'f' AND connamespace = 'public'::regnamespace",
    )
    assert len(keys) > 5
    assert [key["t"] for key in keys if "user_id" not in key["columns"]] == []


async def test_the_words_of_one_user_weigh_nothing_in_the_ranking_of_another(memory: MemoryManager) -> None:
    """`gull` is rare for a, and must stay so whatever others write of gulls."""
    own = memory.for_user("a").user_memory
    texts = ["the gull", *(f"the tern number {n}" for n in range(6))]
    for text in texts:
        await own.remember(Said(text, origin="user"), actor="user")
    query = Query("gull tern", None, (await memory.query("gull tern")).terms)
    before = [(hit.content, hit.score) for hit in await own.recall(query, 10)]
    assert before[0][0] == "the gull"
    for n in range(40):
        said = Said(f"gull gull number {n}", origin="user")
        await memory.for_user("A").user_memory.remember(said, actor="user")
    assert [(hit.content, hit.score) for hit in await own.recall(query, 10)] == before
