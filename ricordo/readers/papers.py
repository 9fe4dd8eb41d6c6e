"""Papers of arXiv: their identifiers, and what a feed tells of them."""

import re
from dataclasses import dataclass
from typing import Any

from ricordo.common.errors import DocumentError, InputError
from ricordo.common.text import clean

ID = (
    r"(?:(?P<new>\d{4}\.\d{4,5})|(?P<archive>[a-z]+(?:-[a-z]+)?)(?:\.[a-z]{2})?(?P<number>/\d{7}))"
    r"(?:v(?P<version>[1-9]\d{0,2}))?"
)
_GIVEN = re.compile(
    r"(?:https?://\S+?/(?:abs|pdf|html|format|e-print|src)/|(?:https?://(?:dx\.)?doi\.org/)?10\.48550/arxiv\.|arxiv:\s*)?"
    + ID
    + r"(?:\.pdf)?/?(?:[?#]\S*)?(?:\s*\[[\w.-]+\])?",
    re.IGNORECASE,
)
_WITHDRAWN = re.compile(r"\bwithdrawn\b|\bretracted\b", re.IGNORECASE)
_TAKEN_BACK = re.compile(
    r"\b(?:this|the|our|present) (?:\w+ )?(?:paper|article|preprint|manuscript|submission|work|version|document|note)"
    r"\b.{0,40}\b(?:withdrawn|retracted)\b|^\W*(?:withdrawn|retracted)\b",
    re.IGNORECASE,
)
"""How an abstract says so of its own paper."""
_SAID = 300
"""Characters in which a paper says that it was withdrawn."""
_ARXIV = "{http://arxiv.org/schemas/atom}"
_ATOM = "{http://www.w3.org/2005/Atom}"


@dataclass(frozen=True, slots=True)
class ArxivId:
    """A paper's identifier, such as `2310.08560` in version 2, or the old form `cs/0112017`."""

    base: str
    version: int | None = None

    def __str__(self) -> str:
        return f"{self.base}v{self.version}" if self.version else self.base


@dataclass(frozen=True, slots=True)
class Paper:
    """What arXiv tells of a paper."""

    id: str
    entry_id: str
    title: str
    authors: tuple[str, ...]
    published: str
    """Date, `YYYY-MM-DD`."""
    abstract: str
    withdrawn: str = ""
    """What arXiv says of it, where the paper was withdrawn."""


def parse_id(text: str) -> ArxivId:
    """Read an identifier: plain, with `arXiv:` before it, or as the address of the abstract or the PDF.

    Raises:
        InputError: It is none.
    """
    found = _GIVEN.fullmatch(text.strip())
    if found is None:
        raise InputError(
            f"{clean(text)[:100]!r} is not an arXiv id. Give it as 2310.08560, 2310.08560v2 or cs/0112017; "
            "arxiv_search_candidates finds the ids of papers."
        )
    return id_of(found)


def id_of(found: re.Match[str]) -> ArxivId:
    """Return the identifier that a match of `ID` holds."""
    base = found["new"] or (found["archive"] + found["number"]).lower()
    return ArxivId(base, int(found["version"]) if found["version"] else None)


def read_feed(data: bytes, name: str, _encoding: str | None = None) -> list[Paper]:
    """Read the papers of an Atom feed.

    Args:
        data: The feed's bytes.
        name: What messages call who sent it.

    Raises:
        DocumentError: It is none.
    """
    from lxml import etree  # noqa: PLC0415 - only where there is XML to read

    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True, recover=True)
    try:
        root = etree.fromstring(data, parser=parser)
    except etree.XMLSyntaxError:
        root = None
    if root is None or root.tag != f"{_ATOM}feed":
        raise DocumentError(f"{name} answers with something else than a list of papers. Try again later.")
    papers = (_paper(entry) for entry in root.iterfind(f"{_ATOM}entry"))
    return [paper for paper in papers if paper is not None]


def _paper(entry: Any) -> Paper | None:
    """Read one entry; None where it is arXiv's way to report an error, or names no paper."""

    def text(tag: str) -> str:
        found = entry.find(_ATOM + tag)
        return "" if found is None else clean(" ".join("".join(found.itertext()).split()))

    entry_id = text("id")
    found = _GIVEN.fullmatch(entry_id)
    if found is None:
        return None
    abstract = text("summary")
    comment = entry.find(f"{_ARXIV}comment")
    remark = "" if comment is None else clean(" ".join("".join(comment.itertext()).split()))
    withdrawn = remark if _WITHDRAWN.search(remark) else abstract if _TAKEN_BACK.search(abstract[:_SAID]) else ""
    authors = (" ".join((name.text or "").split()) for name in entry.iterfind(f"{_ATOM}author/{_ATOM}name"))
    return Paper(
        id=str(parse_id(entry_id)),
        entry_id=entry_id,
        title=text("title"),
        authors=tuple(clean(author) for author in authors if author),
        published=text("published")[:10],
        abstract=abstract,
        withdrawn=withdrawn[:_SAID],
    )
