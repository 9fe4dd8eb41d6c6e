"""The checkpointer that CLI, notebooks and the server share, so that a thread goes on in any of them."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from ricordo.graph.thread.attachments import NamesOnly
from ricordo.stores.postgres.database import Database
from ricordo.stores.postgres.pool import Pool, Revive

if TYPE_CHECKING:
    from ricordo.graph.thread.saver import Saver

_CONNECTIONS = 4


@asynccontextmanager
async def open_checkpointer(dsn: str, *, pooled: bool = False, revive: Revive | None = None) -> "AsyncIterator[Saver]":
    """Open the saver on a migrated database, in the current event loop.

    It works as the database's owner: the application's role has no right on the checkpoints.

    Args:
        dsn: The database.
        pooled: Whether a pooler gives a server to each transaction there.
        revive: Starts a server that has gone.
    """
    from ricordo.graph.thread.saver import Saver  # noqa: PLC0415 - LangGraph's is slow to import, and the CLI's --help need not wait

    async with Pool(dsn, size=_CONNECTIONS, pooled=pooled, prepare_after=0, revive=revive) as pool:
        yield Saver(pool, serde=NamesOnly())


def checkpointer_of(db: Database) -> "AbstractAsyncContextManager[Saver]":
    """Open the saver on an open database, by its pooler if it has one."""
    return open_checkpointer(db.pooler or db.dsn, pooled=db.pooler is not None, revive=db.revive)
