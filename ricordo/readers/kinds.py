"""Which reader takes a document: told by its name, by what the server says, and by its first bytes."""

from pathlib import PurePath
from typing import Literal

from ricordo.common.errors import DocumentError
from ricordo.readers.cage import Limits, in_cage
from ricordo.readers.pages import Document, Page

Format = Literal["pdf", "markdown", "text", "html"]

FORMATS: dict[str, Format] = {
    ".pdf": "pdf",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".rst": "text",
    ".html": "html",
    ".htm": "html",
}
"""The format of a file, by the end of its name; a directory's other files are passed over."""

_CONTENT_TYPES: dict[str, Format] = {
    "application/pdf": "pdf",
    "application/x-pdf": "pdf",
    "application/xhtml+xml": "html",
    "text/html": "html",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
}
_SNIFFED = 1024
"""Bytes at the start of a document that may tell its format."""


def format_of(data: bytes, name: str, content_type: str = "") -> Format:
    """Tell a document's format.

    Args:
        data: Its bytes.
        name: Its file name, or the path of its address.
        content_type: What the server said it is; empty if there was no server or it said nothing.
    """
    by_name = FORMATS.get(PurePath(name).suffix.lower())
    if by_name == "pdf":
        return "pdf"  # also where it turns out to be a captcha page: its reader says so
    start = data[:_SNIFFED].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith(b"%pdf-"):
        return "pdf"
    said = _CONTENT_TYPES.get(content_type)
    if said is not None and said != "pdf":
        return said
    if by_name is None and start.startswith((b"<!doctype html", b"<html")):
        return "html"
    return by_name or "text"


async def read_document(
    data: bytes,
    name: str,
    *,
    path: str | None = None,
    content_type: str = "",
    encoding: str | None = None,
    limits: Limits | None = None,
) -> Document:
    """Read a document of any of the formats, in the cage.

    Args:
        data: Its bytes.
        name: What messages call it.
        path: What its end tells the format by, where that is not the name.
        content_type: What the server said it is.
        encoding: The encoding that the server named.
        limits: What the reading may take.

    Raises:
        DocumentError: It holds no text, or none that can be read within the limits; the message tells why.
    """
    if not data:
        raise DocumentError(f"{name} is empty (0 bytes): get the file again.")
    kind = format_of(data, name if path is None else path, content_type)
    read = await in_cage(kind, data, name, encoding, limits)
    pages = tuple(Page(**page) for page in read.pop("pages"))
    return Document(**read | {"pages": pages, "notes": tuple(read["notes"])})
