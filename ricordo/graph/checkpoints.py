"""The checkpointer that CLI, notebooks and the server share, so that a thread goes on in any of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from ricordo.stores.postgres.connection import Connection, normalise

if TYPE_CHECKING:
    from ricordo.graph.saver import Saver

_CONNECTIONS = 4


@asynccontextmanager
async def open_checkpointer(dsn: str) -> "AsyncIterator[Saver]":
    """Open the saver on a migrated database, in the current event loop.

    It works as the database's owner: the application's role has no right on the checkpoints.
    """
    from ricordo.graph.saver import Saver  # noqa: PLC0415 - LangGraph's is slow to import, and the CLI's --help need not wait

    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with AsyncConnectionPool[Connection](
        normalise(dsn), min_size=1, max_size=_CONNECTIONS, kwargs=options, open=False
    ) as pool:
        yield Saver(pool)
