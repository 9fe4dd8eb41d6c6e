"""What is kept for how long: idle threads, outputs of tools, checkpoints. Everything, unless the settings say less.

A conversation is kept or goes as a whole: within a thread no message is ever removed, so that every summary can be
expanded word for word and no open message is lost. An old tool log entry loses its words and stays as an entry. An old
checkpoint goes when its thread has a later one, from which it goes on.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

import psycopg

from ricordo.common.errors import ThreadBusyError
from ricordo.stores.postgres.connection import Connection
from ricordo.stores.postgres.database import Database
from ricordo.stores.thread_lock import ThreadLocks
from ricordo.stores.user_memory.history import purge

if TYPE_CHECKING:
    from ricordo.common.settings import Settings

_MEGABYTE = 1_000_000
_EXPIRED = """
    SELECT * FROM (
        SELECT thread_id, user_id, name, updated_at,
            row_number() OVER (PARTITION BY user_id ORDER BY updated_at DESC, thread_id) AS rank
        FROM threads) t
    WHERE updated_at < now() - make_interval(secs => 86400 * %(days)s::float8) OR rank > %(most)s::bigint"""
_STILL_IDLE = """
    SELECT FROM threads WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND updated_at = %(updated_at)s
    FOR UPDATE"""
_CONTENTS = """
    SELECT (SELECT count(*) FROM messages m WHERE m.user_id = t.user_id AND m.thread_id = t.thread_id) AS messages,
        (SELECT count(*) FROM summary s WHERE s.user_id = t.user_id AND s.thread_id = t.thread_id) AS summaries,
        l.n AS tool_outputs, coalesce(l.bytes, 0) AS tool_log_bytes
    FROM threads t CROSS JOIN LATERAL (
        SELECT count(*) AS n, sum(pg_column_size(output) + pg_column_size(args) + pg_column_size(said)) AS bytes
        FROM tool_log WHERE user_id = t.user_id AND thread_id = t.thread_id) l
    WHERE t.user_id = %(user_id)s AND t.thread_id = %(thread_id)s"""
_CHECKPOINTS_OF = """
    SELECT (SELECT count(*) FROM checkpoints WHERE thread_id = %(id)s) AS checkpoints,
        (SELECT coalesce(sum(pg_column_size(checkpoint) + pg_column_size(metadata)), 0) FROM checkpoints
            WHERE thread_id = %(id)s)
        + (SELECT coalesce(sum(pg_column_size(blob)), 0) FROM checkpoint_blobs WHERE thread_id = %(id)s)
        + (SELECT coalesce(sum(pg_column_size(blob)), 0) FROM checkpoint_writes WHERE thread_id = %(id)s)
            AS checkpoint_bytes"""
_REMOVE = (
    "DELETE FROM checkpoint_writes WHERE thread_id = %(id)s",
    "DELETE FROM checkpoint_blobs WHERE thread_id = %(id)s",
    "DELETE FROM checkpoints WHERE thread_id = %(id)s",
    "DELETE FROM threads WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s",
)
_OLD_ENTRIES = """
    SELECT id, bytes FROM (
        SELECT l.id, l.started_at, l.bytes, sum(l.bytes) OVER (ORDER BY l.seq DESC) AS with_later,
            l.started_at < now() - interval '1 day' OR EXISTS (SELECT FROM messages m WHERE m.user_id = l.user_id
                AND m.thread_id = l.thread_id AND m.run_id = l.run_id AND m.role = 'assistant') AS over
        FROM (SELECT *, pg_column_size(output) + pg_column_size(args) + pg_column_size(said) AS bytes
            FROM tool_log WHERE user_id = %(user_id)s AND pruned_at IS NULL) l) e
    WHERE over AND (started_at < now() - make_interval(secs => 86400 * %(days)s::float8)
        OR with_later > %(most)s::bigint)"""
"""`over` are entries of turns that have ended; a turn has a deadline, well below a day."""
_MANY_CHECKPOINTS = """
    SELECT t.thread_id, t.name FROM threads t
    JOIN (SELECT thread_id, count(*) AS n FROM checkpoints GROUP BY thread_id) c ON c.thread_id = t.thread_id::text
    WHERE n > %(most)s::bigint
        OR n > 1 AND t.updated_at < now() - make_interval(secs => 86400 * %(days)s::float8)"""
_FORGOTTEN = """
    SELECT user_id, count(*) AS memories FROM user_memory
    WHERE deleted_at < now() - %(days)s * interval '1 day' GROUP BY user_id"""

Row = dict[str, Any]


class Saver(Protocol):
    """What retention needs of LangGraph's checkpointer."""

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Remove all but the latest checkpoint of some threads."""


@dataclass(frozen=True)
class Keep:
    """What stays; None: all of it."""

    thread_days: float | None = None
    """Days since a thread's last turn."""
    threads: int | None = None
    """Threads of one user, the latest ones."""
    tool_log_days: float | None = None
    tool_log_bytes: int | None = None
    """Of one user's tool log, as stored (compressed)."""
    checkpoint_days: float | None = None
    """Days since a thread's last turn, after which only its latest checkpoint stays."""
    checkpoints: int | None = None
    """Of one thread; a thread with more of them is cut back to its latest one."""
    forgotten_days: float | None = None
    """Days for which forgetting a memory can be undone."""


