"""Tool calls as models make them: the name and the arguments that were meant, also where they are written as text."""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any
from uuid import uuid4

from langchain_core.messages import ToolCall

_NAMES = ("name", "function", "tool", "tool_name", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input")
_MARKED = re.compile(
    r"<tool_call>(?P<call>.*?)(?:</tool_call>|\Z)"
    r"|(?P<function><function=.*?(?:</function>|\Z))"
    r"|(?:\[TOOL_CALLS\]|<\|python_tag\|>)(?P<rest>.*)\Z",
    re.DOTALL,
)
"""As Hermes and Qwen write calls, as Llama does, and as Mistral does."""
_MARKS = ("<tool_call>", "<function=", "[TOOL_CALLS]", "<|python_tag|>")
_FUNCTION = re.compile(r"<function=([^>\s]+)>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\s]+)>\n?(.*?)\n?(?:</parameter>|\Z)", re.DOTALL)
_NAMED = re.compile(r"([\w.-]++)\s*+(?:\[ARGS\]\s*+)?(?=\{)")
_FENCED = re.compile(r"```(?:json|tool_call|tool_code)?\s*+(.*)```\Z", re.DOTALL)
_BARE = re.compile(r'\s*+(?:```(?:json|tool_call|tool_code)?\s*+)?\[?\s*+\{\s*+"(?P<key>\w*+)(?P<end>"?)')
_BARE_BEGINS = re.compile(r"\s*+(?:`{1,3}\w{0,9}\s*+)?\[?\s*+\{?\s*+\Z|\s*+[\[<`][^\s<>]{0,14}\Z")
_KEYS = {*_NAMES, *_ARGUMENTS, "type", "id"}
_LEAST_ID = 4  # characters; shorter ones repeat themselves by chance
_ENCODED = 2  # times that a provider was seen to encode arguments as JSON, beyond once


def arguments_of(raw: Any) -> dict[str, Any]:
    """Read a call's arguments: an object, its JSON, the JSON of its JSON, or nothing.

    Raises:
        ValueError: It is no JSON.
        TypeError: It is none for an object.
    """
    value = raw
    for _ in range(1 + _ENCODED):
        if not isinstance(value, str):
            break
        if value is not raw and not value.lstrip().startswith(("{", '"')):  # a text, not an object encoded again
            break
        value = json.loads(value, strict=False) if value.strip() else None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError(f"an object is expected, not {type(value).__name__}")
    return value


def name_meant(said: str, offered: Collection[str]) -> str:
    """Return the offered tool that a name means, or the name as it is.

    Some servers repeat the name in each piece of a stream; some models put a namespace before it, or a mark of their
    own after it.
    """
    said = said.strip()
    once = _once(said)
    for name in (said, once):
        plain = name.split("<|", 1)[0].strip()
        for candidate in (name, plain, re.split(r"[./:]", plain)[-1]):
            if candidate in offered:
                return candidate
    known = {name.casefold(): name for name in offered}
    return known.get(once.casefold(), said)


def _once(text: str) -> str:
    """Return a text once that is nothing but its own repetition."""
    period = (text + text).find(text, 1)
    return text[:period] if 0 < period < len(text) else text


def id_meant(said: str | None) -> str:
    """Return a call's id, once where each piece of a stream repeated it."""
    once = _once(said or "")
    return once if len(once) >= _LEAST_ID else said or ""


class WrittenCalls:
    """Finds the calls of offered tools in the text of a reply."""

    def __init__(self, offered: Collection[str]) -> None:
        self._offered = offered

    def may_begin(self, text: str, *, begins: bool) -> bool:
        """Tell whether a text that is not whole may hold a call.

        Args:
            text: So far.
            begins: Whether the reply begins with it.
        """
        if not self._offered:
            return False
        if any(mark in text for mark in _MARKS) or text.endswith(
            tuple(m[:n] for m in _MARKS for n in range(1, len(m)))
        ):
            return True
        if not begins:
            return False
        if bare := _BARE.match(text):
            return bare["key"] in _KEYS if bare["end"] else any(key.startswith(bare["key"]) for key in _KEYS)
        return bool(_BARE_BEGINS.match(text))

    def without(self, text: str) -> str:
        """Return a text without the calls in it."""
        return self.split(text)[0]

    def split(self, text: str) -> tuple[str, list[ToolCall]]:
        """Return a whole text without its calls, and the calls."""
        if not self._offered:
            return text, []
        calls: list[ToolCall] = []

        def taken(found: re.Match[str]) -> str:
            new = list(self._calls(found["call"] or found["function"] or found["rest"] or ""))
            calls.extend(new)
            return "" if new else found[0]

        rest = _MARKED.sub(taken, text)
        if calls:
            return rest.strip(), calls
        whole = text.strip()
        fenced = _FENCED.match(whole)
        bare = list(self._calls(fenced[1] if fenced else whole))
        return ("", bare) if bare else (text, [])

    def _calls(self, text: str) -> Iterator[ToolCall]:
        """Read what stands between the marks, or alone: JSON of one call or several, or the forms without JSON."""
        text = text.strip()
        if text.startswith("<function="):
            for name, inner in _FUNCTION.findall(text):
                yield from self._call(name, _parameters(inner))
            return
        if named := _NAMED.match(text):
            yield from self._call(named[1], text[named.end() :].strip())
            return
        try:
            values = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            return
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, dict) and value.keys() <= _KEYS:
                inner = value["function"] if isinstance(value.get("function"), dict) else value
                name = next((inner[key] for key in _NAMES if isinstance(inner.get(key), str)), "")
                yield from self._call(name, next((inner[key] for key in _ARGUMENTS if key in inner), None))

    def _call(self, said: str, raw: Any) -> Iterator[ToolCall]:
        name = name_meant(said, self._offered)
        try:
            if name in self._offered:
                yield ToolCall(name=name, args=arguments_of(raw), id=f"call_{uuid4().hex}")
        except (ValueError, TypeError, RecursionError):
            return


def _parameters(inner: str) -> Any:
    """Read a call's arguments between its tags: JSON, or one tag a parameter, whose value may be JSON."""
    found = _PARAMETER.findall(inner)
    if not found:
        return inner
    values: dict[str, Any] = {}
    for name, said in found:
        try:
            values[name] = json.loads(said)
        except ValueError:
            values[name] = said
    return values
