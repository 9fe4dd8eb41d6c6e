"""Messages in the shape and order that a model's server takes."""

from collections.abc import Collection, Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from ricordo.graph import prompts
from ricordo.graph.compaction.steps import call_text
from ricordo.graph.exchange import calls_in
from ricordo.graph.thread.attachments import without_media
from ricordo.models.manners import MEDIA, SYSTEM
from ricordo.models.thinking import as_said
from ricordo.models.tokens import text_of


def instructed(messages: Sequence[AnyMessage], text: str) -> list[AnyMessage]:
    """Add an instruction where every provider takes one: some refuse a user's words after a tool's result."""
    *before, last = messages
    if isinstance(last, HumanMessage):
        return [*before, _longer(last, text)]
    if not isinstance(last, ToolMessage):
        return [*messages, HumanMessage(text)]
    first, *rest = messages
    return [_longer(first, text), *rest]


def _longer(message: AnyMessage, text: str) -> AnyMessage:
    if isinstance(message.content, list):
        return message.model_copy(update={"content": [*message.content, {"type": "text", "text": text}]})
    return message.model_copy(update={"content": f"{message.content}\n\n{text}"})


def fitted(messages: Sequence[AnyMessage], without: Collection[str], *, tools: bool) -> list[AnyMessage]:
    """Return the messages of one request.

    Args:
        messages: System prompt, window, exchange.
        without: What the server has refused (`ricordo.models.manners`).
        tools: Whether the request offers tools; without any, providers refuse calls and results too.
    """
    fit = [as_said(m) if isinstance(m, AIMessage) else m for m in messages]
    if not tools:
        fit = _in_words(fit)
    if MEDIA in without:
        fit = without_media(fit)
    if SYSTEM in without and isinstance(fit[0], SystemMessage):
        system, asked, *rest = fit
        fit = [_after(text_of(system), asked), *rest]
    return fit


def _after(text: str, message: AnyMessage) -> AnyMessage:
    """Put a text before a message's own."""
    if isinstance(message.content, list):
        return message.model_copy(update={"content": [{"type": "text", "text": f"{text}\n\n"}, *message.content]})
    return message.model_copy(update={"content": f"{text}\n\n{message.content}"})


def _in_words(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Tell calls and their results in words."""
    told: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, AIMessage) and calls_in(message):
            calls = [call_text(call["name"], call["args"]) for call in message.tool_calls]
            calls += [f"{call['name']}({call['args']})" for call in message.invalid_tool_calls]
            said = [text_of(message), prompts.CALLED.format(calls="; ".join(calls))]
            told.append(AIMessage("\n\n".join(part for part in said if part)))
        elif isinstance(message, ToolMessage):
            fenced = "\n".join(f"> {line}" for line in text_of(message).splitlines())
            text = prompts.RETURNED.format(name=message.name or "the tool", text=fenced)
            told = instructed(told, text)
        else:
            told.append(message)
    return told
