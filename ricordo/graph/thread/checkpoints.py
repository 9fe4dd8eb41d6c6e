"""The checkpointer that CLI, notebooks and the server share, so that a thread goes on in any of them."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from psycopg_pool import AsyncConnectionPool

from ricordo.graph.thread.attachments import NamesOnly
from ricordo.stores.postgres.connection import Connection, normalise, options_for
from ricordo.stores.postgres.database import Database

if TYPE_CHECKING:
    from ricordo.graph.thread.saver import Saver

_CONNECTIONS = 4


@asynccontextmanager
async def open_checkpointer(dsn: str, *, pooled: bool = False) -> "AsyncIterator[Saver]":
    """Open the saver on a migrated database, in the current event loop.

    It works as the database's owner: the application's role has no right on the checkpoints.

    Args:
        dsn: The database.
        pooled: Whether a pooler gives a server to each transaction there.
    """
    from ricordo.graph.thread.saver import Saver  # noqa: PLC0415 - LangGraph's is slow to import, and the CLI's --help need not wait

    options = options_for(pooled=pooled, prepare_after=0)
    async with AsyncConnectionPool[Connection](
        normalise(dsn), min_size=1, max_size=_CONNECTIONS, kwargs=options, open=False
    ) as pool:
        yield Saver(pool, serde=NamesOnly())


def checkpointer_of(db: Database) -> "AbstractAsyncContextManager[Saver]":
    """Open the saver on an open database, by its pooler if it has one."""
    return open_checkpointer(db.pooler or db.dsn, pooled=db.pooler is not None)
