"""What a model's server does not take, and how the model speaks: learned as it answers, kept for the process."""

import re
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage

from ricordo.models.thinking import FIELDS
from ricordo.models.tokens import is_exact

STREAM_OPTIONS, TOOL_CHOICE, SYSTEM, MEDIA, TOOLS = "stream_options", "tool_choice", "system", "media", "tools"
_NOT = r"(?:not\b|n't|unsupported|unknown|invalid|unexpected|only\b|requires? --|no endpoints)"


def _refusal(what: str) -> re.Pattern[str]:
    return re.compile(rf"{_NOT}.{{0,80}}?(?:{what})|(?:{what}).{{0,80}}?{_NOT}", re.IGNORECASE | re.DOTALL)


_REFUSALS = {
    STREAM_OPTIONS: re.compile("stream_options", re.IGNORECASE),
    TOOL_CHOICE: re.compile("tool.?choice", re.IGNORECASE),
    SYSTEM: re.compile(
        _refusal(
            r"(?:system|developer)\W{0,3}(?:role|message|prompt|instruction)s?|role\W{0,4}(?:system|developer)"
        ).pattern
        + "|roles? must alternate|only user and assistant roles",
        re.IGNORECASE | re.DOTALL,
    ),
    MEDIA: _refusal(r"image|picture|vision|modal|audio|video|\bfile|document|pdf|media|content"),
}
"""What a refusal speaks of, by what is then done without; in the order in which they are looked for."""
_OF_THE_REQUEST = {400, 404, 405, 415, 422, 500, 501}
_SEPARATE = re.compile(r"(?:anthropic|google_\w+|mistralai|azure_openai|bedrock\w*|cohere|xai|offline)\b")
"""Providers that give thinking apart from the answer."""


@dataclass
class Manners:
    """Of one model."""

    without: set[str] = field(default_factory=set)
    """What its server has refused."""
    calls: bool = False
    """Whether it has called a tool as its provider defines calls."""
    omits_opening: bool | None = None
    """Whether its thinking begins without a tag; None as long as no reply has told."""

    def holds(self, name: str) -> bool:
        """Tell whether a reply's first words may be thinking that no tag announces.

        Some servers put the opening tag into the prompt. Until a reply has told, only models that are known to think
        apart are believed to speak at once.

        Args:
            name: The model, `provider:name`.
        """
        if self.omits_opening is None:
            return not (is_exact(name) or _SEPARATE.match(name))
        return self.omits_opening

    def hear(self, reply: AIMessage, *, opened: bool, unopened: bool) -> None:
        """Take in how a reply gave its thinking.

        Args:
            reply: The whole of it.
            opened: Whether a tag in the text opened thinking.
            unopened: Whether one closed what none had opened.
        """
        apart = any(reply.additional_kwargs.get(name) for name in FIELDS)
        if unopened:
            self.omits_opening = True
        elif opened or apart or (self.omits_opening is None and str(reply.text).strip()):
            self.omits_opening = False

    def learn(self, error: BaseException, sent: set[str]) -> bool:
        """Take in a refusal.

        Args:
            error: With what the provider said; its cause is the provider's own error.
            sent: What the request carried of that which servers may refuse.

        Returns:
            Whether the request can be made without something that it carried.
        """
        said, status = str(error), _status(error)
        if status is not None and status not in _OF_THE_REQUEST:
            return False
        for what, words in _REFUSALS.items():
            if what in sent - self.without and words.search(said):
                self.without.add(what)
                return True
        return False


def _status(error: BaseException | None) -> int | None:
    """Return the HTTP status behind an error, if there was one."""
    while error is not None:
        if isinstance(status := getattr(error, "status_code", None), int):
            return status
        error = error.__cause__
    return None


_NO_CALLS: dict[str, Any] = {
    "anthropic-chat": {"type": "none"},
    "offline": "none",
    **dict.fromkeys(
        (
            "openai-chat",
            "azure-openai-chat",
            "mistralai-chat",
            "groq-chat",
            "chat-deepseek",
            "xai-chat",
            "fireworks-chat",
            "together-chat",
            "openrouter-chat",
            "chat-google-generative-ai",
            "vertexai",
        ),
        "none",
    ),
}
"""How each of LangChain's models is told to call no tool, where it can be."""


def no_calls(model: Any) -> dict[str, Any]:
    """Return the option of `bind_tools` by which a model shows tools and calls none; empty where there is none."""
    choice = _NO_CALLS.get(getattr(model, "_llm_type", ""))
    return {"tool_choice": choice} if choice else {}
