"""Pages to chunks: pieces that are embedded, found and shown as one."""

from collections.abc import Sequence
from dataclasses import dataclass

from ricordo.common.errors import InputError
from ricordo.readers.pages import Page

CHUNK_SIZE, CHUNK_OVERLAP = 1500, 200
"""In characters."""
_LEAST, _MOST = 100, 20_000

_SEPARATORS = ["\n\n", "\n", "。", "！", "？", ". ", "! ", "? ", "; ", " ", ""]
"""Where a text may be cut, the best place first: paragraph, line, sentence, word."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a page."""

    text: str
    page: int | None
    section: str


def check_sizes(size: int, overlap: int) -> None:
    """Refuse sizes that make no sense.

    Raises:
        InputError: The size or the overlap is out of bounds.
    """
    if not _LEAST <= size <= _MOST:
        raise InputError(
            f"chunk_size is {size}; it must be from {_LEAST} to {_MOST} characters ({CHUNK_SIZE} fits most)."
        )
    if not 0 <= overlap <= size // 2:
        raise InputError(f"chunk_overlap is {overlap}; it must be from 0 to half of chunk_size, here {size // 2}.")


def split(pages: Sequence[Page], size: int = CHUNK_SIZE, overlap: int = CHUNK_OVERLAP) -> list[Chunk]:
    """Cut pages into chunks; none goes over the border of a page, so that each can be cited. Blocking.

    Args:
        pages: The document, in order.
        size: Longest chunk, in characters.
        overlap: Characters that a chunk may repeat of the one before it.

    Raises:
        InputError: The size or the overlap is out of bounds.
    """
    check_sizes(size, overlap)
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # noqa: PLC0415 - slow to import

    splitter = RecursiveCharacterTextSplitter(
        _SEPARATORS, chunk_size=size, chunk_overlap=overlap, keep_separator="end", strip_whitespace=True
    )
    return [Chunk(text, page.number, page.section) for page in pages for text in splitter.split_text(page.text) if text]
