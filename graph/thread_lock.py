"""One turn at a time on a thread, across processes."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from graph.errors import ThreadBusyError
from stores.connection import connect

_POLL_SECONDS = 0.1


@asynccontextmanager
async def thread_lock(dsn: str, thread_id: UUID, name: str, wait_seconds: float) -> AsyncIterator[None]:
    """Hold a thread for a turn; the database lets go of it when this process dies.

    Args:
        dsn: The database's address.
        thread_id: The thread's id.
        name: Its name, for the message.
        wait_seconds: How long another turn may take before this one gives up.

    Raises:
        ThreadBusyError: Another turn was still under way when the time was up.
    """
    key = thread_id.int & 0x7FFF_FFFF_FFFF_FFFF
    ends_at = time.monotonic() + wait_seconds
    conn = await connect(dsn)
    try:
        while not (await (await conn.execute("SELECT pg_try_advisory_lock(%s) AS held", (key,))).fetchone() or {})[
            "held"
        ]:
            if time.monotonic() > ends_at:
                raise ThreadBusyError(
                    f"Another turn of thread '{name}' is still under way after {wait_seconds:.0f} seconds, so this one "
                    "was not begun. Wait for it to end and ask again, or use another thread."
                )
            await asyncio.sleep(_POLL_SECONDS)
        yield
    finally:
        await conn.close()
