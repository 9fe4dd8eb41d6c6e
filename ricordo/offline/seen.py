"""What the offline model sees: the window and the tool results, read back into passages."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from ricordo.graph.window import INTROS

_SEGMENTS = re.compile(rf"\n\n## ({'|'.join(map(re.escape, INTROS))}) Memory\n")
_QUESTION = "# Question\n"
_BLOCK = re.compile(r"^\[\d+\] (.*)\n((?:>(?: .*)?(?:\n|\Z))+)", re.MULTILINE)
_KNOWN = re.compile(r'\b(id|date|source|title|covers)=("[^"]*"|.*?)(?= \w+=|(?<!\s)\s*$)')
_PAGE = re.compile(r", page \d+$")
_CONTINUED = " (continued)"


@dataclass(frozen=True)
class Seen:
    """A passage: of a memory's segment, or of a tool's result."""

    segment: str
    """The memory's or the tool's name."""
    head: str
    text: str
    known: dict[str, str] = field(default_factory=dict)
    """What the head tells: id, date, source, title."""

    @property
    def role(self) -> str:
        """Who spoke; empty where nobody did."""
        role, dot, _ = self.head.partition(" · ")
        return role if dot else ""

    @property
    def document(self) -> str:
        """The source without the page."""
        return _PAGE.sub("", self.known.get("source", ""))

    @property
    def citation(self) -> str:
        """Where the text comes from, in brackets."""
        return f"[{self.known.get('source') or self.head.removesuffix(_CONTINUED) or self.segment}]"


@dataclass(frozen=True)
class Prompt:
    """One model call's input."""

    question: str
    passages: list[Seen]
    """The window's passages, segment by segment."""
    steps: list[AIMessage]
    """What the model called in this turn."""
    results: list[ToolMessage]
    """All results of this turn; those of the latest step are the last."""

    @property
    def latest(self) -> list[ToolMessage]:
        """The results of the latest step."""
        called = {call["id"] for call in self.steps[-1].tool_calls} if self.steps else set()
        return [result for result in self.results if result.tool_call_id in called]

    def of(self, segment: str) -> list[Seen]:
        """Return one segment's passages."""
        return [seen for seen in self.passages if seen.segment == segment]


def read_prompt(messages: Sequence[BaseMessage]) -> Prompt:
    """Read the messages of a model call; without a window, the last user message is the question."""
    users = [m for m in messages if isinstance(m, HumanMessage)]
    windows = [m for m in users if str(m.text).startswith(_QUESTION)]
    shown = str((windows or users)[-1].text) if users else ""
    question, *parts = _SEGMENTS.split(shown.removeprefix(_QUESTION)) if windows else [shown]
    passages = [seen for name, text in zip(parts[::2], parts[1::2], strict=True) for seen in read_blocks(text, name)]
    return Prompt(
        question=re.sub(r"(?m)^([^\S\n]*)\\#", r"\1#", question).strip(),
        passages=passages,
        steps=[m for m in messages if isinstance(m, AIMessage) and m.tool_calls],
        results=[m for m in messages if isinstance(m, ToolMessage)],
    )


def read_blocks(text: str, segment: str) -> list[Seen]:
    """Read numbered, fenced blocks; what goes on over several of them becomes one passage again."""
    found: list[Seen] = []
    for head, fenced in _BLOCK.findall(text):
        lines = "\n".join(line[2:] for line in fenced.rstrip("\n").split("\n"))
        if head.endswith(_CONTINUED) and found:
            found[-1] = Seen(segment, found[-1].head, found[-1].text + lines, found[-1].known)
            continue
        known = {name: value.strip('"') for name, value in _KNOWN.findall(head)}
        found.append(Seen(segment, head, lines, known))
    return found


def read_json(text: str) -> list[Any]:
    """Read the JSON in a result: the items of its list, or those that are whole in one that was cut."""
    try:
        value = json.loads(text)
    except ValueError:
        return list(_whole_objects(text)) if text.lstrip().startswith(("[", "{")) else []
    if isinstance(value, dict):
        lists = [item for item in value.values() if isinstance(item, list) and item]
        return lists[0] if len(lists) == 1 else [value]
    return value if isinstance(value, list) else []


def _whole_objects(text: str) -> Iterator[Any]:
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
            yield value
        except ValueError:
            end = at + 1
        at = text.find("{", end)