def keep_of(settings: "Settings") -> Keep:
    """Return what the settings keep."""
    megabytes = settings.keep_tool_log_mb
    return Keep(
        thread_days=settings.keep_threads_days,
        threads=settings.keep_threads,
        tool_log_days=settings.keep_tool_log_days,
        tool_log_bytes=None if megabytes is None else int(megabytes * _MEGABYTE),
        checkpoint_days=settings.keep_checkpoints_days,
        checkpoints=settings.keep_checkpoints,
        forgotten_days=settings.memory_undo_days,
    )


@dataclass
class Pruned:
    """What went, or would go."""

    threads: int = 0
    messages: int = 0
    summaries: int = 0
    tool_outputs: int = 0
    tool_log_bytes: int = 0
    checkpoints: int = 0
    checkpoint_bytes: int = 0
    forgotten_memories: int = 0
    busy_threads: int = 0
    """Threads that were left alone, since a turn was under way."""

    def add(self, counts: Row) -> None:
        """Add to the counts, by name."""
        for name, number in counts.items():
            setattr(self, name, getattr(self, name) + int(number))

    def as_dict(self) -> dict[str, int]:
        """Return the counts."""
        return asdict(self)


async def prune(db: Database, saver: Saver, keep: Keep, *, dry_run: bool = False) -> Pruned:
    """Remove what is older or more than what is to be kept, of all users.

    Every thread is a transaction of its own: cut off, it goes on the next time where it stopped. A thread with a turn
    under way is left alone.

    Args:
        db: The database.
        saver: The checkpointer, opened as the database's owner.
        keep: What stays.
        dry_run: Only say what would go.

    Raises:
        DatabaseError: The database cannot be reached.
    """
    locks = ThreadLocks(db.dsn)
    pruning = _Pruning(db, saver, locks, keep, dry_run)
    try:
        await pruning.threads()
        await pruning.tool_log()
        await pruning.checkpoints()
        await pruning.forgotten()
    finally:
        await locks.close()
    pruning.pruned.busy_threads = len(pruning.busy)
    return pruning.pruned


async def _rows(conn: Connection, query: str, params: dict[str, Any]) -> list[Row]:
    return await (await conn.execute(query.encode(), params)).fetchall()


async def checkpoints_of(db: Database, thread_id: UUID | str) -> Row:
    """Count a thread's `checkpoints`, and `checkpoint_bytes` as stored, with all that belongs to them."""
    async with db.as_owner() as conn:
        (row,) = await _rows(conn, _CHECKPOINTS_OF, {"id": str(thread_id)})
    return row


