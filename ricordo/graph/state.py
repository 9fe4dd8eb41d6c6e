"""The state of one thread: pointers travel in it, payloads live in the database."""

from typing import (
    Annotated,
    Any,
    NotRequired,  # pydantic, which makes Studio's forms, needs these
)

from langchain_core.messages import AnyMessage
from langchain_core.messages.ai import UsageMetadata
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.graph import add_messages
from typing_extensions import TypedDict

from ricordo.graph.window import Window


class InputState(TypedDict):
    """What a caller sends."""

    messages: Annotated[list[AnyMessage], add_messages]
    """The new user message; any number may come, the last user message is the question."""


class ToolCallRecord(TypedDict):
    """One tool call of this turn; its arguments and output are in the tool log."""

    name: str
    status: str
    """`success`, `error` or `interrupted`."""
    log_id: str


class ContextUse(TypedDict):
    """How full the window was at the latest model call, in tokens."""

    tokens: int
    window: int
    percent: float
    segments: dict[str, int]


def merge_seconds(left: dict[str, float] | None, right: dict[str, float]) -> dict[str, float]:
    """Add the seconds of a phase to those before; the first phase starts a new turn."""
    total = {} if "assemble_context" in right else dict(left or {})
    for phase, seconds in right.items():
        total[phase] = round(total.get(phase, 0.0) + seconds, 6)
    return total


class OutputState(InputState):
    """What a caller gets, at the end and in streams. `messages` ends with the answer."""

    stop_reason: NotRequired[str | None]
    """None while the turn runs; then `answer`, `max_iterations`, `deadline`, `error`, or how the model's answer was cut
    short: `length`, `content_filter`, `refusal`, `unfinished`."""
    error: NotRequired[str | None]
    """What went wrong, in words for the user."""
    iterations: NotRequired[int]
    """Model calls of this turn."""
    tool_calls: NotRequired[list[ToolCallRecord]]
    """Tool calls of this turn, in order."""
    compactions: NotRequired[list[str]]
    """What every compaction pass of this turn did, a line each."""
    context: NotRequired[ContextUse]
    """The window's fill at the latest model call."""
    usage: NotRequired[UsageMetadata | None]
    """Tokens of this turn's model calls as the provider counted them; None if it told nothing."""


class State(OutputState):
    """All channels. `messages` is the visible dialogue and, within a turn, its tool exchange."""

    run_id: NotRequired[str]
    """Id of the turn, the same when a node is replayed."""
    question_id: NotRequired[str | None]
    """Id of the question's row in conversation memory."""
    window: NotRequired[Annotated[Window, UntrackedValue]]
    """What was read from memory for this turn; never checkpointed, rebuilt from the database when missing."""
    attachments: NotRequired[Annotated[list[dict[str, Any]], UntrackedValue]]
    """Pictures and files of the question, as content blocks; never checkpointed, named in the question's text."""
    left_out: NotRequired[list[str]]
    """Names of those that the model does not take."""
    instructions: NotRequired[str]
    """System messages of the caller, for this run."""
    started_at: NotRequired[Annotated[float, UntrackedValue]]
    """Seconds of the monotonic clock at which the turn began, or was taken up again; never checkpointed, since it means
    nothing to another process."""
    again: NotRequired[bool]
    """Whether another process has begun this run: what it has called is in the tool log."""
    offered: NotRequired[list[str]]
    """Tools the model sees, in the order in which they came up; only grows within a turn."""
    tools_offered: NotRequired[list[list[str]]]
    """Tool names of every model call of this turn."""
    exhausted: NotRequired[bool]
    """The last compaction could shrink nothing; it is not tried again before the next model call."""
    overflows: NotRequired[int]
    """How often in a row the provider has found the prompt too long."""
    refused: NotRequired[int]
    """Tokens of the latest prompt that was too long; one that is no shorter is not sent."""
    seconds: NotRequired[Annotated[dict[str, float], merge_seconds]]
    """Wall clock by phase."""


StateUpdate = dict[str, Any]
"""What a node returns: only the keys it changed."""
