"""How many tokens a text, a message or a tool schema costs in the prompt.

Exact for OpenAI's encodings, from tables shipped in a wheel (`bpe-openai`); for other models the same count times a
margin, which `ProviderCounts` corrects by what the provider reports.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import machinery, util
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from ricordo.common.text import clean
from ricordo.models.thinking import thinking_of

DEFAULT_ENCODING = "o200k_base"
_PER_MESSAGE = 4  # role and separators, as OpenAI's own counting guide has it
_PER_CALL = 6
_PER_TOOL = 9
_OTHER_MARGIN = 1.2  # other tokenizers make up to a fifth more of ordinary prose
_MOST_RATIO = 4.0  # a server that reports more than this counts something else
_JUMP = 1.5  # times the known ratio; a report beyond that is believed when the next one says so too
_LEAST_COUNTED = 200  # tokens; of a shorter prompt the provider's own frame is too large a part
_OPENAI = re.compile(r"(?:(?:azure_)?openai:)?(?:ft:)?(?:gpt-|chatgpt|o\d)")
_OLD_ENCODING = re.compile(r"(?:ft:)?(?:gpt-3\.5|gpt-4(?!o|\.\d))")
_REMEMBERED_FROM = 32  # characters; shorter texts are counted faster than looked up
_REMEMBERED = 50_000  # counts of texts, about 10 MB

_known: dict[tuple[str, int, int], int] = {}
"""Counts by encoding, length and hash: the texts themselves are not kept."""


@cache
def _encoding(name: str) -> Any:
    # Importing `bpe_openai` reads the tables of all its encodings in Python: seconds, and 130 MB. Its compiled part
    # reads one of them in a quarter of a second.
    package = util.find_spec("bpe_openai")
    found = package and machinery.PathFinder.find_spec("_bindings", package.submodule_search_locations)
    if not (found and found.loader):
        raise ModuleNotFoundError("bpe_openai has no compiled part for this platform; run `make setup` again")
    compiled = util.module_from_spec(found)
    found.loader.exec_module(compiled)
    return compiled.tokenizer_for_encoding(name)


def encoding_of(model: str) -> str:
    """Name the encoding of a model, `provider:name`; the newest one for models that are not OpenAI's."""
    return (
        "cl100k_base" if _OLD_ENCODING.match(model.removeprefix("azure_").removeprefix("openai:")) else DEFAULT_ENCODING
    )


def is_exact(model: str) -> bool:
    """Tell whether the count is the provider's own for this model.

    `openai:` alone does not tell: servers of one's own speak that protocol with other models.
    """
    return _OPENAI.match(model) is not None


def count(text: str, encoding: str = DEFAULT_ENCODING) -> int:
    """Count the tokens of a text of any length."""
    if len(text) < _REMEMBERED_FROM:
        return _count(text, encoding)
    key = (encoding, len(text), hash(text))
    if (known := _known.get(key)) is None:
        if len(_known) >= _REMEMBERED:
            _known.clear()
        known = _known[key] = _count(text, encoding)
    return known


def _count(text: str, encoding: str) -> int:
    try:
        return int(_encoding(encoding).count(text))
    except UnicodeEncodeError:
        return int(_encoding(encoding).count(clean(text)))


def text_of(message: BaseMessage) -> str:
    """Return a message's text, whether its content is a string or a list of blocks."""
    return str(message.text)


def count_message(message: BaseMessage, encoding: str = DEFAULT_ENCODING) -> int:
    """Count a message with its tool calls, broken ones too, and the ids that tie results to calls."""
    total = _PER_MESSAGE + count(text_of(message), encoding)
    if isinstance(message, ToolMessage):
        total += count(message.tool_call_id, encoding)
    if isinstance(message, AIMessage):
        total += count(thinking_of(message), encoding)
        calls = [(c["name"], json.dumps(c["args"], ensure_ascii=False), c["id"]) for c in message.tool_calls]
        calls += [(c["name"] or "", c["args"] or "", c["id"]) for c in message.invalid_tool_calls]
        total += sum(
            _PER_CALL + count(name, encoding) + count(args, encoding) + count(id_ or "", encoding)
            for name, args, id_ in calls
        )
    return total


def count_messages(messages: Iterable[BaseMessage], encoding: str = DEFAULT_ENCODING) -> int:
    """Count a list of messages."""
    return sum(count_message(message, encoding) for message in messages)


def count_tools(schemas: Sequence[Mapping[str, Any]], encoding: str = DEFAULT_ENCODING) -> int:
    """Count tool schemas as their JSON: providers render them somewhat shorter."""
    return sum(_PER_TOOL + count(json.dumps(schema, ensure_ascii=False), encoding) for schema in schemas)


class ProviderCounts:
    """What providers count against what we count, per model, as far as they have let us know.

    The ratio is raised at once, lowered slowly, and never below one. For OpenAI's models it stays one: their own tables
    are counted with.
    """

    def __init__(self) -> None:
        self._ratios: dict[str, float] = {}
        self._suspect: set[str] = set()
        self._windows: dict[str, int] = {}

    def ratio(self, model: str) -> float:
        """Return the factor to multiply our count by."""
        return 1.0 if is_exact(model) else self._ratios.get(model, _OTHER_MARGIN)

    def learn(self, model: str, counted: int, reported: int) -> None:
        """Take in one reported usage, both in tokens.

        A report far above the known ratio may come of pictures, or of a server that adds up what it should not.
        """
        if counted < _LEAST_COUNTED or reported <= 0 or reported > _MOST_RATIO * counted or is_exact(model):
            return
        seen, known = max(1.0, reported / counted), self.ratio(model)
        if seen > known * _JUMP and model not in self._suspect:
            self._suspect.add(model)
            return
        self._suspect.discard(model)
        self._ratios[model] = seen if seen > known else known * 0.9 + seen * 0.1

    def window(self, model: str) -> int | None:
        """Return the window that the provider named when it refused a prompt, or that no prompt may fill, in tokens."""
        return self._windows.get(model)

    def learn_window(self, model: str, named: int | None, refused: int) -> None:
        """Take in that a prompt was refused as too long.

        Args:
            model: Whose window it is.
            named: The window, if the provider named it.
            refused: Tokens of the prompt, as we count.
        """
        self._windows[model] = named or min(refused, self._windows.get(model, refused))

    def forget_window(self, model: str) -> None:
        """Take back what was concluded from refusals, since no prompt was short enough."""
        self._windows.pop(model, None)
