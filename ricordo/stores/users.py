"""Users as a whole: who there is, and the deletion of one with every trace."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from graphlib import TopologicalSorter
from hashlib import sha256
from uuid import UUID

import psycopg
from psycopg import sql

from ricordo.common.errors import InputError
from ricordo.common.text import clean
from ricordo.stores.postgres.connection import Connection, connect
from ricordo.stores.postgres.database import EVERYONE, Database
from ricordo.stores.thread_lock import ThreadLocks

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

_CHECKPOINTS = ("checkpoint_writes", "checkpoint_blobs", "checkpoints")
_NAMED_BY_OTHERS: Mapping[str, str] = {"shares": "with_user", "team_members": "member"}
"""Columns by which rows of others name a user."""
_CLEARS_STATISTICS = 18_00_00
"""The first version of PostgreSQL that lets a table's owner do so."""
_NOT_COUNTED = ("_terms", "_names", "_sources", "_mentions")
"""Ends of the names of tables whose rows only serve those of another table."""


@dataclass(frozen=True, slots=True)
class User:
    """A user, by what is stored."""

    user_id: str
    rows: Mapping[str, int]
    """By table; only those that hold something."""
    last_seen: datetime | None
    """When a turn of the user last began or ended; None for one without threads."""


@dataclass(slots=True)
class Deleted:
    """What is gone."""

    user_id: str
    thread_ids: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    """By table."""

    @property
    def threads(self) -> int:
        """How many they were."""
        return len(self.thread_ids)


async def list_users(db: Database) -> list[User]:
    """List everybody for whom something is stored, by name."""
    rows: dict[str, dict[str, int]] = {}
    async with db.as_owner() as conn:
        for table in await _tables(conn):
            if table.endswith(_NOT_COUNTED):
                continue
            cursor = await conn.execute(
                sql.SQL("SELECT user_id, count(*) AS n FROM {} WHERE user_id <> %s GROUP BY user_id").format(
                    sql.Identifier(table)
                ),
                (EVERYONE,),
            )
            for row in await cursor.fetchall():
                rows.setdefault(row["user_id"], {})[table] = row["n"]
        cursor = await conn.execute("SELECT user_id, max(updated_at) AS last FROM threads GROUP BY user_id")
        seen = {row["user_id"]: row["last"] for row in await cursor.fetchall()}
    return [User(name, held, seen.get(name)) for name, held in sorted(rows.items())]


async def delete_user(
    db: Database,
    user_id: str,
    *,
    wait_seconds: float = 120,
    progress: Progress | None = None,
    rewrite: bool = False,
) -> Deleted:
    """Delete a user with every trace: memory, threads, checkpoints, cached vectors, shares given and received.

    It waits for turns of the user that are under way in notebooks and command lines, deletes all in one transaction,
    and lets a turn that began meanwhile go on as the first one of a new user. A run on LangGraph's server that is still
    under way fails at its next step.

    Args:
        db: The database.
        user_id: Who is to be deleted.
        wait_seconds: How long a turn under way may take.
        progress: Told how far it is.
        rewrite: Write the tables anew, so that their files hold nothing of what was deleted; each is locked meanwhile.

    Raises:
        InputError: The user is '*', who stands for the deployment itself.
        ThreadBusyError: A turn was still under way when the time was up; nothing was deleted.
    """
    if user_id == EVERYONE or not user_id or clean(user_id) != user_id:
        raise InputError(
            f"'{clean(user_id)}' is no user that could be deleted: '*' stands for the deployment itself. `ricordo user "
            "list` shows the users, and `ricordo kb delete` deletes a document of everyone's."
        )
    tell = progress or (lambda _what, _done, _all: None)
    async with AsyncExitStack() as stack:
        locks = ThreadLocks(db.dsn)
        stack.push_async_callback(locks.close)
        held: set[UUID] = set()
        deleted: Deleted | None = None
        while deleted is None:
            async with db.as_owner(user_id) as conn:
                running = {i: name for i, name in (await _recent_threads(conn, user_id)).items() if i not in held}
                if not running:
                    deleted = await _delete(conn, user_id, tell)
            for thread_id, name in sorted(running.items()):
                await stack.enter_async_context(locks.hold(thread_id, name, wait_seconds))
                held.add(thread_id)
    await _tidy(db, list(deleted.rows), tell, rewrite=rewrite)
    return deleted


async def _recent_threads(conn: Connection, user_id: str) -> dict[UUID, str]:
    """Return the threads on which a turn may be under way; none can begin before the transaction ends."""
    await conn.execute("SELECT pg_advisory_xact_lock(hashtextextended('user ' || %s, 0))", (user_id,))
    cursor = await conn.execute(
        # A turn brings this up to date as it begins, and has a deadline. Locks on all threads ever could be too many.
        "SELECT thread_id, name FROM threads WHERE user_id = %s AND updated_at > now() - interval '1 day'",
        (user_id,),
    )
    return {row["thread_id"]: row["name"] for row in await cursor.fetchall()}


