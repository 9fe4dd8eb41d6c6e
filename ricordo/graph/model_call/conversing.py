"""Asks a model in the way that its server takes, and takes its calls in the way that it makes them."""

import logging
from collections.abc import Collection, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, SystemMessage
from langchain_core.runnables import Runnable

from ricordo.common.errors import ContextOverflowError, ModelError, ToolsNotTakenError
from ricordo.graph import prompts
from ricordo.graph.model_call.asking import ask
from ricordo.graph.model_call.fitting import fitted, instructed
from ricordo.graph.model_call.refused_tools import refused_tool
from ricordo.graph.resources import get_resources
from ricordo.graph.thread.attachments import media_in
from ricordo.models.manners import MEDIA, STREAM_OPTIONS, SYSTEM, TOOL_CHOICE, TOOLS, Manners
from ricordo.models.written_calls import WrittenCalls

_SAID = 300  # characters of a refusal that go into the log
_log = logging.getLogger(__name__)


async def converse(
    model: Runnable[Any, Any],
    name: str,
    messages: Sequence[AnyMessage],
    tools: list[dict[str, Any]],
    manners: Manners,
    *,
    final: bool = False,
    taken: Collection[str] = (),
) -> AIMessage:
    """Ask a model, and return its reply.

    A call that is written as text is asked for anew where the model has called properly before, or may not call at all;
    where it has no other way, it is taken. What the server refuses is left away from then on, and so is a tool whose
    schema it refuses.

    Args:
        model: The chat model.
        name: Its name, `provider:name`.
        messages: System prompt, window, exchange.
        tools: Schemas of the tools that are shown; one that the provider refuses is taken out of the list.
        manners: What is known of the model; it is added to.
        final: Whether the tools are only shown, since providers want them beside earlier calls.
        taken: Ids of messages that the reply must not have.

    Raises:
        ContextOverflowError: The prompt is too long for the provider.
        ModelError: The model failed after its retries, or had nothing to say twice.
    """
    written = WrittenCalls(_names(tools))

    async def once(asked: Sequence[AnyMessage]) -> AIMessage:
        sent = {STREAM_OPTIONS}
        sent |= {TOOL_CHOICE} if final and tools else set()
        sent |= {SYSTEM} if isinstance(asked[0], SystemMessage) else set()
        sent |= {MEDIA} if any(map(media_in, asked)) else set()
        while True:
            shown = [] if TOOLS in manners.without else tools
            fit = fitted(asked, manners.without, tools=bool(shown))
            try:
                return await ask(model, name, fit, shown, manners=manners, final=final, taken=taken)
            except ContextOverflowError:
                raise
            except ToolsNotTakenError as error:
                _log.warning("%s. It answers without them.", error)
                manners.without.add(TOOLS)
            except ModelError as error:
                if not manners.learn(error, sent) and not _without_refused(error, name, tools):
                    raise

    reply = await once(messages)
    proper = bool(reply.tool_calls or reply.invalid_tool_calls)
    if not proper and (final or manners.calls) and written.split(str(reply.text))[1]:
        reply = await once(instructed(messages, prompts.NO_MORE_CALLS if final else prompts.CALL_AS_TEXT))
        proper = bool(reply.tool_calls or reply.invalid_tool_calls)
    manners.calls |= proper
    rest, calls = ("", []) if proper else written.split(str(reply.text))
    return reply.model_copy(update={"content": rest, "tool_calls": calls}) if calls else reply


def _names(tools: Sequence[dict[str, Any]]) -> list[str]:
    return [tool["function"]["name"] for tool in tools]


def _without_refused(error: ModelError, name: str, tools: list[dict[str, Any]]) -> bool:
    """Take the tool whose schema the provider refuses out of list and toolbox; tell whether there is one."""
    said = f"{error} {getattr(error.__cause__, 'body', '')}"
    if (refused := refused_tool(said, _names(tools))) is None:
        return False
    told = prompts.SCHEMA_REFUSED.format(model=name, tool=refused, said=" ".join(said.split())[:_SAID])
    get_resources().toolbox.leave_out(refused, told)
    tools[:] = [tool for tool in tools if tool["function"]["name"] != refused]
    return True
