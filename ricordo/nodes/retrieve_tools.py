"""Choose the tools for the coming model call."""

import json
import math

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.runtime import Runtime

from ricordo.graph import prompt
from ricordo.graph.context import Context
from ricordo.graph.exchange import exchange_of
from ricordo.graph.limits import limits_of
from ricordo.graph.resources import get_resources
from ricordo.graph.state import State, StateUpdate
from ricordo.graph.timing import timed
from ricordo.graph.window import Window
from ricordo.models.tokens import text_of

_OBSERVED = 600
"""Characters of the latest observation that the search sees: its head tells what it is."""
_KEPT_FREE = 4
"""Places that the search leaves for what `read_toolbox` will be asked for, and for the tools that pointers need."""


@timed
async def retrieve_tools(state: State, runtime: Runtime[Context]) -> StateUpdate:
    """Offer the tools that fit the question and what the last tools returned.

    A tool once offered stays for the turn, in the order in which it came up, so that the provider's prompt cache holds.
    What must be there comes first, then what `read_toolbox` found, then what the search finds; all within `max_tools`.
    A step that is asked again, since it was too long for the provider, has been searched for already.
    """
    limits, resources = limits_of(runtime), get_resources()
    toolbox, settings = resources.toolbox, resources.settings
    window = await prompt.window_of(state, runtime)
    hidden = toolbox.hidden(settings)
    offered = [name for name in state["offered"] if name in toolbox and name not in hidden]
    needed = prompt.pointed_at(state, window)
    pinned = [tool.name for tool in toolbox if tool.pinned]
    wanted = [name for name in (*pinned, *needed, *_found(state)) if name in toolbox and name not in hidden]
    offered = list(dict.fromkeys([*offered, *wanted]))[: limits.max_tools]
    room = places(len(offered), limits.tools_per_step, limits.max_tools, later=bool(exchange_of(state)))
    if room > 0 and not state["overflows"]:
        asked = [window.question] if window.question else []
        step = _step(state, window)
        hits = await toolbox.search(
            asked, room, exclude=offered, also=step, settings=settings, embedder=resources.embedder
        )
        offered += [hit.name for hit in hits]
    fit = prompt.that_fit(offered, needed, state, window, limits)
    return {"offered": [name for name in offered if name in fit]}


def places(offered: int, per_step: int, most: int, *, later: bool) -> int:
    """Return how many new tools the search may offer, after so many that are offered already.

    A later step adds half as many as the first: its words are about one tool, and more steps get theirs.

    Args:
        offered: Tools that the coming call carries already.
        per_step: Those that the first step adds.
        most: Those that a call carries at most.
        later: Whether this is not the first step of the turn.
    """
    return min(math.ceil(per_step / 2) if later else per_step, most - min(_KEPT_FREE, most // 4) - offered)


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


def _step(state: State, window: Window) -> list[str]:
    """Return what is looked for beside the question: what the model said of this step, what the last tools returned.

    What the model says names the step better than anything else; an observation means little without the question.
    """
    said = next((text_of(m).strip() for m in reversed(exchange_of(state)) if isinstance(m, AIMessage)), "")
    observed = "\n".join(text_of(m)[:_OBSERVED] for m in _latest(state) if m.name != "read_toolbox").strip()
    seen = f"{window.question[:_OBSERVED]}\n{observed[:_OBSERVED]}" if observed else ""
    return [text for text in (said[:_OBSERVED], seen) if text]


def _latest(state: State) -> list[ToolMessage]:
    """Return the results of the latest step."""
    exchange = exchange_of(state)
    last = max((i for i, m in enumerate(exchange) if isinstance(m, AIMessage)), default=len(exchange))
    return [m for m in exchange[last + 1 :] if isinstance(m, ToolMessage)]
