"""The one pool: a connection is sound when it is handed out, its server is started if it can be, and errors say why."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from ricordo.common.errors import DatabaseError
from ricordo.stores.postgres.connection import Connection, connect, failure, normalise, options_for

Revive = Callable[[], Awaitable[object]]
"""Starts a server that has gone."""

_WAIT_SECONDS = 10
_KEEP_TRYING_SECONDS = 2
"""For a connection; a pool that tries longer waits longer each time, while the server has long come back."""


class Pool(AsyncConnectionPool[Connection]):
    """Connections of one event loop, made when they are needed; closed until it is entered."""

    def __init__(
        self, dsn: str, *, size: int, pooled: bool = False, prepare_after: int = 3, revive: Revive | None = None
    ) -> None:
        """Name the database.

        Args:
            dsn: Its address.
            size: Connections at once; who wants more waits.
            pooled: Whether a pooler gives a server to each transaction there.
            prepare_after: How often a statement is run before it is prepared.
            revive: Called before each new connection.

        Raises:
            ConfigurationError: The address is malformed.
        """
        self.dsn = normalise(dsn)
        self._revive = revive
        # What the pool would log is raised, with the reason.
        logging.getLogger("psycopg").setLevel(logging.CRITICAL)
        super().__init__(
            self._address,
            kwargs=options_for(pooled=pooled, prepare_after=prepare_after),
            min_size=1,
            max_size=size,
            timeout=_WAIT_SECONDS,
            reconnect_timeout=_KEEP_TRYING_SECONDS,
            open=False,
        )

    async def _address(self) -> str:
        if self._revive:
            await self._revive()
        return self.dsn

    @asynccontextmanager
    async def connection(self, timeout: float | None = None) -> AsyncIterator[Connection]:  # noqa: ASYNC109 - upstream's
        """Hand out a connection that works: the server may have been started anew since it was last used.

        Raises:
            DatabaseError: There is none, it was lost in use, or the server gave up.
        """
        try:
            async with AsyncExitStack() as stack:
                conn = await stack.enter_async_context(self._patient(timeout))
                try:
                    await self.check_connection(conn)
                except psycopg.OperationalError:
                    await stack.aclose()
                    await self.check()  # its neighbours will have been cut with it
                    conn = await stack.enter_async_context(self._patient(timeout))
                yield conn
        except (psycopg.OperationalError, psycopg.InternalError) as error:  # such as: no longer the primary
            raise failure(self.dsn, error) from error

    @asynccontextmanager
    async def _patient(self, seconds: float | None) -> AsyncIterator[Connection]:
        async with AsyncExitStack() as stack:
            try:
                conn = await stack.enter_async_context(super().connection(seconds))
            except PoolTimeout as error:
                await (await connect(await self._address())).close()  # says why there is none, unless it succeeds
                if self.get_stats()["pool_size"] >= self.max_size:
                    raise DatabaseError(
                        f"All {self.max_size} connections to the database have been busy for {self.timeout:g} seconds. "
                        "Try again when less is going on."
                    ) from error
                conn = await stack.enter_async_context(super().connection(seconds))  # the server has just come back
            yield conn
