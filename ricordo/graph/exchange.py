"""This turn's tool exchange: the messages after the question, kept in the shape that providers accept."""

import math
import re
from collections.abc import Collection
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, InvalidToolCall, ToolCall, ToolMessage

from ricordo.common.text import clean
from ricordo.graph import prompts
from ricordo.graph.state import State
from ricordo.models.thinking import spoken, with_thinking
from ricordo.models.written_calls import id_meant, name_meant

STEPS = "ricordo_steps"
"""In the `additional_kwargs` of the message that stands for earlier steps of a turn: what they were."""
_KEPT_METADATA = ("model_name", "finish_reason", "model_provider", "output_version")
_BAD_NAME = re.compile(r"[^a-zA-Z0-9_-]")


def exchange_of(state: State) -> list[AnyMessage]:
    """Return the messages that follow the question."""
    messages = state["messages"]
    last = max((i for i, m in enumerate(messages) if isinstance(m, HumanMessage)), default=-1)
    return messages[last + 1 :]


def is_exchange(message: AnyMessage) -> bool:
    """Tell whether a message is of a tool exchange and not of the dialogue: a call, a result, or steps in short."""
    if isinstance(message, AIMessage):
        return bool(message.tool_calls or message.invalid_tool_calls) or STEPS in message.additional_kwargs
    return isinstance(message, ToolMessage)


def calls_in(message: AnyMessage) -> list[ToolCall | InvalidToolCall]:
    """Return a message's calls, broken ones too."""
    return [*message.tool_calls, *message.invalid_tool_calls] if isinstance(message, AIMessage) else []


def groups_of(exchange: list[AnyMessage]) -> list[list[AnyMessage]]:
    """Split an exchange where it may be cut: an assistant message and all results of its calls stay together."""
    groups: list[list[AnyMessage]] = []
    for message in exchange:
        if isinstance(message, ToolMessage) and groups:
            groups[-1].append(message)
        else:
            groups.append([message])
    return groups


def repaired(exchange: list[AnyMessage]) -> list[AnyMessage]:
    """Return the exchange with a result for every call and a call for every result, as providers demand.

    A call stays without a result when the run was cancelled while its tool ran.
    """
    whole: list[AnyMessage] = []
    for group in groups_of(exchange):
        first = group[0]
        if not isinstance(first, AIMessage):
            continue
        asked = [call["id"] for call in calls_in(first) if call["id"]]
        results = {m.tool_call_id: m for m in group if isinstance(m, ToolMessage)}
        missing = prompts.NOT_RUN.format(why="the run was interrupted")
        whole.append(first)
        whole += [results.get(i) or ToolMessage(missing, tool_call_id=i, status="error") for i in asked]
    return whole


def clean_value(value: Any) -> Any:
    """Clean every string in a JSON value, and say in words the numbers that JSON has no form for."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {clean(str(key)): clean_value(item) for key, item in value.items()}
    return [clean_value(item) for item in value] if isinstance(value, list) else value


def sound_reply(reply: AIMessage, offered: Collection[str] = (), taken: Collection[str] = ()) -> AIMessage:
    """Return a model's reply fit to be stored and sent back: clean text, valid names, an id of its own for every call.

    With calls it keeps the model's thinking, which goes back with their results; an answer is its words alone.

    Args:
        reply: The reply.
        offered: Tools that the model could call.
        taken: Ids of earlier calls of the turn; some servers begin to count anew in each reply.
    """
    seen = set(taken)

    def name_and_id(call: Any) -> dict[str, Any]:
        name = _BAD_NAME.sub("_", name_meant(clean(call["name"] or ""), offered))[:64] or "unnamed"
        call_id = id_meant(clean(call["id"] or ""))
        if not call_id or call_id in seen:
            call_id = f"call_{uuid4().hex}"
        seen.add(call_id)
        return {**call, "name": name, "id": call_id}

    calls = [{**name_and_id(call), "args": clean_value(call["args"])} for call in reply.tool_calls]
    invalid = [{**name_and_id(call), "args": clean(call["args"] or "")} for call in reply.invalid_tool_calls]
    text = spoken(clean(str(reply.text) or reply.additional_kwargs.get("refusal") or ""))
    return AIMessage(
        **(with_thinking(reply, text) if calls or invalid else {"content": text}),
        tool_calls=calls,
        invalid_tool_calls=invalid,
        id=reply.id,
        usage_metadata=reply.usage_metadata,
        response_metadata={k: v for k, v in reply.response_metadata.items() if k in _KEPT_METADATA},
    )
