import json
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.common.errors import DocumentError
from ricordo.readers.caged import answer_to
from ricordo.readers.html import read_html

PAGE = """\
<!DOCTYPE html><html><head><title>Tides &amp; lamps</title><style>p { color: red }</style>
<script>alert("no")</script></head><body>
<nav><a href="/">Home</a></nav>
<main><h1>Lighthouses</h1><p>The lamp of
Skerry<br>was <b>lit</b> in 1871.<!-- aside --> Still is.</p>
<h2>Keepers</h2><ul><li>Ada</li><li>Bo</li></ul>
<table><tr><th>Year</th><th>Name</th></tr><tr><td>1871</td><td>Ada</td></tr></table>
<pre>  lamp:
    on</pre>
<p hidden>secret one</p><p style="display: none">secret two</p><div aria-hidden="true">secret three</div> tail
<noscript>turn it on</noscript><button>Buy</button>
</main><footer>All rights</footer></body></html>"""


def test_what_a_reader_sees_is_read_in_sections() -> None:
    document = read_html(PAGE.encode(), "https://example.org/tides")
    assert document.title == "Tides & lamps"
    assert [(page.section, page.text) for page in document.pages] == [
        ("Lighthouses", "Lighthouses\nThe lamp of Skerry\nwas lit in 1871. Still is."),
        ("Lighthouses > Keepers", "Keepers\n- Ada\n- Bo\nYear | Name\n1871 | Ada\n  lamp:\n    on\ntail"),
    ]


@pytest.mark.parametrize(
    ("data", "declared"),
    [
        ("<p>perché</p>".encode(), None),
        ('<meta charset="iso-8859-1"><p>perché</p>'.encode("latin-1"), None),
        ("<p>perché</p>".encode("latin-1"), "iso-8859-1"),
        ('<?xml version="1.0" encoding="utf-8"?><html><body><p>perché</p></body></html>'.encode(), None),
        ('<meta charset="utf-16"><p>perché</p>'.encode(), None),
    ],
)
def test_the_encoding_is_found_where_it_is_told(data: bytes, declared: str | None) -> None:
    assert read_html(data, "a.html", declared).pages[0].text == "perché"


@pytest.mark.parametrize(
    "data", [b"", b"<html></html>", b"<body><script>draw()</script></body>", b"<p>\x00</p>", b"<!-- a -->"]
)
def test_a_page_that_shows_nothing_is_refused(data: bytes) -> None:
    with pytest.raises(DocumentError, match=r"no text|not text"):
        read_html(data, "a.html")


def test_a_page_nested_deeper_than_pythons_stack_is_read() -> None:
    assert "core" in read_html(b"<div>" * 1500 + b"core" + b"</div>" * 1500, "a.html").pages[0].text


def test_an_empty_main_does_not_hide_the_rest() -> None:
    assert read_html(b"<body><main></main><p>outside</p></body>", "a.html").pages[0].text == "outside"


@settings(max_examples=60)
@given(st.binary(max_size=300))
def test_no_bytes_make_it_fail_otherwise(data: bytes) -> None:
    try:
        document = read_html(b"<p>" + data, "a.html")
    except DocumentError:
        return
    assert all(page.text.strip() and "\x00" not in page.text for page in document.pages)


def test_whatever_a_library_raises_is_that_files_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> None:
        raise RuntimeError("out of angle brackets")

    monkeypatch.setattr("ricordo.readers.html.read_html", breaks)
    asked = {"work": "html", "name": "a.html", "encoding": None, "size": 4, "memory_mb": 2**20}
    said = json.loads(answer_to(asked, BytesIO(b"<p>a")))
    assert said == {"error": "a.html cannot be read as html: RuntimeError: out of angle brackets."}
