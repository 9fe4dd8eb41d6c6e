"""The catalogue of tools in the database: what was made of a tool for the search is made once."""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from graph.embeddings import Embedder
from graph.errors import EmbeddingError, ToolError
from stores.connection import Connection
from stores.database import EVERYONE, Database
from stores.text import clean
from stores.tool_index import IndexedTool, Scores
from stores.tool_text import ToolText

_log = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many are done, how many there are."""

_BATCH = 32
"""Tools that are embedded and stored together: an interrupted first start goes on where it stopped."""
_HEADLINE = 0.5
"""Weight of the sentence that says what a tool does, beside the whole tool, in its vector."""
_TELL_SECONDS = 5


class CataloguedTool(Protocol):
    """What the catalogue asks of a tool."""

    name: str
    group: str
    tags: tuple[str, ...]

    @property
    def content_hash(self) -> bytes:
        """Hash of all that the search text comes from."""

    def text(self) -> ToolText:
        """Return what a search looks at."""


@dataclass(frozen=True)
class Changes:
    """What a synchronisation found, as names."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: int = 0
    failed: tuple[str, ...] = ()
    """Tools of which no schema can be made."""


@dataclass(frozen=True)
class Catalogue:
    """The catalogue as it stands after a synchronisation."""

    tools: dict[str, IndexedTool]
    disabled: set[str]
    changes: Changes


def index(tool: CataloguedTool, phrases: Sequence[str] = (), vector: Scores | None = None) -> IndexedTool:
    """Make what a search needs to know of a tool.

    Raises:
        ToolError: No schema can be made of the tool.
    """
    words = tool.text().terms()
    return IndexedTool(tool.name, tool.group, list(words), np.fromiter(words.values(), np.float32), vector)


async def embed(embedder: Embedder, texts: Sequence[ToolText]) -> Scores:
    """Embed tools: each by its whole text and by its headline, added up.

    Returns:
        Vectors of shape (number of texts, dims).

    Raises:
        EmbeddingError: The model cannot be loaded or reached.
    """
    passages = [passage for text in texts for passage in text.passages()]
    vectors = await embedder.passages(passages)
    return np.asarray(vectors[0::2] + _HEADLINE * vectors[1::2], np.float32)
