"""What happens in a turn, for whoever follows it: the command line, notebooks, and clients with `stream_mode="custom"`.

Each event is a dict with its `type`, such as `{"type": "tool_started", "name": …, "args": …}`; the words of the answer
as the model says them are in LangGraph's own mode `messages`.
"""

from dataclasses import asdict, dataclass
from typing import Any

from langchain_core.messages import ToolMessage


@dataclass(frozen=True)
class ToolStarted:
    """The model calls a tool."""

    name: str
    args: dict[str, Any]


@dataclass(frozen=True)
class ToolEnded:
    """A tool has answered."""

    name: str
    status: str
    text: str


@dataclass(frozen=True)
class WindowFilled:
    """The next model call was counted."""

    tokens: int
    window: int
    percent: float


@dataclass(frozen=True)
class WindowCompacted:
    """The window was compacted."""

    what: str


@dataclass(frozen=True)
class Ended:
    """The turn is at its end."""

    answer: str
    stop_reason: str


Happening = ToolStarted | ToolEnded | WindowFilled | WindowCompacted | Ended

_TYPES: dict[str, type[Happening]] = {
    "tool_started": ToolStarted,
    "tool_ended": ToolEnded,
    "window_filled": WindowFilled,
    "window_compacted": WindowCompacted,
    "ended": Ended,
}
_NAMES = {kind: name for name, kind in _TYPES.items()}


def written(event: Happening) -> dict[str, Any]:
    """Return an event as a stream carries it."""
    return {"type": _NAMES[type(event)], **asdict(event)}


def read(part: Any) -> Happening | None:
    """Return the event in a part of a stream; None for what a tool of one's own has written there."""
    if not isinstance(part, dict) or part.get("type") not in _TYPES:
        return None
    return _TYPES[part["type"]](**{name: value for name, value in part.items() if name != "type"})


def events_of(node: str, update: dict[str, Any]) -> list[Happening]:
    """Return what a node's update tells."""
    events: list[Happening] = []
    if node == "llm" and "messages" in update:
        events += [ToolStarted(call["name"], call["args"]) for call in update["messages"][0].tool_calls]
    elif node == "execute_tools":
        results = [m for m in update["messages"] if isinstance(m, ToolMessage)]
        events += [ToolEnded(m.name or "", m.status, str(m.text)) for m in results]
    elif node == "compact":
        events.append(WindowCompacted(update["compactions"][-1]))
    elif node == "persist_workflow":
        events.append(Ended(str(update["messages"][-1].text), update["stop_reason"]))
    if "context" in update:
        use = update["context"]
        events.append(WindowFilled(use["tokens"], use["window"], use["percent"]))
    return events
