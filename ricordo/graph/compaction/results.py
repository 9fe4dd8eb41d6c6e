"""Tool results of this turn that leave the prompt: what stands in their place, and the way back to the whole."""

from collections.abc import Callable, Sequence

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from ricordo.graph import prompts
from ricordo.graph.compaction.steps import call_text, is_page, log_id_of
from ricordo.graph.exchange import groups_of
from ricordo.graph.limits import Limits
from ricordo.models import tokens
from ricordo.stores.pages import head_and_tail

_POINTER_ABOVE = 120  # tokens; a shorter result costs no more than the pointer to it
_POINTER_TEXT = 40  # tokens of the result that a pointer shows


def results_in(exchange: Sequence[AnyMessage], *, pages: bool) -> list[ToolMessage]:
    """Return the results that are pages of what is stored, or those that are not."""
    return [m for m in exchange if isinstance(m, ToolMessage) and _is_page(m) is pages]


def note_of(message: ToolMessage) -> str | None:
    """Return where the whole of a result is; None if it is nowhere else."""
    if (log_id := log_id_of(message)) is None:
        return None
    return prompts.POINTER.format(log_id=log_id, tokens=message.artifact["tokens"])


def with_pointers(exchange: list[AnyMessage], limits: Limits) -> list[AnyMessage]:
    """Return an exchange in which the results of all steps but the latest are pointers, where they were long.

    Pages stay: the model asked for their words. What they say is summed up when their steps are put in short.
    """
    old = {id(m) for group in groups_of(exchange)[:-1] for m in group}
    return _replaced(exchange, lambda m: _pointer(m, limits) if id(m) in old and not _is_page(m) else m)


def without_page(exchange: list[AnyMessage], page: ToolMessage) -> list[AnyMessage]:
    """Return an exchange in which a page says how to ask for it again."""
    return _replaced(exchange, lambda m: _withheld(m, exchange) if m is page else m)


def with_texts(exchange: list[AnyMessage], texts: dict[int, str]) -> list[AnyMessage]:
    """Return an exchange in which results have other texts, by `id` of the message."""
    return _replaced(exchange, lambda m: m.model_copy(update={"content": texts[id(m)]}) if id(m) in texts else m)


def _replaced(exchange: list[AnyMessage], change: Callable[[ToolMessage], ToolMessage]) -> list[AnyMessage]:
    return [change(m) if isinstance(m, ToolMessage) else m for m in exchange]


def _is_page(message: ToolMessage) -> bool:
    """Tell whether a result is a page that was read; one that was not is what the tool said of the failure."""
    return is_page(message.name or "") and message.status == "success"


def _pointer(message: ToolMessage, limits: Limits) -> ToolMessage:
    text = tokens.text_of(message)
    if limits.count(text) <= _POINTER_ABOVE:
        return message
    if (note := note_of(message)) is None:
        return message
    short = head_and_tail(text, _POINTER_TEXT + limits.count(note), limits.count, note)
    return message.model_copy(update={"content": short})


def _withheld(page: ToolMessage, exchange: list[AnyMessage]) -> ToolMessage:
    calls = {c["id"]: c for m in exchange if isinstance(m, AIMessage) for c in m.tool_calls}
    call = calls[page.tool_call_id]
    return page.model_copy(update={"content": prompts.PAGE_AGAIN.format(call=call_text(call["name"], call["args"]))})
