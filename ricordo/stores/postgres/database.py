"""The database: a pool whose transactions see one user's rows, by the database's own rules."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, LiteralString

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from ricordo.common.errors import DatabaseError
from ricordo.common.identity import assert_identity
from ricordo.stores.postgres.connection import Connection, connect, failure, normalise, options_for
from ricordo.stores.postgres.embedded import EmbeddedPostgres
from ricordo.stores.postgres.migrate import APP_ROLE, migrate, refused
from ricordo.stores.postgres.pooler import assert_sessions

if TYPE_CHECKING:
    from ricordo.common.settings import Settings

EVERYONE = "*"
"""The user whose rows belong to the deployment and are readable by all (the toolbox)."""
_WAIT_SECONDS = 10
# Local to the transaction, in one go: nothing is left behind on a connection, and no transaction goes without.
ENTER = (
    "SELECT set_config('role', %s, true), set_config('app.user_id', %s, true), set_config('TimeZone', 'UTC', true), "
    # Without it, an index scan that is filtered by user comes back short.
    "set_config('hnsw.iterative_scan', 'relaxed_order', true)"
)
_ENTER_SHARED: LiteralString = ENTER + ", set_config('app.shared', 'on', true)"
_ENTER_AS_OWNER = "SELECT set_config('app.user_id', %s, true), set_config('TimeZone', 'UTC', true)"


class Database:
    """A pool of connections, bound to the event loop in which it was opened."""

    def __init__(self, dsn: str, pool: AsyncConnectionPool[Connection], pooler: str | None = None) -> None:
        self.dsn = dsn
        """The address for what a session holds: locks, migrations."""
        self.pooler = pooler
        """The address for what ends with its transaction; None: the same."""
        self._pool = pool
        self._loop = asyncio.get_running_loop()

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        dsn: str,
        *,
        pooler: str | None = None,
        max_connections: int = 8,
        revive: Callable[[], Awaitable[object]] | None = None,
    ) -> "AsyncIterator[Database]":
        """Open the pool; the schema must be there (`migrate`). Connections are made when they are needed.

        Args:
            dsn: Address of the database, `postgresql://…`.
            pooler: Address by which a pooler gives a server to each transaction, if there is one.
            max_connections: Transactions at once; more of them wait.
            revive: Called before each new connection, to start a server that has gone.

        Raises:
            ConfigurationError: The address is malformed.
        """
        conninfo = normalise(pooler or dsn)
        # What the pool would log is raised, with the reason.
        logging.getLogger("psycopg").setLevel(logging.CRITICAL)

        async def address() -> str:
            if revive:
                await revive()
            return conninfo

        pool = AsyncConnectionPool[Connection](
            address,
            kwargs=options_for(pooled=pooler is not None),
            min_size=1,
            max_size=max_connections,
            timeout=_WAIT_SECONDS,
            open=False,
        )
        async with pool:
            yield cls(dsn, pool, pooler)

    @asynccontextmanager
    async def transaction(self, user_id: str, *, shared: bool = False) -> AsyncIterator[Connection]:
        """Open a transaction that sees and writes this user's rows alone; committed at the end, undone on an error.

        Args:
            user_id: Whose rows.
            shared: Let it also read what others share with this user (`ricordo/stores/sharing.py`).

        Raises:
            InputError: The user id is none (`ricordo/common/identity.py`).
            DatabaseError: There is no connection, it was lost, or the server gave up. Nothing was written, unless
                the connection was lost in the middle of the commit: then one cannot know.
        """
        assert_identity(user_id)
        async with self._begin(_ENTER_SHARED if shared else ENTER, [APP_ROLE, user_id]) as conn:
            yield conn

    @asynccontextmanager
    async def as_owner(self, user_id: str | None = None) -> AsyncIterator[Connection]:
        """Open a transaction as the user of the address, for what the application's role may not do.

        Args:
            user_id: Whose rows are meant. The owner of the tables reads all rows, and passes row-level security as a
                superuser only, such as on the embedded server: on other servers it writes the rows of this user.

        Raises:
            DatabaseError: As for `transaction`.
        """
        async with self._begin(_ENTER_AS_OWNER, [user_id or ""]) as conn:
            yield conn

    @asynccontextmanager
    async def _begin(self, query: LiteralString, params: list[str]) -> AsyncIterator[Connection]:
        if asyncio.get_running_loop() is not self._loop:
            raise DatabaseError(
                "This Database was opened in another event loop, and its connections only work there. Open one in "
                "each event loop."
            )
        try:
            async with AsyncExitStack() as stack:
                try:
                    conn = await self._enter(stack, query, params)
                except psycopg.OperationalError:
                    # The server was started anew since the connection was last used, and nothing is written yet.
                    await stack.aclose()
                    await self._pool.check()
                    conn = await self._enter(stack, query, params)
                yield conn
                await conn.commit()
        except PoolTimeout as error:
            await (
                await connect(self.pooler or self.dsn)
            ).close()  # says why there is no connection, unless it succeeds
            raise DatabaseError(
                f"All {self._pool.max_size} connections to the database have been busy for {_WAIT_SECONDS} seconds. "
                f"Try again when less is going on."
            ) from error
        except psycopg.OperationalError as error:
            raise failure(self.dsn, error) from error

    async def _enter(self, stack: AsyncExitStack, query: LiteralString, params: list[str]) -> Connection:
        conn = await stack.enter_async_context(self._pool.connection())  # rolls back what was not committed
        try:
            async with conn.pipeline():  # in one round trip
                await conn.execute("BEGIN")
                await conn.execute(query, params)
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidParameterValue) as error:
            raise refused(conn, error) from error
        return conn


@asynccontextmanager
async def open_database(settings: "Settings") -> AsyncIterator[Database]:
    """Open the database that the settings name, or the embedded one, with its schema up to date.

    Raises:
        ConfigurationError: The address is malformed, or a pooler's where PostgreSQL's own is needed.
        DatabaseError: The server cannot be started, reached or migrated.
    """
    if settings.database_url is not None:
        dsn, pooler, variable = settings.database_url.get_secret_value(), None, "RICORDO_DATABASE_URL"
        if settings.database_direct_url is not None:
            dsn, pooler = settings.database_direct_url.get_secret_value(), dsn
            variable = "RICORDO_DATABASE_DIRECT_URL"
        await assert_sessions(dsn, variable)
        await migrate(dsn)
        async with Database.open(dsn, pooler=pooler) as database:
            yield database
        return
    server = await asyncio.to_thread(EmbeddedPostgres, settings.home)

    async def start() -> str:
        return await asyncio.to_thread(server.start)

    try:
        dsn = await start()
        await migrate(dsn)
        async with Database.open(dsn, revive=start) as database:
            yield database
    finally:
        server.close()
