"""Shrink what the next model call carries, by the cheapest means that is enough."""

from langgraph.runtime import Runtime

from ricordo.graph import prompt
from ricordo.graph.compaction.ladder import Ladder
from ricordo.graph.context import Context
from ricordo.graph.limits import limits_of
from ricordo.graph.state import State, StateUpdate
from ricordo.graph.timing import timed


@timed
async def compact(state: State, runtime: Runtime[Context]) -> StateUpdate:
    """Run one pass down to the target.

    Old tool results become pointers first, since that needs no model; then the exchange is put in short, then the
    oldest turns are summarised, then the other segments give way by rank, and what is still too large is shown as its
    head, its tail and a pointer. What the pass did is told; a pass that misses the threshold is not made again before
    the model is asked.
    """
    limits = limits_of(runtime)
    window = await prompt.window_of(state, runtime)
    ladder = Ladder(state, window, runtime, limits)
    before = ladder.carried()
    await ladder.run()
    after = ladder.carried()
    did = f"{before} to {after} tokens: {'; '.join(ladder.did) or 'nothing was left to shorten'}"
    return {
        "window": ladder.window,
        "messages": ladder.changed_messages(),
        "compactions": [*state.get("compactions", []), did],
        "exhausted": ladder.tokens() > limits.compact_above - limits.reserve,
    }
