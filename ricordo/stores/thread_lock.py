"""One turn at a time on a thread, in this process and across processes."""

import asyncio
import hashlib
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID
from weakref import WeakValueDictionary

import psycopg

from ricordo.common.errors import ThreadBusyError
from ricordo.stores.postgres.connection import Connection, connect, failure

_POLL_SECONDS = 0.1
_Key = tuple[int, int]


class ThreadLocks:
    """Locks on threads, by advisory locks of one session: the database lets go of them when this process dies.

    A session may take its own lock twice, so tasks of this process wait for each other beforehand.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._session: Connection | None = None
        self._connecting = asyncio.Lock()
        self._here: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()  # of threads in use

    @asynccontextmanager
    async def hold(self, thread_id: UUID, name: str, wait_seconds: float) -> AsyncIterator[None]:
        """Hold a thread for a turn.

        Args:
            thread_id: The thread's id.
            name: Its name, for the message.
            wait_seconds: How long another turn may take before this one gives up.

        Raises:
            ThreadBusyError: Another turn was still under way when the time was up.
            DatabaseError: The database cannot be reached.
        """
        ends_at = time.monotonic() + wait_seconds
        lock = self._here.setdefault(thread_id, asyncio.Lock())
        try:
            async with asyncio.timeout(wait_seconds or _POLL_SECONDS):
                await lock.acquire()
        except TimeoutError:
            raise _busy(name, wait_seconds) from None
        try:
            key = _key(thread_id)
            while not await self._ask("SELECT pg_try_advisory_lock(%s, %s) AS done", key):
                if time.monotonic() > ends_at:
                    raise _busy(name, wait_seconds)
                await asyncio.sleep(_POLL_SECONDS)
            try:
                yield
            finally:
                await asyncio.shield(self._release(key))
        finally:
            lock.release()

    async def close(self) -> None:
        """End the session, and with it every lock that is still held."""
        if self._session:
            await self._session.close()

    async def _ask(self, query: str, key: _Key) -> bool:
        async with self._connecting:
            if self._session is None or self._session.closed:
                self._session = await connect(self._dsn)
            try:
                row = await (await self._session.execute(query.encode(), key)).fetchone()
            except psycopg.OperationalError as error:
                raise failure(self._dsn, error) from error
        return bool(row and row["done"])

    async def _release(self, key: _Key) -> None:
        if self._session and not self._session.closed:
            await self._ask("SELECT pg_advisory_unlock(%s, %s) AS done", key)


def _key(thread_id: UUID) -> _Key:
    """Make a thread's key: by a hash, since clients choose ids, and of two numbers, which no other lock here has."""
    return struct.unpack(">ii", hashlib.blake2b(thread_id.bytes, digest_size=8, person=b"thread").digest())


def _busy(name: str, seconds: float) -> ThreadBusyError:
    return ThreadBusyError(
        f"Another turn of thread '{name}' is still under way after {seconds:g} seconds, so this one was not begun. "
        "Wait for it to end and ask again, or use another thread."
    )
