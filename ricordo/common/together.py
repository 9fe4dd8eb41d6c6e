"""Several coroutines at once; when one fails, the others are stopped before the error goes on."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def together(*work: Coroutine[Any, Any, Any]) -> list[Any]:
    """Run coroutines at once and return their results in order.

    Unlike `asyncio.gather`, nothing goes on in the background after a failure; unlike `asyncio.TaskGroup`, the first
    error comes out as it is.
    """
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
