"""How many tokens a text, a message or a tool schema costs in the prompt.

Exact for OpenAI's encodings, from tables shipped in a wheel (`bpe-openai`); for other models the same count times a
margin, which `UsageRatio` corrects by what the provider reports.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage

_SLICE = 20_000  # characters; the encoder refuses inputs of a million
_PER_MESSAGE = 4  # role and separators, as OpenAI's own counting guide has it
_PER_TOOL = 9
_OTHER_MARGIN = 1.2  # other tokenizers make up to a fifth more of ordinary prose


@lru_cache(maxsize=2)
def _encoding(name: str) -> Any:
    import bpe_openai  # noqa: PLC0415 - tables of several MB, read when first needed

    return bpe_openai.get_encoding(name)


def encoding_of(model: str) -> str:
    """Name the encoding of a model, `provider:name`; the newest one for models that are not OpenAI's."""
    name = model.rpartition(":")[2]
    old = name.startswith(("gpt-4", "gpt-3.5")) and not name.startswith(("gpt-4o", "gpt-4.1", "gpt-4.5"))
    return "cl100k_base" if old else "o200k_base"


def is_exact(model: str) -> bool:
    """Tell whether the count is the provider's own for this model."""
    return model.startswith("openai:")


def count(text: str, encoding: str = "o200k_base") -> int:
    """Count the tokens of a text of any length."""
    encode = _encoding(encoding).encode_ordinary
    return sum(len(encode(text[i : i + _SLICE])) for i in range(0, len(text), _SLICE))


def text_of(message: BaseMessage) -> str:
    """Return a message's text, whether its content is a string or a list of blocks."""
    return str(message.text)


def count_message(message: AnyMessage, encoding: str = "o200k_base") -> int:
    """Count a message with its tool calls."""
    total = _PER_MESSAGE + count(text_of(message), encoding)
    if isinstance(message, AIMessage):
        for call in message.tool_calls:
            total += 6 + count(call["name"], encoding) + count(json.dumps(call["args"], ensure_ascii=False), encoding)
            total += count(call["id"] or "", encoding)
    return total


def count_messages(messages: Iterable[AnyMessage], encoding: str = "o200k_base") -> int:
    """Count a list of messages."""
    return sum(count_message(message, encoding) for message in messages)


def count_tools(schemas: Sequence[Mapping[str, Any]], encoding: str = "o200k_base") -> int:
    """Count tool schemas as their JSON: providers render them somewhat shorter."""
    return sum(_PER_TOOL + count(json.dumps(schema, ensure_ascii=False), encoding) for schema in schemas)


class UsageRatio:
    """What a provider counts against what we count, per model: raised at once, lowered slowly, never below one.

    For OpenAI's models the ratio stays one: their own tables are counted with.
    """

    def __init__(self) -> None:
        self._ratios: dict[str, float] = {}

    def of(self, model: str) -> float:
        """Return the factor to multiply our count by."""
        return 1.0 if is_exact(model) else self._ratios.get(model, _OTHER_MARGIN)

    def learn(self, model: str, counted: int, reported: int) -> None:
        """Take in one reported usage, both in tokens."""
        if counted <= 0 or reported <= 0 or is_exact(model):
            return
        seen, known = max(1.0, reported / counted), self._ratios.get(model, _OTHER_MARGIN)
        self._ratios[model] = seen if seen > known else known * 0.9 + seen * 0.1
