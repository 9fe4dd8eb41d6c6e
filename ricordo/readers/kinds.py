"""Which reader takes a document: told by its name, by what the server says, and by its first bytes."""

import asyncio
from pathlib import PurePath
from threading import Event
from typing import Literal

from ricordo.common.errors import DocumentError, RicordoError
from ricordo.readers.html import read_html
from ricordo.readers.pages import Document
from ricordo.readers.pdf import read_pdf
from ricordo.readers.text import read_markdown, read_text

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
    data: bytes, name: str, *, path: str | None = None, content_type: str = "", encoding: str | None = None
) -> Document:
    """Read a document of any of the formats, in a thread.

    Args:
        data: Its bytes.
        name: What messages call it.
        path: What its end tells the format by, where that is not the name.
        content_type: What the server said it is.
        encoding: The encoding that the server named.

    Raises:
        DocumentError: It holds no text, or none that can be read; the message tells why.
    """
    if not data:
        raise DocumentError(f"{name} is empty (0 bytes): get the file again.")
    kind = format_of(data, name if path is None else path, content_type)
    try:
        return await _read(kind, data, name, encoding)
    except RicordoError:
        raise
    except Exception as error:  # the libraries raise of many kinds, and one file must not stop the others
        raise DocumentError(
            f"{name} cannot be read as {kind}: {type(error).__name__}: {str(error).rstrip('.')}."
        ) from error


async def _read(kind: str, data: bytes, name: str, encoding: str | None) -> Document:
    if kind == "pdf":
        stop = Event()
        try:
            return await asyncio.to_thread(read_pdf, data, name, stop)
        finally:
            stop.set()  # a thread outlives the task that waits for it
    read = {"markdown": read_markdown, "text": read_text, "html": read_html}[kind]
    return await asyncio.to_thread(read, data, name, encoding)
