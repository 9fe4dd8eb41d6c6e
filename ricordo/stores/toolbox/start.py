"""A start waits for no embeddings: it goes on with what is known of the tools, and catches up in the background."""

import asyncio
import logging

import psycopg

from ricordo.common.errors import RicordoError
from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.connection import alone
from ricordo.stores.postgres.database import Database
from ricordo.stores.toolbox.box import Toolbox
from ricordo.stores.toolbox.catalogue import MANY

_log = logging.getLogger(__name__)

_AGAIN_SECONDS = 60


async def begin(box: Toolbox, db: Database, embedder: Embedder) -> bool:
    """Make the tools fit to be searched; tell whether all is done, or so many are new that one should `catch_up`.

    Raises:
        DatabaseError: The database cannot be reached.
    """
    known = await box.read(db, embedder)
    if len(known.stale) < MANY:
        await box.sync(db, embedder, known)
        return True
    await box.show()
    return False


async def catch_up(box: Toolbox, db: Database, embedder: Embedder) -> None:
    """Embed what is new; one process at a time, so that the next one finds what this one has done.

    It may be cancelled at any time: what is done is kept. A failure is logged, and what is left is done a while later.
    """
    while True:
        try:
            async with alone(db.dsn, "tools", "embedding new tools", wait=True):
                changes = await box.sync(db, embedder)
                left = len((await box.read(db, embedder)).stale)
        except (RicordoError, psycopg.Error) as error:
            _log.warning("Embedding new tools failed, and goes on in a minute; their words find them: %s", error)
            await asyncio.sleep(_AGAIN_SECONDS)
        else:
            done = len(changes.added) + len(changes.changed) - left
            _log.info("%d new tools are embedded, %d are left for the next start.", done, left)
            return
