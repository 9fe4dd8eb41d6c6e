"""A tool's function, kept from ending anything but its own call."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Any

from graph.errors import ToolError


def contained(function: Callable[..., Any]) -> Callable[..., Any]:
    """Keep what is no `Exception`, such as the end of the program that a `main()` calls for, from ending ours."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception:
            raise
        except BaseException as ended:  # on a thread, where neither Ctrl-C nor a cancellation ever arrives
            raise _ended(ended) from ended

    return call


def contained_async(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Do the same for a coroutine; a cancellation of the turn passes."""

    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return await function(*args, **kwargs)
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as ended:
            task = asyncio.current_task()
            if isinstance(ended, GeneratorExit | asyncio.CancelledError) and (task is None or task.cancelling()):
                raise
            raise _ended(ended) from ended

    return call


def _ended(ended: BaseException) -> ToolError:
    return ToolError(f"The tool ended without a result: it raised {ended!r}.")
