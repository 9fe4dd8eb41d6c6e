"""The database: a pool whose transactions see one user's rows, by the database's own rules."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, LiteralString

import psycopg

from ricordo.common.errors import DatabaseError
from ricordo.common.identity import assert_identity
from ricordo.stores.postgres.connection import Connection
from ricordo.stores.postgres.embedded import EmbeddedPostgres
from ricordo.stores.postgres.migrate import migrate
from ricordo.stores.postgres.pool import Pool, Revive
from ricordo.stores.postgres.pooler import assert_sessions
from ricordo.stores.postgres.role import refused

if TYPE_CHECKING:
    from ricordo.common.settings import Settings

EVERYONE = "*"
"""The user whose rows belong to the deployment and are readable by all (the toolbox)."""
# Local to the transaction, in one go: nothing is left behind on a connection, and no transaction goes without. What a
# server, a database or a role may have been given otherwise, and psycopg relies on: how moments and intervals look.
_SETTINGS: LiteralString = (
    "set_config('app.user_id', %s, true), set_config('TimeZone', 'UTC', true), set_config('DateStyle', 'ISO', true), "
    "set_config('IntervalStyle', 'postgres', true)"
)
ENTER: LiteralString = (
    f"SELECT set_config('role', ricordo_role(), true), {_SETTINGS}, "
    # Without it, an index scan that is filtered by user comes back short.
    "set_config('hnsw.iterative_scan', 'relaxed_order', true)"
)
_ENTER_SHARED: LiteralString = ENTER + ", set_config('app.shared', 'on', true)"
_ENTER_AS_OWNER: LiteralString = f"SELECT {_SETTINGS}"


class Database:
    """A pool of connections, bound to the event loop in which it was opened."""

    def __init__(self, dsn: str, pool: Pool, pooler: str | None = None, revive: Revive | None = None) -> None:
        self.dsn = dsn
        """The address for what a session holds: locks, migrations."""
        self.pooler = pooler
        """The address for what ends with its transaction; None: the same."""
        self.revive = revive
        """Starts the server if it has gone and is one of ours."""
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
        revive: Revive | None = None,
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
        pool = Pool(pooler or dsn, size=max_connections, pooled=pooler is not None, revive=revive)
        async with pool:
            yield cls(dsn, pool, pooler, revive)

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
        async with self._begin(_ENTER_SHARED if shared else ENTER, [user_id]) as conn:
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
        async with self._pool.connection() as conn:  # rolls back what was not committed
            try:
                async with conn.pipeline():  # in one round trip
                    await conn.execute("BEGIN")
                    await conn.execute(query, params)
            except (psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidParameterValue) as error:
                raise await refused(conn, error) from error
            yield conn
            await conn.commit()


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
