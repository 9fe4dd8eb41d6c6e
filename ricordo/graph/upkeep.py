"""What the deployment does by itself once a day, in the background of whatever process is open then."""

import asyncio
import logging

import psycopg

from ricordo.common.errors import RicordoError
from ricordo.common.settings import Settings
from ricordo.stores.postgres.connection import Connection, connect
from ricordo.stores.postgres.database import EVERYONE, Database
from ricordo.stores.retention import Pruned, keep_of, prune

_log = logging.getLogger(__name__)

_TASK = "prune"
_LOCK = 7_524_401_829
_LOOK_EVERY = 3_600  # seconds


async def keep_tidy(db: Database, settings: Settings) -> None:
    """Prune what retention says, once a day, for as long as the process lives; a failure is logged and no more."""
    while True:
        try:
            if pruned := await prune_if_due(db, settings):
                _log.info("Pruned: %s", pruned.as_dict())
        except (RicordoError, psycopg.Error) as error:
            _log.warning("Pruning failed, and is tried again later: %s", error)
        await asyncio.sleep(_LOOK_EVERY)


async def prune_if_due(db: Database, settings: Settings) -> Pruned | None:
    """Prune if nobody has done so for a day and nobody is at it.

    Raises:
        DatabaseError: The database cannot be reached.
    """
    async with await connect(db.dsn) as conn:
        if not await _is_due(conn):
            return None
        from ricordo.graph.thread.checkpoints import checkpointer_of  # noqa: PLC0415 - slow to import, and rarely needed here

        async with checkpointer_of(db) as saver:
            pruned = await prune(db, saver, keep_of(settings))
    async with db.as_owner(EVERYONE) as conn:
        await conn.execute(
            "INSERT INTO upkeep (task) VALUES (%s) ON CONFLICT (task) DO UPDATE SET done_at = now()", (_TASK,)
        )
    return pruned


async def _is_due(conn: Connection) -> bool:
    """Tell whether it is time; then the connection holds the lock until it is closed."""
    query = (
        "SELECT NOT EXISTS (SELECT FROM upkeep WHERE task = %s AND done_at > now() - interval '1 day') "
        "AND pg_try_advisory_lock(%s) AS due"
    )
    row = await (await conn.execute(query, (_TASK, _LOCK))).fetchone()
    return bool(row and row["due"])
