"""What a model thinks beside its answer: told from its words, in a whole reply and in the pieces of a stream."""

import re
from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage

from ricordo.common.text import clean, clean_json

_TAG = re.compile(r"(?<!`)(?:<(?P<end>/)?(?:(?:seed:)?think|thinking|thought)>|\[(?P<close>/)?THINK\])", re.IGNORECASE)
_CLOSE = re.compile(r"(?<!`)(?:</(?:(?:seed:)?think|thinking|thought)>|\[/THINK\])", re.IGNORECASE)
_MAYBE_TAG = re.compile(r"(?:`?[<\[][/\w|:]{0,14}|`{1,2})\Z")
"""The end of a piece in which a tag may have begun."""
_LONGEST_TAG = 24  # characters, with the one before it
_FENCE = "```"
_BLOCKS = {"thinking", "redacted_thinking", "reasoning", "reasoning_content"}
"""Content blocks that hold thinking, by Anthropic's, OpenAI's and Bedrock's names."""
FIELDS = ("reasoning_content", "reasoning", "reasoning_details")
"""Fields beside `content` in which servers of OpenAI's protocol give thinking, and some of them want it back."""
_NO_THOUGHT = {"tool_calls", "function_call", "refusal", "audio", "parsed"}
RAW = "ricordo_as_said"
"""In the `additional_kwargs` of a reply that calls tools: its text with the thinking that was written into it."""


class Speech:
    """The words of a reply that comes in pieces, without the thinking between its tags.

    Tags in code are words about them, and stay.
    """

    def __init__(
        self,
        *,
        hold: bool,
        may_call: Callable[..., bool] = lambda *_, **__: False,
        without_calls: Callable[[str], str] = str,
    ) -> None:
        """Begin a reply.

        Args:
            hold: Say nothing before it is clear that the beginning is no thinking whose opening tag was left out.
            may_call: Tells whether a text may hold the beginning of a tool call that is written as text; `begins`
                is whether the reply begins there.
            without_calls: Takes such calls out of a text.
        """
        self._hold, self._may_call, self._without_calls = hold, may_call, without_calls
        self._pending, self._looked, self._half = "", 0, ""
        self._begun = self._thinks = self._trims = False
        self._opening, self._fences = "", 0
        self.opened = self.unopened = False
        """Whether thinking came with its opening tag; whether it came without."""

    def take(self, piece: str, *, last: bool = False) -> str:
        """Take in the next piece, and return what can be said now.

        Args:
            piece: Text of any length.
            last: No more follows.
        """
        whole = self._half + piece
        self._half = whole[-1:] if not last and "\ud800" <= whole[-1:] <= "\udbff" else ""
        self._pending += clean(whole.removesuffix(self._half))
        out = ""
        while self._pending:
            before = len(self._pending)
            out += self._think(last=last) if self._thinks else self._speak(last=last)
            if len(self._pending) == before:
                self._looked = max(0, before - _LONGEST_TAG)
                break
            self._looked = 0
        return out

    def _think(self, *, last: bool) -> str:
        if close := _CLOSE.search(self._pending, self._looked):
            self._pending, self._thinks, self._trims = self._pending[close.end() :], False, True
        elif last:  # cut off in thought; in the midst of an answer it was a word about the tag
            said, self._pending = self._opening + self._pending, ""
            return self._say(said) if self._begun else ""
        return ""

    def _speak(self, *, last: bool) -> str:
        if self._trims:
            self._pending = self._pending.lstrip()
        text = self._pending
        if tag := self._tag():
            self._pending, said = text[tag.end() :], text[: tag.start()]
            if tag["end"] or tag["close"]:
                said = "" if self._hold else self._say(said)
                self._hold, self._trims, self.unopened = False, True, True
                return said
            self._opening, self._thinks, self._hold, self.opened = tag[0], True, False, True
            return self._say(said)
        if last:
            self._pending = ""
            return self._say(self._without_calls(text))
        if self._hold or self._may_call(text, begins=not self._begun):
            return ""
        unsure = _MAYBE_TAG.search(text, max(0, len(text) - _LONGEST_TAG))
        end = unsure.start() if unsure else len(text)
        self._pending = text[end:]
        return self._say(text[:end])

    def _tag(self) -> re.Match[str] | None:
        """Find a tag that stands in no code block."""
        for found in _TAG.finditer(self._pending, self._looked):
            if (self._fences + self._pending.count(_FENCE, 0, found.start())) % 2 == 0:
                return found
        return None

    def _say(self, text: str) -> str:
        self._fences += text.count(_FENCE)
        if text.strip():
            self._begun, self._trims = True, False
        return text


def spoken(text: str) -> str:
    """Return a whole reply's text without its thinking."""
    return Speech(hold=True).take(text, last=True)


def with_thinking(reply: AIMessage, text: str) -> dict[str, Any]:
    """Return content and `additional_kwargs` of a reply that is sent back with its thinking, as its provider gave it.

    Args:
        reply: The model's reply.
        text: Its words, clean.
    """
    kwargs = {key: clean_json(value) for key, value in reply.additional_kwargs.items() if key not in _NO_THOUGHT}
    blocks = reply.content if isinstance(reply.content, list) else []
    if not any(isinstance(block, dict) and block.get("type") in _BLOCKS for block in blocks):
        raw = str(reply.text)
        return {"content": text, "additional_kwargs": kwargs | ({RAW: raw} if spoken(raw) != raw else {})}
    kept = [
        clean_json(block)
        for block in blocks
        if isinstance(block, dict)
        and (block.get("type") in _BLOCKS or (block.get("type") == "text" and block.get("text", "").strip()))
    ]
    return {"content": kept, "additional_kwargs": kwargs}


def as_said(message: AIMessage) -> AIMessage:
    """Return a message of the exchange with the thinking that its model wrote into the text."""
    raw = message.additional_kwargs.get(RAW)
    if raw is None:
        return message
    rest = {key: value for key, value in message.additional_kwargs.items() if key != RAW}
    return message.model_copy(update={"content": raw, "additional_kwargs": rest})


def thinking_of(message: AIMessage) -> str:
    """Return the text of what goes back beside a message's words, to be counted."""
    blocks = message.content if isinstance(message.content, list) else []
    parts = [block for block in blocks if isinstance(block, dict) and block.get("type") in _BLOCKS]
    fields = [message.additional_kwargs.get(name) for name in (*FIELDS, RAW)]
    return "\n".join(text for part in [*parts, *fields] for text in _texts(part))


def _texts(value: Any) -> list[str]:
    """Return the texts in a block of thinking; signatures and encrypted parts are no tokens of the prompt."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        named = ("thinking", "text", "summary", "reasoning", "reasoning_content", "content")
        return [text for key in named for text in _texts(value.get(key))]
    return [text for part in value for text in _texts(part)] if isinstance(value, list) else []
