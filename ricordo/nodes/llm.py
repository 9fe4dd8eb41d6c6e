"""Ask the model once."""

import asyncio
import time
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.messages.ai import add_usage
from langgraph.runtime import Runtime

from ricordo.common.errors import ConfigurationError, ContextOverflowError, ModelError
from ricordo.graph import prompt, prompts
from ricordo.graph.context import Context, thread_of, user_of
from ricordo.graph.limits import Limits, limits_of, seconds_left
from ricordo.graph.model_call.conversing import converse
from ricordo.graph.model_call.fitting import instructed
from ricordo.graph.resources import get_resources
from ricordo.graph.state import State, StateUpdate
from ricordo.graph.thread.again import reply_of
from ricordo.graph.thread.attachments import name_of, takes
from ricordo.graph.timing import timed
from ricordo.graph.window import Window
from ricordo.models.manners import MEDIA, TOOLS

_OVERFLOWS = 3
"""How often in a row a prompt that the provider finds too long is compacted and sent again, if it became shorter."""


@timed
async def llm(state: State, runtime: Runtime[Context]) -> StateUpdate:  # noqa: C901 - a branch for each way in which a call ends
    """Make one model call with the offered tools; the last one of a turn that is at its limit may call none."""
    limits, resources = limits_of(runtime), get_resources()
    window = await prompt.window_of(state, runtime)
    wrap_up = state["iterations"] >= limits.max_iterations
    offered = [] if TOOLS in resources.manners(limits.model).without else state["offered"]
    use = prompt.measure({**state, "offered": offered}, window, limits, final=True)
    tools = prompt.schemas_of(offered)
    began = state.get("started_at", time.monotonic())  # without it, the turn is taken up again from here
    told: StateUpdate = {
        "iterations": state["iterations"] + (not wrap_up),
        "exhausted": False,
        "context": use,
        "started_at": began,
    }
    if begun := await _begun(state, runtime):
        names = [call["name"] for call in begun.tool_calls]
        return told | {"messages": [begun], "stop_reason": None, "tools_offered": [*state["tools_offered"], names]}
    try:
        async with asyncio.timeout(max(0.0, seconds_left(state, limits))) as clock:
            reply, left_out = await _ask(state, window, runtime, limits, tools, wrap_up=wrap_up)
    except TimeoutError:
        if not clock.expired():
            raise
        told |= {"stop_reason": "deadline"}
    except ContextOverflowError as error:
        resources.usage.learn_window(limits.model, error.window, use["tokens"])
        if state["overflows"] >= _OVERFLOWS or (state["refused"] and use["tokens"] >= state["refused"]):
            told |= {"stop_reason": "error", "error": str(error)}
            if error.window is None:  # however short: it was not the length
                resources.usage.forget_window(limits.model)
        else:
            told |= {"overflows": state["overflows"] + 1, "refused": use["tokens"], "iterations": state["iterations"]}
    except (ModelError, ConfigurationError) as error:
        told |= {"stop_reason": "error", "error": str(error)}
    else:
        told |= {"left_out": left_out, "overflows": 0, "refused": 0, **_outcome(reply, wrap_up=wrap_up)}
        if reply.usage_metadata:
            told["usage"] = add_usage(state.get("usage"), reply.usage_metadata)
        if reply.usage_metadata and not state.get("attachments"):  # they are counted by nobody but the provider
            counted = round(use["tokens"] / limits.ratio)
            resources.usage.learn(limits.model, counted, reply.usage_metadata["input_tokens"])
    callable_ones = [] if wrap_up else [tool["function"]["name"] for tool in tools]
    return told | {"tools_offered": [*state["tools_offered"], callable_ones]}


async def _begun(state: State, runtime: Runtime[Context]) -> AIMessage | None:
    """Return the reply whose calls an earlier process has begun: asked again, the model may call others."""
    if not state.get("again") and state.get("window"):
        return None
    manager = get_resources().manager.for_user(user_of(runtime))
    return reply_of(await manager.tool_calls(thread_of(runtime), state["run_id"]), state["iterations"] + 1)


async def _ask(
    state: State,
    window: Window,
    runtime: Runtime[Context],
    limits: Limits,
    tools: list[dict[str, Any]],
    *,
    wrap_up: bool,
) -> tuple[AIMessage, list[str]]:
    """Ask the model; tools whose schemas it refuses are taken out of the list.

    Returns:
        Its reply, and the names of the attachments that it does not take.
    """
    resources, name = get_resources(), limits.model
    model, manners = resources.chat_model(name), resources.manners(name)
    media = state.get("attachments") or []
    left_out = [block for block in media if not takes(model, name, block)]
    messages = prompt.messages_of(state, window, runtime, left_out)
    if wrap_up:
        messages = instructed(messages, prompts.WRAP_UP.format(limit=limits.max_iterations))
    taken = {message.id for message in state["messages"] if message.id}
    reply = await converse(model, name, messages, tools, manners, final=wrap_up, taken=taken)
    return reply, [name_of(block) for block in (media if MEDIA in manners.without else left_out)]


def _outcome(reply: AIMessage, *, wrap_up: bool) -> StateUpdate:
    if wrap_up:
        said = reply.model_copy(update={"tool_calls": [], "invalid_tool_calls": []})
        return {"messages": [said], "stop_reason": "max_iterations"}
    if reply.tool_calls or reply.invalid_tool_calls:
        return {"messages": [reply], "stop_reason": None}
    ending = reply.response_metadata["finish_reason"]
    return {"messages": [reply], "stop_reason": "answer" if ending == "stop" else ending}
