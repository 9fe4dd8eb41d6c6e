"""One question to a chat model with tools, of which it is asked without those whose schemas its provider refuses."""

import re
from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage

from ricordo.common.errors import ContextOverflowError, ModelError
from ricordo.graph import prompt
from ricordo.graph.asking import ask
from ricordo.graph.resources import get_resources

_BY_NAME = re.compile(
    r"schema[^.'\"`]{0,40}?\b(?:function|tool)s?\b[\s:=]{0,3}['\"`]?([a-zA-Z0-9_-]{1,64})", re.IGNORECASE
)
_BY_PLACE = (
    re.compile(r"function_?declarations[\[.](\d{1,4})", re.IGNORECASE),
    re.compile(r"\btools[\[.](\d{1,4})\b(?=.{0,200}(?:schema|parameters|function))", re.IGNORECASE | re.DOTALL),
)
"""Providers name the tool, or its place among those that were sent."""
_REFUSED = "{model} refuses the schema of the tool '{tool}', which is left out from now on: {said}"
_SAID = 300


async def ask_with_tools(
    model: BaseChatModel, name: str, messages: Sequence[AnyMessage], offered: list[str]
) -> AIMessage:
    """Ask a model, as `ask` does.

    Args:
        model: The model.
        name: Its name.
        messages: What it is asked.
        offered: Names of the tools that it is offered; those that the provider refuses are taken out of the list.

    Raises:
        ContextOverflowError: The prompt is too long for the provider.
        ModelError: The model failed for another reason than a tool's schema.
    """
    while True:
        try:
            return await ask(model, name, messages, prompt.schemas_of(offered))
        except ContextOverflowError:
            raise
        except ModelError as error:
            said = f"{error} {getattr(error.__cause__, 'body', '')}"
            if (refused := refused_tool(said, offered)) is None:
                raise
            told = _REFUSED.format(model=name, tool=refused, said=" ".join(said.split())[:_SAID])
            get_resources().toolbox.leave_out(refused, told)
            offered.remove(refused)


def refused_tool(said: str, offered: Sequence[str]) -> str | None:
    """Return the tool whose schema a provider refuses; None if its error is about something else.

    >>> refused_tool("Invalid schema for function 'x': In context=(), ...", ["w", "x"])
    'x'
    """
    for named in _BY_NAME.finditer(said):
        if named[1] in offered:
            return named[1]
    for pattern in _BY_PLACE:
        found = pattern.search(said)
        if found and int(found[1]) < len(offered):
            return offered[int(found[1])]
    return None
