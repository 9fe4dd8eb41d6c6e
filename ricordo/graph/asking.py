"""One question to a chat model over a stream that may break, with a reply that is sound or an error in our words."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from langchain_core.exceptions import LangChainException
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    InvalidToolCall,
    ToolCall,
    message_chunk_to_message,
)
from langchain_core.messages.ai import add_ai_message_chunks

from ricordo.common.errors import ModelError
from ricordo.graph import prompts
from ricordo.graph.exchange import calls_in, sound_reply
from ricordo.graph.fitting import instructed
from ricordo.models.chat import raise_ours
from ricordo.models.manners import STREAM_OPTIONS, TOOL_CHOICE, Manners, no_calls
from ricordo.models.speaking import Speaking
from ricordo.models.thinking import Speech
from ricordo.models.written_calls import WrittenCalls, arguments_of

_TRIES = 3
"""A stream that breaks off is asked for again; before its first token the provider's client retries by itself."""


class _Ear(NamedTuple):
    """What a reply is listened to with."""

    manners: Manners
    written: WrittenCalls
    taken: Collection[str]


async def ask(
    model: BaseChatModel,
    name: str,
    messages: Sequence[AnyMessage],
    tools: list[dict[str, Any]],
    *,
    manners: Manners | None = None,
    final: bool = False,
    taken: Collection[str] = (),
) -> AIMessage:
    """Ask a model, streaming, and return its whole reply.

    An empty reply is asked for once more. Tool calls whose JSON is not whole come back as invalid calls, although
    LangChain would mend them to fewer arguments than the model meant.

    Args:
        model: The chat model.
        name: Its name, `provider:name`.
        messages: System prompt, window, exchange.
        tools: Schemas of the tools that are shown.
        manners: What is known of the model; it is added to.
        final: Whether the tools are only shown, and none may be called.
        taken: Ids of messages that the reply must not have.

    Raises:
        ContextOverflowError: The prompt is too long for the provider.
        ModelError: The model failed after its retries, or had nothing to say twice.
    """
    manners = manners or Manners()
    bound = _bound(model, tools, manners, final=final)
    offered = [tool["function"]["name"] for tool in tools]
    ear = _Ear(manners, WrittenCalls(offered), taken)
    ids = {call["id"] or "" for message in messages for call in calls_in(message)}
    for nudge in (None, prompts.EMPTY_REPLY):
        asked = instructed(messages, nudge) if nudge else messages
        reply = sound_reply(await _stream(bound, name, asked, ear), offered, ids)
        if reply.text.strip() or reply.tool_calls or reply.invalid_tool_calls:
            return reply
    raise ModelError(f"The chat model {name} gave an empty reply twice. Ask again, or choose another by RICORDO_MODEL.")


def _bound(model: BaseChatModel, tools: list[dict[str, Any]], manners: Manners, *, final: bool) -> Any:
    choice = no_calls(model) if final and TOOL_CHOICE not in manners.without else {}
    bound: Any = model.bind_tools(tools, **choice) if tools else model
    return bound.bind(stream_usage=False) if STREAM_OPTIONS in manners.without else bound


async def _stream(bound: Any, name: str, messages: Sequence[AnyMessage], ear: _Ear) -> AIMessage:
    manners, written, taken = ear
    for left in reversed(range(_TRIES)):
        speech = Speech(hold=manners.holds(name), may_call=written.may_begin, without_calls=written.without)
        speaking = Speaking(bound, speech, taken)
        try:
            async for _ in speaking.astream(list(messages)):
                pass
        except (LangChainException, OSError, ValueError, TypeError, RuntimeError) as error:
            broke = bool(speaking.pieces) and (getattr(error, "is_retryable", False) or isinstance(error, OSError))
            if not (broke and left):
                raise_ours(name, error)
            continue
        whole = _joined(speaking.pieces)
        manners.hear(whole, opened=speech.opened, unopened=speech.unopened)
        return whole
    raise ModelError(f"The chat model {name} closed its stream without a reply. Ask again.")


def _joined(pieces: Sequence[AIMessage]) -> AIMessage:
    chunks = [piece for piece in pieces if isinstance(piece, AIMessageChunk)]
    return _with_honest_calls(add_ai_message_chunks(chunks[0], *chunks[1:])) if chunks else pieces[-1]


def _with_honest_calls(chunk: AIMessageChunk) -> AIMessage:
    message = message_chunk_to_message(chunk)
    if not isinstance(message, AIMessage):
        raise ModelError("The chat model's reply is no assistant message.")
    if not chunk.tool_call_chunks:
        return message
    calls, invalid = [], []
    for piece in chunk.tool_call_chunks:
        raw, name = piece["args"] or "", piece["name"] or ""
        try:
            calls.append(ToolCall(name=name, args=arguments_of(raw), id=piece["id"]))
        except (ValueError, TypeError, RecursionError) as error:
            wrong = InvalidToolCall(type="invalid_tool_call", name=name, args=raw, id=piece["id"], error=str(error))
            invalid.append(wrong)
    return message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": invalid})
