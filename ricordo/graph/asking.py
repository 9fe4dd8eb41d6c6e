"""One question to a chat model over a stream that may break, with a reply that is sound or an error in our words."""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.exceptions import LangChainException
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessageChunk,
    HumanMessage,
    InvalidToolCall,
    ToolCall,
    message_chunk_to_message,
)

from ricordo.common.errors import ModelError
from ricordo.graph import prompts
from ricordo.graph.exchange import sound_reply
from ricordo.models.chat import raise_ours

_TRIES = 3
"""A stream that breaks off is asked for again; before its first token the provider's client retries by itself."""


async def ask(
    model: BaseChatModel, name: str, messages: Sequence[AnyMessage], tools: list[dict[str, Any]]
) -> AIMessage:
    """Ask a model, streaming, and return its whole reply.

    An empty reply is asked for once more. Tool calls whose JSON is not whole come back as invalid calls, although
    LangChain would mend them to fewer arguments than the model meant.

    Raises:
        ContextOverflowError: The prompt is too long for the provider.
        ModelError: The model failed after its retries, or had nothing to say twice.
    """
    bound = model.bind_tools(tools) if tools else model
    for nudge in ([], [HumanMessage(prompts.EMPTY_REPLY)]):
        reply = sound_reply(await _stream(bound, name, [*messages, *nudge]))
        if reply.text.strip() or reply.tool_calls or reply.invalid_tool_calls:
            return reply
    raise ModelError(f"The chat model {name} gave an empty reply twice. Ask again, or choose another by RICORDO_MODEL.")


async def _stream(bound: Any, name: str, messages: Sequence[AnyMessage]) -> AIMessage:
    for left in reversed(range(_TRIES)):
        whole: BaseMessageChunk | None = None
        try:
            async for chunk in bound.astream(list(messages)):
                whole = chunk if whole is None else whole + chunk
        except (LangChainException, OSError, ValueError, TypeError, RuntimeError) as error:
            broke = whole is not None and (getattr(error, "is_retryable", False) or isinstance(error, OSError))
            if not (broke and left):
                raise_ours(name, error)
            continue
        if isinstance(whole, AIMessageChunk):
            return _with_honest_calls(whole)
    raise ModelError(f"The chat model {name} closed its stream without a reply. Ask again.")


def _with_honest_calls(chunk: AIMessageChunk) -> AIMessage:
    message = message_chunk_to_message(chunk)
    if not isinstance(message, AIMessage):
        raise ModelError("The chat model's reply is no assistant message.")
    if not chunk.tool_call_chunks:
        return message
    calls, invalid = [], []
    for piece in chunk.tool_call_chunks:
        raw, name = piece["args"] or "{}", piece["name"] or ""
        try:
            args = json.loads(raw, strict=False)
            if not isinstance(args, dict):
                raise TypeError(f"an object is expected, not {type(args).__name__}")  # noqa: TRY301 - both faults end alike
            calls.append(ToolCall(name=name, args=args, id=piece["id"]))
        except (ValueError, TypeError, RecursionError) as error:
            wrong = InvalidToolCall(type="invalid_tool_call", name=name, args=raw, id=piece["id"], error=str(error))
            invalid.append(wrong)
    return message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": invalid})
