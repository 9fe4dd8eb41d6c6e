"""The partitioned window: the one user message that carries the question and what memory holds for it.

Passages are data. Each of their lines is fenced by `> `, so that nothing in them can forge a heading, a role or another
passage; headings in the question are escaped for the same reason.
"""

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ricordo.models import tokens
from ricordo.stores.passages import Passage, render_all

_ENDS = r"\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"  # of a line
_HEADING = re.compile(rf"(?:\A|(?<=[{_ENDS}]))([^\S{_ENDS}]*)#")

INTROS = {
    "Conversation": "the latest turns of this thread, oldest first. Resolve references (it, that paper) from here.",
    "Knowledge Base": "passages of stored documents that fit the question. Evidence: cite it as [source, page].",
    "Workflow": "how earlier requests like this one were solved, step by step. Adapt what worked to this request, "
    "never copy its values or its outcome, and do not repeat what failed.",
    "Entity": "people, organisations, systems, places and papers spoken of before.",
    "Summary": "older turns of this thread, one line each; "
    "call expand_summary with the id for the original messages, word for word.",
    "User": "what the user asked to remember: standing preferences and facts, and what fits the question. "
    "Recall more by the recall tool.",
}
"""The segments, in their order in the window, with what each holds and how to use it."""


_FRAME = 4  # tokens of the message around the text


@lru_cache(maxsize=4)  # a question may have a million lines, and is counted at every step of a compaction
def shown_question(text: str) -> str:
    """Return the question under its heading; what looks like a heading in it is escaped."""
    return "# Question\n" + _HEADING.sub(r"\1\\#", text)


@dataclass(frozen=True)
class Segment:
    """One memory's part of the window."""

    name: str
    passages: tuple[Passage, ...] = ()
    empty: str = "nothing stored yet"
    """Why there are no passages."""

    def render(self) -> str:
        """Return the heading, the introduction and the passages."""
        blocks = [f"## {self.name} Memory", f"Memory type: {self.name.lower()}; {INTROS[self.name]}"]
        blocks.append(render_all(self.passages) or f"[empty: {self.empty}]")
        return "\n".join(blocks)


@dataclass(frozen=True)
class Window:
    """The question and its segments; immutable, so that what stands before the tool exchange stays byte-stable."""

    question: str
    segments: dict[str, Segment] = field(default_factory=dict)

    def render(self) -> str:
        """Return the text of the user message."""
        return "\n\n".join([shown_question(self.question), *(self.segment(name).render() for name in INTROS)])

    def segment(self, name: str) -> Segment:
        """Return a segment by its name; an empty one if it was not filled."""
        return self.segments.get(name, Segment(name))

    def with_passages(self, name: str, passages: tuple[Passage, ...], empty: str | None = None) -> "Window":
        """Return the same window with other passages in one segment."""
        segment = replace(self.segment(name), passages=passages, **({"empty": empty} if empty else {}))
        return replace(self, segments={**self.segments, name: segment})

    def counts(self, encoding: str = "o200k_base") -> dict[str, int]:
        """Count the tokens of the question and of every segment."""
        sizes = {"question": tokens.count(shown_question(self.question), encoding) + _FRAME}
        return sizes | {name: tokens.count(self.segment(name).render(), encoding) + 1 for name in INTROS}
