"""What a user may try by plain SQL, as the application's role."""

import random
from contextlib import suppress
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from ricordo.stores.manager import MemoryManager

NAMES = ("a", "ab", "a_b", "a%", "A", "a.b", "'; --", "é", "🐚")

_TEXTS = (
    ("messages", "content"),
    ("knowledge_base", "content"),
    ("documents", "title"),
    ("user_memory", "content"),
    ("tool_log", "output"),
    ("summary", "description"),
)
_INTRUSIONS = (
    "INSERT INTO threads (thread_id, user_id, name) VALUES (gen_random_uuid(), %(u)s, 'x')",
    "INSERT INTO embedding_cache (user_id, model, hash, embedding) VALUES (%(u)s, 'm', 'h', '[1]')",
    "INSERT INTO knowledge_base_terms VALUES (%(u)s, 'gull', 1, 1, 1)",
    "INSERT INTO entity_names (user_id, key, name, entity_id) VALUES (%(u)s, 'gull', 'Gull', %(id)s)",
    "INSERT INTO shares (user_id, with_user, kind) VALUES (%(u)s, 'x', 'user_memory')",
    "UPDATE messages SET user_id = %(u)s",
)


class PlainSQL:
    """One user, at the database itself."""

    user: str
    mark: str
    memory: MemoryManager
    dice: random.Random
    kept: dict[str, set[UUID]]

    def check(self, *seen: object, everyone: bool = False) -> None:
        raise NotImplementedError

    def any_id(self) -> str:
        raise NotImplementedError

    async def read_all(self) -> None:
        """Read every row of every table there is."""
        async with self.memory.db.transaction(self.user) as conn:
            for table, open_to_all in (await tables(conn)).items():
                cursor = await conn.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(table)))
                seen = await cursor.fetchall()
                owners = {row["user_id"] for row in seen}
                assert owners <= ({self.user, "*"} if open_to_all else {self.user}), (self.user, table, owners)
                self.check(seen, everyone=open_to_all)

    async def pry(self) -> None:
        """Ask for others' rows by name, and by every way round a condition."""
        async with self.memory.db.transaction(self.user) as conn:
            for other in set(NAMES) - {self.user}:
                cursor = await conn.execute(
                    "SELECT (SELECT count(*) FROM messages WHERE user_id = %(u)s OR true AND user_id <> %(me)s) "
                    "+ (SELECT count(*) FROM user_memory WHERE user_id LIKE %(u)s AND user_id <> %(me)s) "
                    "+ (SELECT count(*) FROM threads t JOIN messages m USING (thread_id) WHERE t.user_id = %(u)s) AS n",
                    {"u": other, "me": self.user},
                )
                assert (await cursor.fetchone() or {})["n"] == 0

    async def intrude(self) -> None:
        """Try to write a row for another, or onto the row of another."""
        other = self.dice.choice([name for name in (*NAMES, "*") if name != self.user])
        onto = {"u": other, "id": self.any_id()}
        for statement in _INTRUSIONS:
            with suppress(psycopg.errors.InsufficientPrivilege):
                async with self.memory.db.transaction(self.user) as conn:
                    changed = await conn.execute(statement.encode(), onto)
                    assert changed.rowcount == 0, statement

    async def overwrite_all(self) -> None:
        async with self.memory.db.transaction(self.user) as conn:
            table, column = self.dice.choice(_TEXTS)
            statement = sql.SQL("UPDATE {t} SET {c} = {c} || %s").format(
                t=sql.Identifier(table), c=sql.Identifier(column)
            )
            await conn.execute(statement, (f" {self.mark}",))

    async def delete_all(self) -> None:
        async with self.memory.db.transaction(self.user) as conn:
            table = self.dice.choice(sorted(await tables(conn)))
            await conn.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
        self.kept.clear()  # whatever hung on it is gone too


async def tables(conn: psycopg.AsyncConnection[dict[str, Any]]) -> dict[str, bool]:
    """Return the tables that the application reads, and whether all may read the rows of `*` in them."""
    cursor = await conn.execute(
        "SELECT relname, EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND (p.polname = 'everyone_reads' "
        "OR pg_get_expr(p.polqual, p.polrelid) LIKE '%%''knowledge_base''%%')) AS open_to_all FROM pg_class c "
        "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND has_table_privilege(oid, 'SELECT')"
    )
    return {row["relname"]: row["open_to_all"] for row in await cursor.fetchall()}
