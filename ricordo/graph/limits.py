"""The bounds of one turn, from the run's context, the settings and the model's profile."""

import math
import time
from dataclasses import dataclass
from typing import Any

from ricordo.common.errors import ConfigurationError, InputError
from ricordo.common.settings import Settings
from ricordo.graph.context import Context, context_of
from ricordo.graph.resources import get_resources
from ricordo.graph.state import State
from ricordo.models import tokens
from ricordo.models.chat import OFFLINE, UNKNOWN_WINDOW, profile_window
from ricordo.models.providers import provider_of

LEAST_WINDOW = 2_000
"""Tokens; the system prompt, two tools and a few turns need as much."""
SLACK = 64
"""Tokens that `llm` may add to a measured call: the request to wrap up, to go on, or to say something at all."""
_RESERVE_SHARE, _RESERVE_MOST = 0.1, 8_000
_PAGE_SHARE = 0.15
_TOOLS_SHARE = 0.25
SUMMARY_SHARE = 0.1
"""Of the window, for the descriptions of summaries."""
DESCRIPTION_TOKENS = 80
"""Of one of them, with its id and date."""
_FEWEST_DESCRIPTIONS = 2
_STEADY_MARGIN = 1.5
_BOUNDED = ("max_iterations", "deadline_seconds", "context_window", "tools_per_step")
"""Options of a run whose upper bounds are the settings of the same names."""
_COUNTS = ("knowledge_base_k", "workflow_k", "entity_k", "user_memory_k", "summary_k")
_MOST_PASSAGES = 100
"""Of one memory in the window."""


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
    most_summaries: int
    """Descriptions in the window; what is older goes under a summary of summaries."""
    page: int
    """Longest tool output that goes into the prompt whole."""
    max_iterations: int
    deadline_seconds: float
    tools_per_step: int
    max_tools: int
    ratio: float
    """What the provider counts for one token of ours."""

    @property
    def hard(self) -> int:
        """Most that a measured call may carry, so that the window holds it with the reply."""
        return self.window - self.reserve - SLACK

    @property
    def tools_room(self) -> int:
        """Most that the schemas of the offered tools may take."""
        return int(self.window * _TOOLS_SHARE)

    @property
    def steady_page(self) -> int:
        """A page of what is read back, counted by `steady`."""
        return self.page if tokens.is_exact(self.model) else int(self.page / _STEADY_MARGIN)

    def count(self, text: str) -> int:
        """Count a text's tokens as this model does."""
        return math.ceil(tokens.count(text, self.encoding) * self.ratio)

    def steady(self, text: str) -> int:
        """Count a text's tokens without the correction, which may change between two pages of one text."""
        return tokens.count(text, self.encoding)


def limits_of(runtime: Any) -> Limits:
    """Resolve the limits of a run from a node's or a tool's runtime.

    Raises:
        ConfigurationError: The window is too small to work with.
        InputError: The run asks for what it may not.
    """
    context, resources = context_of(runtime), get_resources()
    settings = resources.settings
    if said := beyond(context, settings, serves=resources.serves):
        raise InputError(said)
    model = context.model or settings.chat_model
    window = context.context_window or settings.context_window or window_of(model)
    if provider_of(model)[0] == "ollama":  # beyond what its server was told to hold it cuts in silence
        window = min(window, window_of(model))
    if named := resources.usage.window(model):
        window = min(window, max(named, LEAST_WINDOW))
    if window < LEAST_WINDOW:
        raise ConfigurationError(
            f"A window of {window} tokens is too small: the system prompt, the tools and the latest turns need "
            f"{LEAST_WINDOW:,}. Set RICORDO_CONTEXT_WINDOW, or context_window in the run's context, to that or more."
        )
    reserve = min(settings.reply_reserve or min(round(window * _RESERVE_SHARE), _RESERVE_MOST), window // 2)
    return Limits(
        model=model,
        encoding=tokens.encoding_of(model),
        window=window,
        reserve=reserve,
        compact_above=int(window * settings.compact_above),
        compact_to=int(window * settings.compact_to),
        keep_turns=settings.keep_turns,
        most_summaries=max(
            1, min(context.summary_k, max(_FEWEST_DESCRIPTIONS, round(window * SUMMARY_SHARE) // DESCRIPTION_TOKENS))
        ),
        page=min(settings.tool_output_tokens, int(window * _PAGE_SHARE)),
        max_iterations=context.max_iterations or settings.max_iterations,
        deadline_seconds=context.deadline_seconds or settings.deadline_seconds,
        tools_per_step=context.tools_per_step or settings.tools_per_step,
        max_tools=settings.max_tools,
        ratio=resources.usage.ratio(model),
    )


def seconds_left(state: State, limits: Limits) -> float:
    """Return how long the turn may still take; by a clock that nobody sets."""
    now = time.monotonic()
    return state.get("started_at", now) + limits.deadline_seconds - now


def beyond(context: Context, settings: Settings, *, serves: bool) -> str | None:
    """Say what a run asks for and may not, if anything.

    Args:
        context: What it asks for.
        settings: What the deployment sets.
        serves: Whether it comes by a server, where the settings are the upper bounds. In the command line and in
            notebooks whoever asks is the deployment.
    """
    most = {name: getattr(settings, name) for name in _BOUNDED} | dict.fromkeys(_COUNTS, _MOST_PASSAGES)
    for name, bound in most.items():
        asked = getattr(context, name)
        if asked is None:
            continue
        if not math.isfinite(asked) or asked < 0 or (asked == 0 and name in _BOUNDED):
            return f"{name} cannot be {asked:g}: it takes a number {'above 0' if name in _BOUNDED else 'from 0 on'}."
        if serves and bound is not None and asked > bound:
            raised = f"; the deployment raises that by RICORDO_{name.upper()}" if name in _BOUNDED else ""
            return f"{name} is {asked:g}, and a run may ask for {bound:g} at most here{raised}."
    allowed = {settings.chat_model, OFFLINE, *(each.strip() for each in settings.models.split(","))}
    if not serves or context.model is None or context.model in allowed or "*" in allowed:
        return None
    return f"The model {context.model[:80]!r} is none that a run may ask for here: RICORDO_MODELS names those."


def window_of(name: str) -> int:
    """Return the tokens of a chat model's window by its profile, whether or not the model can be used."""
    if name == OFFLINE:  # it has no profile, and need not be made for that
        return UNKNOWN_WINDOW
    try:
        return profile_window(get_resources().chat_model(name))
    except ConfigurationError:  # the model call will say so, once the question is stored
        return UNKNOWN_WINDOW
