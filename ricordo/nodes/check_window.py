"""Count what the next model call would carry."""

import time

from langgraph.runtime import Runtime

from ricordo.graph import prompt
from ricordo.graph.context import Context
from ricordo.graph.limits import limits_of
from ricordo.graph.state import State, StateUpdate
from ricordo.graph.timing import timed


@timed
async def check_window(state: State, runtime: Runtime[Context]) -> StateUpdate:
    """Measure the call to come: system prompt, segments, tool schemas, tool exchange, and the reply's reserve."""
    limits = limits_of(runtime)
    window = await prompt.window_of(state, runtime)
    use = prompt.measure(state, window, limits)
    fresh = {} if state.get("window") is window else {"window": window, "started_at": time.monotonic(), "again": True}
    return {**fresh, "context": use}
