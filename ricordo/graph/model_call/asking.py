"""One question to a chat model over a stream that may break, with a reply that is sound or an error in our words."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    InvalidToolCall,
    ToolCall,
    message_chunk_to_message,
)
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.runnables import Runnable

from ricordo.common.errors import ModelError, ToolsNotTakenError
from ricordo.graph import prompts
from ricordo.graph.exchange import calls_in, sound_reply
from ricordo.graph.model_call.fitting import instructed
from ricordo.models.chat import says_how_it_ends, through_wrappers, without_stream
from ricordo.models.endings import ending_of, usage_of
from ricordo.models.manners import STREAM_OPTIONS, TOOL_CHOICE, Manners, no_calls
from ricordo.models.provider_errors import passes, raise_ours, streams, was_answered
from ricordo.models.speaking import Speaking
from ricordo.models.thinking import Speech
from ricordo.models.written_calls import WrittenCalls, arguments_of

_TRIES = 3
"""A stream that breaks off is asked for again; before its first token the provider's client retries by itself."""
_PAUSE = 0.5  # seconds before the second try, twice that before the third


class _Ear(NamedTuple):
    """What a reply is listened to with."""

    manners: Manners
    written: WrittenCalls
    taken: Collection[str]


async def ask(
    model: Runnable[Any, Any],
    name: str,
    messages: Sequence[AnyMessage],
    tools: list[dict[str, Any]],
    *,
    manners: Manners | None = None,
    final: bool = False,
    taken: Collection[str] = (),
) -> AIMessage:
    """Ask a model, streaming where it can, and return its whole reply; its `finish_reason` is an `Ending`.

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
        ToolsNotTakenError: Tools were offered, and the model takes none.
        ModelError: The model failed after its retries, or had nothing to say twice.
    """
    manners = manners or Manners()
    bound = _bound(model, name, tools, manners, final=final)
    offered = [tool["function"]["name"] for tool in tools]
    ear = _Ear(manners, WrittenCalls(offered), taken)
    ids = {call["id"] or "" for message in messages for call in calls_in(message)}
    for nudge in (None, prompts.EMPTY_REPLY):
        asked = instructed(messages, nudge) if nudge else messages
        said, ending = await _reply(bound, name, asked, ear, tools=bool(tools))
        about = {**said.response_metadata, "finish_reason": ending}
        reply = sound_reply(said.model_copy(update={"response_metadata": about}), offered, ids)
        spoke = reply.text.strip() or reply.tool_calls or reply.invalid_tool_calls
        if spoke or ending in {"content_filter", "refusal"}:
            return reply
    raise ModelError((prompts.ONLY_THOUGHT if ending == "length" else prompts.EMPTY_TWICE).format(model=name))


def _bound(model: Runnable[Any, Any], name: str, tools: list[dict[str, Any]], manners: Manners, *, final: bool) -> Any:
    def with_tools(inner: Any) -> Any:
        choice = no_calls(inner) if final and TOOL_CHOICE not in manners.without else {}
        return inner.bind_tools(tools, **choice)

    try:
        bound = through_wrappers(model, with_tools) if tools else model
    except (NotImplementedError, AttributeError) as error:
        raise ToolsNotTakenError(f"The chat model {name} takes no tools: its client has no way for them") from error
    except Exception as error:  # noqa: BLE001 - each provider's client refuses in its own way
        raise_ours(name, error, tools=True)
    return bound.bind(stream_usage=False) if STREAM_OPTIONS in manners.without else bound


async def _reply(
    bound: Any, name: str, messages: Sequence[AnyMessage], ear: _Ear, *, tools: bool
) -> tuple[AIMessage, str]:
    """Ask until a reply is whole.

    Returns:
        The reply and how it ended; `unfinished` if the provider's last stream did not say that it is whole.
    """
    manners, written, taken = ear
    for left in reversed(range(_TRIES)):
        speech = Speech(hold=manners.holds(name), may_call=written.may_begin, without_calls=written.without)
        speaking = Speaking(bound, speech, taken)
        try:
            async for _ in speaking.astream(list(messages)):
                pass
            pieces = speaking.pieces
            ending = ending_of(pieces)
            if not pieces or ending == "error":
                raise ModelError(prompts.BROKE_OFF.format(model=name))  # noqa: TRY301 - it ends like what a client raises
            broke_off = not ending and isinstance(pieces[-1], AIMessageChunk) and says_how_it_ends(bound)
            whole = _joined(pieces, cut=broke_off or ending == "length")
            if not (broke_off and left):
                manners.hear(whole, opened=speech.opened, unopened=speech.unopened)
                return whole, "unfinished" if broke_off else ending or "stop"
        except Exception as error:  # noqa: BLE001 - whatever a provider's client raises is told in our words
            if not (left and passes(error) and (speaking.pieces or not was_answered(error))):
                raise_ours(name, error, tools=tools)
            if not speaking.pieces and not streams(error):
                bound = without_stream(bound)
        await asyncio.sleep(_PAUSE * (_TRIES - left))
    raise AssertionError  # the last try has returned or raised


def _joined(pieces: Sequence[AIMessage], *, cut: bool) -> AIMessage:
    chunks = [piece for piece in pieces if isinstance(piece, AIMessageChunk)]
    if not chunks:  # a model that does not stream
        return pieces[-1] if pieces else AIMessage("")
    whole = _with_honest_calls(add_ai_message_chunks(chunks[0], *chunks[1:]), cut=cut)
    return whole.model_copy(update={"usage_metadata": usage_of(pieces)})


def _with_honest_calls(chunk: AIMessageChunk, *, cut: bool) -> AIMessage:
    message = message_chunk_to_message(chunk)
    if not isinstance(message, AIMessage):
        raise ModelError("The chat model's reply is no assistant message.")
    if not chunk.tool_call_chunks:
        return message
    calls, invalid = [], []
    for piece in chunk.tool_call_chunks:
        raw, name = piece["args"] or "", piece["name"] or ""
        ends = cut and piece is chunk.tool_call_chunks[-1]
        try:
            if ends and not raw.strip():  # cut off before its arguments, which are not none
                raise ValueError("there are none")  # noqa: TRY301 - it ends like any that is not whole
            calls.append(ToolCall(name=name, args=arguments_of(raw), id=piece["id"]))
        except (ValueError, TypeError, RecursionError) as error:
            said = f"{error}; {prompts.CUT_CALL}" if ends else str(error)
            wrong = InvalidToolCall(type="invalid_tool_call", name=name, args=raw, id=piece["id"], error=said)
            invalid.append(wrong)
    return message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": invalid})
