"""The bounds of one turn, from the run's context, the settings and the model's profile."""

from dataclasses import dataclass
from typing import Any

from graph import tokens
from graph.context import context_of
from graph.models import profile_window
from graph.resources import get_resources

_RESERVE_SHARE, _RESERVE_MOST = 0.1, 8_000
_PAGE_SHARE = 0.15


@dataclass(frozen=True)
class Limits:
    """All sizes in tokens, times in seconds."""

    model: str
    encoding: str
    window: int
    reserve: int
    """Kept free for the reply."""
    compact_above: int
    compact_to: int
    keep_turns: int
    page: int
    """Longest tool output that goes into the prompt whole, and a page of what is read back."""
    max_iterations: int
    deadline_seconds: float
    tools_per_step: int
    max_tools: int
    ratio: float
    """What the provider counts for one token of ours."""

    def count(self, text: str) -> int:
        """Count a text's tokens as this model does."""
        return round(tokens.count(text, self.encoding) * self.ratio)


def limits_of(runtime: Any) -> Limits:
    """Resolve the limits of a run from a node's or a tool's runtime."""
    context, settings = context_of(runtime), get_resources().settings
    model = context.model or settings.chat_model
    window = context.context_window or settings.context_window or profile_window(model, settings)
    reserve = min(settings.reply_reserve or min(round(window * _RESERVE_SHARE), _RESERVE_MOST), window // 2)
    return Limits(
        model=model,
        encoding=tokens.encoding_of(model),
        window=window,
        reserve=reserve,
        compact_above=int(window * settings.compact_above),
        compact_to=int(window * settings.compact_to),
        keep_turns=settings.keep_turns,
        page=min(settings.tool_output_tokens, int(window * _PAGE_SHARE)),
        max_iterations=context.max_iterations or settings.max_iterations,
        deadline_seconds=context.deadline_seconds or settings.deadline_seconds,
        tools_per_step=context.tools_per_step or settings.tools_per_step,
        max_tools=settings.max_tools,
        ratio=get_resources().usage.of(model),
    )
