"""What a tool is found by: its fields as searchable text, enriched without a model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stores.tool_schema import words_of

_DEPTH = 3
_INDEXED = 2000
"""Characters of one field that are indexed: what a tool is for stands at its beginning."""


@dataclass(frozen=True)
class ToolText:
    """The parts of a tool that a search looks at."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """JSON schema of the arguments."""
    group: str = ""
    tags: Sequence[str] = ()
    examples: Sequence[str] = ()
    """Phrases that a user would say."""

    def passage(self) -> str:
        """Return the tool as one text, for a dense embedding."""
        parts = [words_of(self.name), self.description[:_INDEXED]]
        parts += [f"{words_of(name)}: {text}" if text else words_of(name) for name, text in parameters(self.parameters)]
        parts += [*self.tags, *self.examples]
        return "\n".join(parts)[:_INDEXED]


def parameters(schema: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the name and the description of each parameter, nested ones (to three levels) after their parent."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or depth > _DEPTH:
        return
    for name, part in properties.items():
        if isinstance(part, Mapping):
            options = [str(option) for option in part.get("enum") or ()][:20]
            text = str(part.get("description") or "")[:_INDEXED]
            yield str(name), " ".join([text, *options]).strip()
            inner = part.get("items") if isinstance(part.get("items"), Mapping) else part
            yield from parameters(inner or {}, depth + 1)
