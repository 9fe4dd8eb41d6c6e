"""One turn at a time on a thread, in this process and across processes."""

import asyncio
import hashlib
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import UUID
from weakref import WeakValueDictionary

import psycopg

from ricordo.common.errors import ThreadBusyError
from ricordo.stores.postgres.connection import Connection, connect, failure

_POLL_SECONDS = 0.1
_NEVER_IDLE = "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'"

Assure = Callable[[], Awaitable[None]]
_Key = tuple[int, int]


class ThreadLocks:
    """Locks on threads, by advisory locks of one session: the database lets go of them when this process dies.

    A session may take its own lock twice, so tasks of this process wait for each other beforehand.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._session: Connection | None = None
        self._session_lock = asyncio.Lock()
        self._here: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()  # of threads in use

    @asynccontextmanager
    async def hold(self, thread_id: UUID, name: str, wait_seconds: float) -> AsyncIterator[Assure]:
        """Hold a thread for a turn.

        Args:
            thread_id: The thread's id.
            name: Its name, for the message.
            wait_seconds: How long another turn may take before this one gives up.

        Yields:
            To be called before what cannot be undone: it makes sure that the thread is still held.

        Raises:
            ThreadBusyError: Another turn was still under way when the time was up, or took the thread when this one
                had lost it.
            DatabaseError: The database cannot be reached.
        """
        ends_at = time.monotonic() + wait_seconds
        lock = self._here.setdefault(thread_id, asyncio.Lock())
        try:
            async with asyncio.timeout(wait_seconds or _POLL_SECONDS):
                await lock.acquire()
        except TimeoutError:
            raise _busy(name, wait_seconds) from None
        key = _key(thread_id)
        held: Connection | None = None

        async def assure() -> None:
            nonlocal held
            try:
                async with self._session_lock:
                    session = await self._living_session()
                    if held is not session:
                        if not await _ask(session, "SELECT pg_try_advisory_lock(%s, %s) AS done", key):
                            raise _lost(name)
                        held = session
            except psycopg.OperationalError as error:  # cut in this very moment
                raise failure(self._dsn, error) from error

        try:
            while held is None:
                try:
                    await assure()
                except ThreadBusyError:
                    if time.monotonic() > ends_at:
                        raise _busy(name, wait_seconds) from None
                    await asyncio.sleep(_POLL_SECONDS)
            try:
                yield assure
            finally:
                await asyncio.shield(self._release(held, key))
        finally:
            lock.release()

    async def close(self) -> None:
        """End the session, and with it every lock that is still held."""
        if self._session:
            await self._session.close()

    async def _living_session(self) -> Connection:
        """Return the session; a new one, which holds nothing, if the database has ended it."""
        if session := self._session:
            try:
                await session.execute("SELECT 1")
            except psycopg.OperationalError:
                await session.close()
            else:
                return session
        self._session = await connect(self._dsn)
        # It says nothing while a model thinks; PostgreSQL before 14 has no such limit.
        await self._session.execute(_NEVER_IDLE)
        return self._session

    async def _release(self, session: Connection, key: _Key) -> None:
        """Let go, or let the session's end do it: a turn that is over does not fail by this."""
        async with self._session_lock:
            if session is not self._session:
                return
            try:
                await _ask(session, "SELECT pg_advisory_unlock(%s, %s) AS done", key)
            except psycopg.OperationalError:
                await session.close()


async def _ask(session: Connection, query: str, key: _Key) -> bool:
    row = await (await session.execute(query.encode(), key)).fetchone()
    return bool(row and row["done"])


def _key(thread_id: UUID) -> _Key:
    """Make a thread's key: by a hash, since clients choose ids, and of two numbers, which no other lock here has."""
    return struct.unpack(">ii", hashlib.blake2b(thread_id.bytes, digest_size=8, person=b"thread").digest())


def _busy(name: str, seconds: float) -> ThreadBusyError:
    return ThreadBusyError(
        f"Another turn of thread '{name}' is still under way after {seconds:g} seconds, so this one was not begun. "
        "Wait for it to end and ask again, or use another thread."
    )


def _lost(name: str) -> ThreadBusyError:
    return ThreadBusyError(
        f"The connection that held thread '{name}' was lost, and another turn of it has begun: this one has stopped "
        "before it did more. Look at what the other one did, and ask again."
    )
