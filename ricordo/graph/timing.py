"""Wall clock by phase."""

import functools
import time
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

from ricordo.graph.state import StateUpdate

P = ParamSpec("P")


def timed(node: Callable[P, Coroutine[Any, Any, StateUpdate]]) -> Callable[P, Coroutine[Any, Any, StateUpdate]]:
    """Add a node's seconds to the state under its name."""

    @functools.wraps(node)
    async def wrapper(*args: P.args, **kwargs: P.kwargs) -> StateUpdate:
        began = time.perf_counter()
        update = await node(*args, **kwargs)
        return {**update, "seconds": {node.__name__: time.perf_counter() - began}}

    return wrapper
