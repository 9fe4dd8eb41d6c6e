"""What a reader makes of a document: pages of text, each with where in the document it stands."""

from dataclasses import dataclass
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
