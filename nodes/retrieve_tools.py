"""Choose the tools for the coming model call."""

import json

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.runtime import Runtime

from graph import prompt
from graph.context import Context
from graph.exchange import exchange_of
from graph.limits import limits_of
from graph.resources import get_resources
from graph.state import State, StateUpdate
from graph.timing import timed
from graph.tokens import text_of
from graph.window import Window

_OBSERVED = 600
"""Characters of the latest observation that the search sees: its head tells what it is."""
_KEPT_FREE = 4
"""Places that the search leaves for what `read_toolbox` will be asked for, and for the tools that pointers need."""


@timed
async def retrieve_tools(state: State, runtime: Runtime[Context]) -> StateUpdate:
    """Offer the tools that fit the question and what the last tools returned.

    A tool once offered stays for the turn, in the order in which it came up, so that the provider's prompt cache holds.
    What must be there comes first, then what `read_toolbox` found, then what the search finds; all within `max_tools`.
    """
    limits, resources = limits_of(runtime), get_resources()
    toolbox, settings = resources.toolbox, resources.settings
    window = await prompt.window_of(state, runtime)
    hidden = toolbox.hidden(settings)
    offered = [name for name in state["offered"] if name in toolbox]
    needed = prompt.pointed_at(state, window)
    pinned = [tool.name for tool in toolbox if tool.pinned]
    wanted = [name for name in (*pinned, *needed, *_found(state)) if name in toolbox and name not in hidden]
    offered = list(dict.fromkeys([*offered, *wanted]))[: limits.max_tools]
    room = min(limits.tools_per_step, limits.max_tools - min(_KEPT_FREE, limits.max_tools // 4) - len(offered))
    if room > 0:
        hits = await toolbox.search(_queries(state, window), room, exclude=offered, settings=settings)
        offered += [hit.name for hit in hits]
    fit = prompt.that_fit(offered, needed, state, window, limits)
    return {"offered": [name for name in offered if name in fit]}


def _found(state: State) -> list[str]:
    """Return the tools that `read_toolbox` named in the latest step, a line each; some lines may have been cut."""
    names: list[str] = []
    for message in _latest(state):
        if message.name == "read_toolbox" and message.status == "success":
            for line in text_of(message).splitlines():
                try:
                    names.append(json.loads(line.rstrip(","))["name"])
                except (ValueError, KeyError, TypeError):  # a bracket, a cut line, or words for the model
                    continue
    return names


def _queries(state: State, window: Window) -> list[str]:
    """Return what is looked for: the question, what the model said of this step, and what the last tools returned.

    What the model says names the step better than anything else; an observation means little without the question.
    """
    said = next((text_of(m).strip() for m in reversed(exchange_of(state)) if isinstance(m, AIMessage)), "")
    observed = "\n".join(text_of(m)[:_OBSERVED] for m in _latest(state) if m.name != "read_toolbox").strip()
    queries = [window.question, said[:_OBSERVED]]
    if observed:
        queries.append(f"{window.question[:_OBSERVED]}\n{observed[:_OBSERVED]}")
    return [query for query in queries if query]


def _latest(state: State) -> list[ToolMessage]:
    """Return the results of the latest step."""
    exchange = exchange_of(state)
    last = max((i for i, m in enumerate(exchange) if isinstance(m, AIMessage)), default=len(exchange))
    return [m for m in exchange[last + 1 :] if isinstance(m, ToolMessage)]
