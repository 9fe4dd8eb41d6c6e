"""Ask the model once."""

import asyncio
import logging
import time
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.runtime import Runtime

from ricordo.common.errors import ConfigurationError, ContextOverflowError, ModelError, ToolsNotTakenError
from ricordo.graph import prompt, prompts
from ricordo.graph.asking import ask
from ricordo.graph.context import Context
from ricordo.graph.limits import limits_of
from ricordo.graph.resources import get_resources
from ricordo.graph.state import State, StateUpdate
from ricordo.graph.timing import timed

_OVERFLOWS = 3
"""How often in a row a prompt that the provider finds too long is compacted and sent again, if it became shorter."""
_log = logging.getLogger(__name__)


@timed
async def llm(state: State, runtime: Runtime[Context]) -> StateUpdate:
    """Make one model call with the offered tools; the last one of a turn that is at its limit has none."""
    limits, resources = limits_of(runtime), get_resources()
    window = await prompt.window_of(state, runtime)
    wrap_up = state["iterations"] >= limits.max_iterations
    offered = [] if wrap_up or limits.model in resources.without_tools else state["offered"]
    messages: list[AnyMessage] = prompt.messages_of(state, window, runtime)
    if wrap_up:
        messages.append(HumanMessage(prompts.WRAP_UP.format(limit=limits.max_iterations)))
    use = prompt.measure({**state, "offered": offered}, window, limits, final=True)
    update: StateUpdate = {
        "context": use,
        "tools_offered": [*state["tools_offered"], offered],
        "iterations": state["iterations"] + (not wrap_up),
        "exhausted": False,
    }
    left = state["started_at"] + limits.deadline_seconds - time.time()
    try:
        async with asyncio.timeout(max(0.0, left)) as clock:
            reply = await _ask(limits.model, messages, prompt.schemas_of(offered))
    except TimeoutError:
        if not clock.expired():
            raise
        return update | {"stop_reason": "deadline"}
    except ContextOverflowError as error:
        resources.usage.learn_window(limits.model, error.window, use["tokens"])
        if state["overflows"] >= _OVERFLOWS or (state["refused"] and use["tokens"] >= state["refused"]):
            return update | {"stop_reason": "error", "error": str(error)}
        again = {"overflows": state["overflows"] + 1, "refused": use["tokens"], "iterations": state["iterations"]}
        return update | again
    except (ModelError, ConfigurationError) as error:
        return update | {"stop_reason": "error", "error": str(error)}
    if reply.usage_metadata:
        resources.usage.learn(limits.model, round(use["tokens"] / limits.ratio), reply.usage_metadata["input_tokens"])
    return update | {"overflows": 0, "refused": 0, **_outcome(reply, wrap_up=wrap_up)}


async def _ask(name: str, messages: list[AnyMessage], tools: list[dict[str, Any]]) -> AIMessage:
    """Ask a model; one that takes no tools without them, from now on."""
    resources = get_resources()
    model = resources.chat_model(name)
    try:
        return await ask(model, name, messages, tools)
    except ToolsNotTakenError as error:
        _log.warning("%s. It answers without them.", error)
        resources.without_tools.add(name)
        return await ask(model, name, messages, [])


def _outcome(reply: AIMessage, *, wrap_up: bool) -> StateUpdate:
    if wrap_up:
        said = reply.model_copy(update={"tool_calls": [], "invalid_tool_calls": []})
        return {"messages": [said], "stop_reason": "max_iterations"}
    if reply.tool_calls or reply.invalid_tool_calls:
        return {"messages": [reply], "stop_reason": None}
    ending = reply.response_metadata["finish_reason"]
    return {"messages": [reply], "stop_reason": "answer" if ending == "stop" else ending}