@dataclass
class _Pruning:
    """One pass over the database; each method counts what it removes, or would."""

    db: Database
    saver: Saver
    locks: ThreadLocks
    keep: Keep
    dry_run: bool
    pruned: Pruned = field(default_factory=Pruned)
    busy: set[UUID] = field(default_factory=set)
    """Threads on which a turn is under way."""
    gone: set[UUID] = field(default_factory=set)
    """Threads that went, or would go."""

    async def _when_idle(self, thread: Row, work: Callable[[Row], Awaitable[None]]) -> None:
        """Do something to a thread, unless a turn is under way on it."""
        if thread["thread_id"] in self.busy:
            return
        try:
            async with self.locks.hold(thread["thread_id"], thread["name"], 0):
                await work({**thread, "id": str(thread["thread_id"])})
        except (ThreadBusyError, psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
            # The locks are those of notebooks and the command line; a run on LangGraph's server collides in the
            # database.
            self.busy.add(thread["thread_id"])

    async def threads(self) -> None:
        if self.keep.thread_days is None and self.keep.threads is None:
            return
        async with self.db.as_owner() as conn:
            expired = await _rows(conn, _EXPIRED, {"days": self.keep.thread_days, "most": self.keep.threads})
        for thread in expired:
            await self._when_idle(thread, self._remove)

    async def _remove(self, thread: Row) -> None:
        async with self.db.as_owner(thread["user_id"]) as conn:
            # A turn that began meanwhile has brought the thread up to date, and it stays; one that begins now waits.
            if not await _rows(conn, _STILL_IDLE, thread):
                return
            self.pruned.threads += 1
            self.gone.add(thread["thread_id"])
            for query in (_CONTENTS, _CHECKPOINTS_OF):
                for counts in await _rows(conn, query, thread):
                    self.pruned.add(counts)
            if not self.dry_run:
                for statement in _REMOVE:
                    await conn.execute(statement.encode(), thread)

    async def tool_log(self) -> None:
        """Take the words of old entries, the oldest first; never those of a turn that is under way."""
        if self.keep.tool_log_days is None and self.keep.tool_log_bytes is None:
            return
        async with self.db.as_owner() as conn:
            users = await _rows(conn, "SELECT DISTINCT user_id FROM tool_log WHERE pruned_at IS NULL", {})
        for user in users:
            values = {**user, "days": self.keep.tool_log_days, "most": self.keep.tool_log_bytes}
            async with self.db.as_owner(user["user_id"]) as conn:
                old = await _rows(conn, _OLD_ENTRIES, values)
                if not self.dry_run:
                    await conn.execute(
                        "UPDATE tool_log SET output = '', args = '{}', said = '', pruned_at = now() "
                        "WHERE user_id = %s AND id = ANY(%s)",
                        (user["user_id"], [row["id"] for row in old]),
                    )
            self.pruned.tool_outputs += len(old)
            self.pruned.tool_log_bytes += sum(row["bytes"] for row in old)

    async def checkpoints(self) -> None:
        if self.keep.checkpoint_days is None and self.keep.checkpoints is None:
            return
        async with self.db.as_owner() as conn:
            bounds = {"days": self.keep.checkpoint_days, "most": self.keep.checkpoints}
            many = await _rows(conn, _MANY_CHECKPOINTS, bounds)
        for thread in many:
            if thread["thread_id"] not in self.gone:
                await self._when_idle(thread, self._cut_back)

    async def _cut_back(self, thread: Row) -> None:
        before = await checkpoints_of(self.db, thread["id"])
        if self.dry_run:
            after = {"checkpoints": 1, "checkpoint_bytes": before["checkpoint_bytes"] / before["checkpoints"]}
            # An estimate: what the latest one needs cannot be told before.
        else:
            await self.saver.aprune([thread["id"]], strategy="keep_latest")
            after = await checkpoints_of(self.db, thread["id"])
        self.pruned.add({what: before[what] - after[what] for what in before})

    async def forgotten(self) -> None:
        if self.keep.forgotten_days is None:
            return
        async with self.db.as_owner() as conn:
            users = await _rows(conn, _FORGOTTEN, {"days": self.keep.forgotten_days})
        for user in users:
            gone = (
                user["memories"]
                if self.dry_run
                else await purge(self.db, user["user_id"], days=self.keep.forgotten_days)
            )
            self.pruned.forgotten_memories += gone
