"""Where the turn goes next."""

from typing import Literal

from langgraph.runtime import Runtime

from ricordo.graph.context import Context
from ricordo.graph.limits import limits_of
from ricordo.graph.state import State


def after_assemble(state: State) -> Literal["check_window", "persist_workflow", "__end__"]:
    """A question that cannot be taken ends the turn; one that was answered before the server was killed has ended."""
    if state["stop_reason"] == "answer":
        return "__end__"
    return "persist_workflow" if state["stop_reason"] else "check_window"


def after_check(state: State, runtime: Runtime[Context]) -> Literal["compact", "retrieve_tools"]:
    """Compact above the threshold, unless the pass before could shrink nothing."""
    limits = limits_of(runtime)
    over = state["context"]["tokens"] + limits.reserve > limits.compact_above
    return "compact" if over and not state["exhausted"] else "retrieve_tools"


def after_llm(state: State) -> Literal["execute_tools", "compact", "persist_workflow"]:
    """Run the tools that the reply asks for; compact what the provider found too long; else the turn is at its end."""
    if state["stop_reason"]:
        return "persist_workflow"
    return "compact" if state["overflows"] else "execute_tools"


def after_tools(state: State) -> Literal["check_window", "persist_workflow"]:
    """Go round again while there is time."""
    return "persist_workflow" if state["stop_reason"] else "check_window"
