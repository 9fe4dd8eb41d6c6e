"""Whether a provider's error says that the prompt is too long, in whatever words, and what it names as the window."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core import exceptions as provider

_NAMES = frozenset({"context_length_exceeded", "exceed_context_size_error", "context_window_exceeded"})
"""Codes and types of errors that mean nothing else."""
_CONTEXT = r"(?:context|prompt|input|sequence)[ _-]?(?:size|length|window|limit|tokens?)"
_WORDS = re.compile(
    "|".join(
        (
            rf"maximum {_CONTEXT}",  # OpenAI, vLLM, SGLang, OpenRouter, Ollama
            rf"(?:exceed|greater|longer|larger|bigger|more)\w*(?: \w+){{0,4}}? (?:\w+'s )?(?:\w+ ){{0,3}}?{_CONTEXT}",
            r"context length exceeded|ContextWindowExceeded|context_length_exceeded",
            r"(?:prompt|input|request|message)s?(?: is| are)? too (?:long|large|many)(?! for (?:the )?(?:file|upload))",
            r"too many (?:input |prompt )?tokens|too large for model",
            r"input (?:tokens?|token count|length) .{0,40}?(?:exceeds?|is over)",
            r"(?:reduce|shorten) (?:the |your )?(?:length|size)? ?(?:of )?(?:the |your )?(?:prompt|messages?|input)",
            r"context (?:the )?overflow",  # LM Studio
            r"truncat\w+ (?:the |your )?(?:prompt|input)",
        )
    ),
    re.IGNORECASE,
)
_TOO_LARGE, _RATE = 413, 429
_NUMBER = r"(\d[\d,._]{2,})"
_MORE_THAN = re.compile(rf"> ?{_NUMBER}")  # 210000 tokens > 200000 maximum
_WINDOW = re.compile(
    rf"{_NUMBER}(?: tokens?)? maximum"  # Mistral
    rf"|(?:maximum|allowed|available|limit(?! exceeded))(?:(?![.;](?:\s|$))\D){{0,60}}?{_NUMBER}"
    rf"|(?:context|prompt|input)[ _-]?(?:size|length|window)(?:(?![.;](?:\s|$))\D){{0,40}}?{_NUMBER}",
    re.IGNORECASE,
)
_STATUS = re.compile(r"(?:status|error) (?:code|response):? \d{3}\b", re.IGNORECASE)
_WINDOW_KEYS = ("n_ctx", "max_context_length", "context_length", "max_model_len")


def details_of(error: BaseException) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects that an error carries, from a provider's body down to the error in it."""
    seen = getattr(error, "body", None) or getattr(error, "details", None) or next(iter(error.args), None)
    while isinstance(seen, Mapping):
        yield seen
        seen = seen.get("error")


def words_of(error: BaseException) -> str:
    """Return all that an error says: its own text and its body's messages."""
    body = getattr(error, "body", None)
    said = "" if error.args and isinstance(error.args[0], Mapping) else " ".join(str(error).split())
    for each in [
        body if isinstance(body, str) and not body.startswith("{") else "",
        *(part.get("message") for part in details_of(error)),
    ]:
        message = " ".join(str(each or "").split())
        said = said if message in said else f"{said} {message}".strip()
    return said


def is_overflow(error: BaseException, status: int | None) -> bool:
    """Tell whether a provider's error means that the prompt is too long.

    Args:
        error: What the client raised.
        status: The HTTP status, if there was one.
    """
    if isinstance(error, provider.ContextOverflowError) or status == _TOO_LARGE:
        return True
    details = list(details_of(error))
    named = {str(part.get(key)) for part in details for key in ("code", "type")}
    if named & _NAMES or any(key in part for part in details for key in _WINDOW_KEYS):
        return True
    said = words_of(error)
    if status == _RATE or "rate_limit_exceeded" in named:
        # A request that is larger than what a minute allows: no waiting helps. Any other limit of rate passes.
        limit, requested = (re.search(rf"{word}:? {_NUMBER}", said) for word in ("Limit", "Requested"))
        return bool(limit and requested and _number(requested[1]) > _number(limit[1]))
    return _WORDS.search(said) is not None


def window_named(error: BaseException, status: int | None) -> int | None:
    """Return the tokens of the window that such an error names; a limit of tokens per minute is none."""
    for part in details_of(error):
        for key in _WINDOW_KEYS:
            if isinstance(part.get(key), int):
                return int(part[key])
    if status == _RATE or any("rate_limit" in str(part.get("code")) for part in details_of(error)):
        return None
    said = _STATUS.sub("", words_of(error))
    found = _MORE_THAN.search(said) or _WINDOW.search(said)
    return _number(next(filter(None, found.groups()))) if found else None


def _number(digits: str) -> int:
    return int(re.sub(r"\D", "", digits))
