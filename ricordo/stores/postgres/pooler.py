"""A pooler between us and PostgreSQL that gives a server to each transaction, not to each session."""

from ricordo.common.errors import ConfigurationError
from ricordo.stores.postgres.connection import Connection, connect, describe


async def assert_sessions(dsn: str, variable: str) -> None:
    """Make sure that what is set on a connection stays there: locks that outlive a transaction are one example.

    Args:
        dsn: The address.
        variable: The setting that it is from.

    Raises:
        ConfigurationError: The address is that of a pooler in transaction or statement mode.
        DatabaseError: The server cannot be reached or refuses us.
    """
    async with await connect(dsn) as one:
        first = await _server(one)
        if first == one.info.backend_pid:  # a pooler tells a number of its own
            return
        async with await connect(dsn) as two, two.transaction():
            # In transaction mode a server that is idle is given to the next who asks, whoever asked before.
            if await _server(two) != first and await _server(one) == first:
                return
    raise ConfigurationError(
        f"{variable} leads to a pooler in transaction mode ({describe(dsn)}). Locks on threads need an address that "
        "leads to PostgreSQL itself, or to a pooler in session mode: set RICORDO_DATABASE_DIRECT_URL to it, and "
        "RICORDO_DATABASE_URL can stay the pooler's for all else."
    )


async def _server(conn: Connection) -> int:
    row = await (await conn.execute("SELECT pg_backend_pid() AS pid")).fetchone()
    return int(row["pid"]) if row else 0
