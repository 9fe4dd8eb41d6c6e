"""PDF to text, page by page; each way in which a PDF can be unusable is told apart by name."""

import re
from typing import Any

from ricordo.common.errors import DocumentError
from ricordo.common.text import clean
from ricordo.readers.lines import Words, paragraph
from ricordo.readers.pages import Document, Page, title_of
from ricordo.readers.pdf_page import blocks_of

_HEADER_WITHIN = 1024
"""Bytes at the start of a file within which readers accept `%PDF-`."""

_NO_TITLE = re.compile(r"(?i)untitled|microsoft word|\.(docx?|tex|dvi|indd|qxd|pdf|odt|rtf|pptx?)\b")


def read_pdf(data: bytes, name: str, _encoding: str | None = None) -> Document:
    """Read the text of a PDF. MuPDF is not thread-safe, not even across documents: one thread of a process reads.

    Args:
        data: The file's bytes.
        name: What messages call the file.

    Raises:
        DocumentError: It is empty, no PDF, encrypted, damaged beyond reading, or scanned.
    """
    if not data:
        raise DocumentError(f"{name} is empty (0 bytes): get the file again.")
    if b"%PDF-" not in data[:_HEADER_WITHIN]:
        page = data[:_HEADER_WITHIN].lstrip().lower().startswith((b"<!doctype html", b"<html"))
        what = "it is a web page, perhaps a captcha or a log-in" if page else "its first bytes are not those of a PDF"
        raise DocumentError(f"{name} is not a PDF: {what}. Get the file again, or give it its proper name.")
    return _read(data, name)


def _library() -> Any:
    """Return PyMuPDF, told not to write to the terminal."""
    import pymupdf  # noqa: PLC0415 - takes most of a second to import

    library: Any = pymupdf  # it carries no types
    library.TOOLS.mupdf_display_errors(on=False)
    library.TOOLS.mupdf_display_warnings(on=False)
    return library


def _read(data: bytes, name: str) -> Document:
    pymupdf = _library()
    try:
        document = pymupdf.open(stream=data, filetype="pdf")
    except (RuntimeError, ValueError) as error:
        _look_for_memory(error)
        raise _damaged(name) from error
    with document:
        if document.needs_pass:
            raise DocumentError(
                f"{name} is encrypted: it opens only with a password. Save a copy without the password and take that."
            )
        read: list[list[str]] = []
        pictures = False
        for number in range(document.page_count):
            blocks, has_picture = _page(document, number)
            read.append(blocks)
            pictures = pictures or has_picture
        repaired, title = bool(document.is_repaired), str((document.metadata or {}).get("title") or "")
    words = Words(block for blocks in read for block in blocks)
    texts = [_joined(blocks, words) for blocks in read]
    pymupdf.TOOLS.store_shrink(100)  # per cent: MuPDF keeps up to 256 MB of fonts and pictures otherwise
    pages = tuple(Page(text, number) for number, text in enumerate(texts, 1) if text)
    if not pages:
        if repaired or not texts:
            raise _damaged(name)
        raise DocumentError(
            f"{name} holds no text: it is scanned{', its pages are pictures' if pictures else ''}. "
            "Run text recognition (OCR) over it, for instance with ocrmypdf, and take the result."
        )
    return Document(_title(title, name), "pdf", pages, len(texts), tuple(_notes(texts, repaired=repaired)))


def _page(document: Any, number: int) -> tuple[list[str], bool]:
    """Return a page's blocks of lines, none if it cannot be read, and whether it holds a picture."""
    pymupdf = _library()
    flags = pymupdf.TEXTFLAGS_TEXT & ~pymupdf.TEXT_PRESERVE_LIGATURES  # so that a search for "efficient" finds it
    try:
        page = document.load_page(number)
        picture = bool(page.get_images())
        return blocks_of(page, flags), picture
    except (RuntimeError, ValueError) as error:  # this page is damaged; the others may not be
        _look_for_memory(error)
        return [], False


def _look_for_memory(error: Exception) -> None:
    """Tell a page that is damaged from one that there is no memory for."""
    if "alloc (" in str(error):  # MuPDF's words: `calloc (4104 x 1 bytes) failed`
        raise MemoryError from error


def _joined(blocks: list[str], words: Words) -> str:
    """Return a page's text, empty where none of it can be read."""
    text = clean("\n\n".join(paragraph(block, words) for block in blocks))
    return text if text.replace("\ufffd", "").strip() else ""


def _title(title: str, name: str) -> str:
    """Return the title that the file gives itself, unless it is a word processor's guess; else the file's name."""
    title = " ".join(clean(title).split())
    return title if title and not _NO_TITLE.search(title) else title_of(name)


def _notes(texts: list[str], *, repaired: bool) -> list[str]:
    notes = []
    if repaired:
        notes.append("the file is damaged and was repaired: text may be missing")
    if empty := [str(number) for number, text in enumerate(texts, 1) if not text]:
        shown = ", ".join(empty[:5]) + (", …" if len(empty) > len(empty[:5]) else "")
        notes.append(f"{len(empty)} of {len(texts)} pages hold no text (page {shown}): pictures, or empty")
    return notes


def _damaged(name: str) -> DocumentError:
    return DocumentError(
        f"{name} is corrupt: it is cut short or damaged, and no text can be read from it. Get the file again."
    )