async def _delete(conn: Connection, user_id: str, tell: Progress) -> Deleted:
    """Delete in the caller's transaction, whose `app.user_id` is the user.

    Each statement names the user: the owner of the tables may be a superuser, who passes row-level security.
    """
    deleted = Deleted(user_id)
    cursor = await conn.execute("SELECT thread_id FROM threads WHERE user_id = %s", (user_id,))
    threads = [str(row["thread_id"]) for row in await cursor.fetchall()]
    deleted.thread_ids = threads
    await _end(conn, user_id, threads)
    tables = await _tables(conn)
    steps = [
        *((table, "thread_id = ANY(%s)", threads) for table in _CHECKPOINTS),
        *((table, f"{column} = %s", user_id) for table, column in _NAMED_BY_OTHERS.items()),
        *((table, "user_id = %s", user_id) for table in tables),
    ]
    for done, (table, condition, value) in enumerate(steps):
        tell("deleting", done, len(steps))
        statement = sql.SQL("DELETE FROM {} WHERE ").format(sql.Identifier(table)) + sql.SQL(condition)
        count = (await conn.execute(statement, (value,))).rowcount
        if count:
            deleted.rows[table] = deleted.rows.get(table, 0) + count
    tell("deleting", len(steps), len(steps))
    return deleted


async def _end(conn: Connection, user_id: str, threads: Sequence[str]) -> None:
    """Let no run on LangGraph's server write another checkpoint of these threads, and let it forget the user."""
    await conn.execute("SELECT set_config('app.user_id', %s, true)", (EVERYONE,))
    await conn.execute("DELETE FROM ended_threads WHERE ended_at < now() - interval '1 day'")
    await conn.execute(
        "INSERT INTO ended_threads (hash) SELECT sha256(convert_to(id, 'UTF8')) FROM unnest(%s::text[]) AS t(id) "
        "ON CONFLICT (hash) DO UPDATE SET ended_at = now()",
        ([*threads, f"user {user_id}"],),
    )
    await conn.execute("SELECT set_config('app.user_id', %s, true)", (user_id,))


def trace_of(ended: str) -> bytes:
    """Return what tells of a thread that was ended, or of `user NAME`, and does not tell its name."""
    return sha256(ended.encode()).digest()


async def ended_since(conn: Connection) -> dict[bytes, datetime]:
    """Return what was ended within the last day, by its trace, and when."""
    cursor = await conn.execute("SELECT hash, ended_at FROM ended_threads")
    return {bytes(row["hash"]): row["ended_at"] for row in await cursor.fetchall()}


async def _tables(conn: Connection) -> list[str]:
    """Return every table with rows of users; what goes with rows of another comes before it, so that all is counted."""
    cursor = await conn.execute(
        "SELECT c.relname, ARRAY(SELECT f.relname::text FROM pg_constraint k JOIN pg_class f ON f.oid = k.confrelid "
        "WHERE k.conrelid = c.oid AND k.contype = 'f' AND k.confrelid <> c.oid) AS refers_to "
        "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'user_id' "
        "JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = current_schema() "
        "WHERE c.relkind IN ('r', 'p') ORDER BY c.relname"
    )
    before: dict[str, set[str]] = {}
    for row in await cursor.fetchall():
        before.setdefault(row["relname"], set())
        units = row["relname"].removesuffix("_terms")
        for other in [*row["refers_to"], *([units] if units != row["relname"] else [])]:
            before.setdefault(other, set()).add(row["relname"])
    return list(TopologicalSorter(before).static_order())


async def _tidy(db: Database, tables: Collection[str], tell: Progress, *, rewrite: bool) -> None:
    """Free the space and renew the planner's statistics, which keep samples of what was in the columns."""
    async with await connect(db.dsn) as conn:
        for done, table in enumerate(tables):
            tell("tidying", done, len(tables))
            how = sql.SQL("VACUUM (FULL, ANALYZE) {}" if rewrite else "VACUUM (ANALYZE) {}")
            await conn.execute(how.format(sql.Identifier(table)))
            if conn.info.server_version >= _CLEARS_STATISTICS:
                # Of a table without rows, ANALYZE leaves the old ones as they are.
                await conn.execute(
                    sql.SQL(
                        "SELECT pg_clear_attribute_stats(current_schema(), c.relname, a.attname, false) "
                        "FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
                        "WHERE (c.oid = %s::regclass OR c.oid IN "
                        "(SELECT indexrelid FROM pg_index WHERE indrelid = %s::regclass AND indexprs IS NOT NULL)) "
                        "AND a.attnum > 0 AND NOT a.attisdropped AND NOT EXISTS (SELECT FROM {})"
                    ).format(sql.Identifier(table)),
                    (table, table),
                )
        if rewrite:
            with suppress(psycopg.errors.InsufficientPrivilege):  # its administrator's, on a server of one's own
                await conn.execute("CHECKPOINT")  # until then the old files are kept, and needed after a crash
        tell("tidying", len(tables), len(tables))
