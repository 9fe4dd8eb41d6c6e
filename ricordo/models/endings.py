"""How a model's reply ended, and what it used, from the pieces of a stream, whatever the provider calls it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata

Ending = Literal["stop", "length", "content_filter", "refusal", "error"]

_KEYS = ("finish_reason", "stop_reason", "done_reason", "stopReason", "status")
"""OpenAI and most others, Anthropic, Ollama, Bedrock, OpenAI's Responses."""
_MEANS: dict[str, Ending] = {
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
    "spii": "content_filter",
    "refusal": "refusal",
    "error": "error",
    "error_toxic": "content_filter",
    "failed": "error",
    "cancelled": "error",
    "malformed_function_call": "error",
}
"""All other words mean that the reply came to its own end, or to its tool calls."""


def ending_of(pieces: Sequence[AIMessage]) -> Ending | None:
    """Tell how a reply ended, by the last of its pieces that says so; None if none does.

    LangChain glues what several pieces say to one word, so the pieces are looked at one by one.
    """
    if any(piece.additional_kwargs.get("refusal") for piece in pieces):
        return "refusal"
    for piece in reversed(pieces):
        if any(isinstance(block, dict) and block.get("type") == "refusal" for block in piece.content):
            return "refusal"
        if word := _word(piece.response_metadata):
            return _MEANS.get(word.lower(), "stop")
    return None


def _word(about: Mapping[str, Any]) -> str | None:
    if about.get("status") == "incomplete":
        return str((about.get("incomplete_details") or {}).get("reason") or "length")
    return next((value for key in _KEYS if isinstance(value := about.get(key), str) and value), None)


def usage_of(pieces: Sequence[AIMessage]) -> UsageMetadata | None:
    """Return what a reply used; LangChain adds up the pieces, and some servers report the whole use in each of them."""
    told = [piece.usage_metadata for piece in pieces if piece.usage_metadata]
    whole = [usage for usage in told if usage["input_tokens"]]
    if len(whole) > 1 or len(told) == 1:
        return max(whole or told, key=lambda usage: usage["total_tokens"])
    if not told:
        return None
    said = sum(usage["output_tokens"] for usage in told)
    prompt = sum(usage["input_tokens"] for usage in told)
    first = next(iter(whole), told[0])
    return {**first, "output_tokens": said, "total_tokens": prompt + said}
