"""What a reader makes of a document: pages of text, each with where in the document it stands."""

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

Kind = Literal["pdf", "markdown", "text", "html", "web"]


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a document that is cited as one: a PDF's page, or a section under a heading."""

    text: str
    number: int | None = None
    """Page number, from 1; None where the document has no pages."""
    section: str = ""
    """The headings above the text, such as `Guide > Set-up`."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was read."""

    title: str
    kind: Kind
    pages: tuple[Page, ...]
    page_count: int | None = None
    """Pages of a PDF, those without text included."""
    notes: tuple[str, ...] = ()
    """What somebody who relies on the text should know, such as pages that hold no text."""


def title_of(name: str) -> str:
    """Make a title of a file's name or an address, for a document that gives itself none.

    >>> title_of("guide/set-up.md"), title_of("https://example.org/a/tides.pdf?v=2"), title_of("arxiv:2310.08560")
    ('set-up', 'tides', 'arxiv:2310.08560')
    """
    path = PurePath(re.sub(r"[?#].*", "", name) if "://" in name else name)
    ending = path.suffix[1:2]
    return (path.stem if ending.isalpha() else path.name) or name
