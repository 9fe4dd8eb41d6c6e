import pytest

from ricordo.common.errors import DocumentError
from ricordo.readers.kinds import format_of, read_document


@pytest.mark.parametrize(
    ("data", "name", "content_type", "expected"),
    [
        (b"%PDF-1.7", "paper", "", "pdf"),
        (b"%PDF-1.7", "paper", "application/octet-stream", "pdf"),
        (b"<html>", "paper.pdf", "text/html", "pdf"),
        (b"<!DOCTYPE HTML>", "page", "", "html"),
        (b"hello", "page.php", "text/html", "html"),
        (b"# a", "README", "text/markdown", "markdown"),
        (b"# a", "README.MD", "text/plain", "markdown"),
        (b"hello", "notes", "application/pdf", "text"),
        (b"<html> is how a page begins", "notes.txt", "", "text"),
    ],
)
def test_the_format_is_told_by_name_server_and_first_bytes(
    data: bytes, name: str, content_type: str, expected: str
) -> None:
    assert format_of(data, name, content_type) == expected


async def test_an_empty_file_of_any_format_is_called_empty() -> None:
    for name in ("a.pdf", "a.md", "a.txt", "a.html", "a"):
        with pytest.raises(DocumentError, match="0 bytes"):
            await read_document(b"", name)
