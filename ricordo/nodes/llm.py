"""Ask the model once."""

import asyncio
import time

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.messages.ai import add_usage
from langgraph.runtime import Runtime

from ricordo.common.errors import ConfigurationError, ContextOverflowError, ModelError
from ricordo.graph import prompt, prompts
from ricordo.graph.asking import ask
from ricordo.graph.context import Context
from ricordo.graph.limits import limits_of
from ricordo.graph.resources import get_resources
from ricordo.graph.state import State, StateUpdate
from ricordo.graph.timing import timed

_OVERFLOWS = 1
"""How often in a row a prompt that the provider finds too long is compacted and sent again."""


@timed
async def llm(state: State, runtime: Runtime[Context]) -> StateUpdate:
    """Make one model call with the offered tools; the last one of a turn that is at its limit has none."""
    limits, resources = limits_of(runtime), get_resources()
    window = await prompt.window_of(state, runtime)
    wrap_up = state["iterations"] >= limits.max_iterations
    offered = [] if wrap_up else state["offered"]
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
    began = state["started_at"] if state.get("window") else time.time()  # taken up again from here, maybe much later
    update["started_at"] = began
    left = began + limits.deadline_seconds - time.time()
    try:
        async with asyncio.timeout(max(0.0, left)) as clock:
            reply = await ask(resources.chat_model(limits.model), limits.model, messages, prompt.schemas_of(offered))
    except TimeoutError:
        if not clock.expired():
            raise
        return update | {"stop_reason": "deadline"}
    except ContextOverflowError as error:
        if error.window:
            resources.usage.learn_window(limits.model, error.window)
        if state["overflows"] >= _OVERFLOWS:
            return update | {"stop_reason": "error", "error": str(error)}
        return update | {"overflows": state["overflows"] + 1, "iterations": state["iterations"]}
    except (ModelError, ConfigurationError) as error:
        return update | {"stop_reason": "error", "error": str(error)}
    if reply.usage_metadata:
        resources.usage.learn(limits.model, round(use["tokens"] / limits.ratio), reply.usage_metadata["input_tokens"])
        update["usage"] = add_usage(state.get("usage"), reply.usage_metadata)
    return update | {"overflows": 0, **_outcome(reply, wrap_up=wrap_up)}


def _outcome(reply: AIMessage, *, wrap_up: bool) -> StateUpdate:
    if wrap_up:
        said = reply.model_copy(update={"tool_calls": [], "invalid_tool_calls": []})
        return {"messages": [said], "stop_reason": "max_iterations"}
    asks = bool(reply.tool_calls or reply.invalid_tool_calls)
    return {"messages": [reply], "stop_reason": None if asks else "answer"}
