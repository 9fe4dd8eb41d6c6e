"""What is the same at the end of every node: its wall clock, and the word to whoever follows the turn."""

import functools
import time
from typing import Protocol

from langgraph.runtime import Runtime

from ricordo.graph.context import Context
from ricordo.graph.events import events_of, written
from ricordo.graph.state import State, StateUpdate


class Node(Protocol):
    """A node of the graph."""

    __name__: str

    async def __call__(self, state: State, runtime: Runtime[Context]) -> StateUpdate:
        """Return the keys that it changed."""


def timed(node: Node) -> Node:
    """Tell what a node did, and add its seconds to the state under its name."""

    @functools.wraps(node)
    async def wrapper(state: State, runtime: Runtime[Context]) -> StateUpdate:
        began = time.perf_counter()
        update = await node(state, runtime)
        for event in events_of(node.__name__, update):
            runtime.stream_writer(written(event))
        return {**update, "seconds": {node.__name__: time.perf_counter() - began}}

    return wrapper
