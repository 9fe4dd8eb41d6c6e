"""One question to a chat model over a stream that may break, with a reply that is sound or an error in our words."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    HumanMessage,
    InvalidToolCall,
    ToolCall,
    message_chunk_to_message,
)
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.runnables import Runnable

from ricordo.common.errors import ModelError, ToolsNotTakenError
from ricordo.graph import prompts
from ricordo.graph.exchange import sound_reply
from ricordo.models.chat import says_how_it_ends, through_wrappers, without_stream
from ricordo.models.endings import ending_of, usage_of
from ricordo.models.provider_errors import passes, raise_ours, was_answered

_TRIES = 3
"""A stream that breaks off is asked for again; before its first token the provider's client retries by itself."""
_PAUSE = 0.5  # seconds before the second try, twice that before the third


async def ask(
    model: Runnable[Any, Any], name: str, messages: Sequence[AnyMessage], tools: list[dict[str, Any]]
) -> AIMessage:
    """Ask a model, streaming where it can, and return its whole reply; its `finish_reason` is an `Ending`.

    An empty reply is asked for once more. Tool calls whose JSON is not whole come back as invalid calls, although
    LangChain would mend them to fewer arguments than the model meant.

    Raises:
        ContextOverflowError: The prompt is too long for the provider.
        ToolsNotTakenError: Tools were offered, and the model takes none.
        ModelError: The model failed after its retries, or had nothing to say twice.
    """
    bound = _bound(model, name, tools)
    for nudge in ([], [HumanMessage(prompts.EMPTY_REPLY)]):
        said, ending = await _reply(bound, name, [*messages, *nudge], tools=bool(tools))
        about = {**said.response_metadata, "finish_reason": ending}
        reply = sound_reply(said.model_copy(update={"response_metadata": about}))
        spoke = reply.text.strip() or reply.tool_calls or reply.invalid_tool_calls
        if spoke or ending in {"content_filter", "refusal"}:
            return reply
    raise ModelError((prompts.ONLY_THOUGHT if ending == "length" else prompts.EMPTY_TWICE).format(model=name))


def _bound(model: Runnable[Any, Any], name: str, tools: list[dict[str, Any]]) -> Any:
    if not tools:
        return model
    try:
        return through_wrappers(model, lambda inner: inner.bind_tools(tools))
    except (NotImplementedError, AttributeError) as error:
        raise ToolsNotTakenError(f"The chat model {name} takes no tools: its client has no way for them") from error
    except Exception as error:  # noqa: BLE001 - each provider's client refuses in its own way
        raise_ours(name, error, tools=True)


async def _reply(bound: Any, name: str, messages: Sequence[AnyMessage], *, tools: bool) -> tuple[AIMessage, str]:
    """Ask until a reply is whole.

    Returns:
        The reply and how it ended; `unfinished` if the provider's last stream did not say that it is whole.
    """
    for left in reversed(range(_TRIES)):
        pieces: list[AIMessage] = []
        try:
            await _collect(bound.astream(list(messages)), pieces)
            whole, ending = _joined(pieces), ending_of(pieces)
            if not pieces or ending == "error":
                raise ModelError(prompts.BROKE_OFF.format(model=name))  # noqa: TRY301 - it ends like what a client raises
            broke_off = not ending and isinstance(pieces[-1], AIMessageChunk) and says_how_it_ends(bound)
            if not (broke_off and left):
                return whole, "unfinished" if broke_off else ending or "stop"
        except Exception as error:  # noqa: BLE001 - whatever a provider's client raises is told in our words
            if not (left and passes(error) and (pieces or not was_answered(error))):
                raise_ours(name, error, tools=tools)
            if not pieces:  # a server that sends no stream, be it an answer or an error
                bound = without_stream(bound)
        await asyncio.sleep(_PAUSE * (_TRIES - left))
    raise AssertionError  # the last try has returned or raised


async def _collect(stream: AsyncIterator[Any], pieces: list[AIMessage]) -> None:
    """Add the pieces of a stream to a list, where those before an error stay."""
    async for piece in stream:
        if isinstance(piece, AIMessage):
            pieces += [piece]


def _joined(pieces: Sequence[AIMessage]) -> AIMessage:
    chunks = [piece for piece in pieces if isinstance(piece, AIMessageChunk)]
    if not chunks:  # a model that does not stream
        return pieces[-1] if pieces else AIMessage("")
    whole = _with_honest_calls(add_ai_message_chunks(chunks[0], *chunks[1:]))
    return whole.model_copy(update={"usage_metadata": usage_of(pieces)})


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
