import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.common.errors import DocumentError
from ricordo.readers.text import decode, read_markdown, read_text

ITALIAN = "La città più alta è già là: perché no? Così è, e non c'è più nulla da fare né da dire. "


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"])
def test_every_unicode_encoding_is_read(encoding: str) -> None:
    assert decode((ITALIAN * 5).encode(encoding), "a.txt") == ITALIAN * 5


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (ITALIAN, "cp1252"),
        ("Die Straße führt über große Brücken und schöne Hügel. " * 3, "latin-1"),
        ("He said “it is done” — and left the harbour’s edge. " * 3, "cp1252"),
        ("Съешь ещё этих мягких французских булок, да выпей чаю. " * 3, "cp1251"),
        ("Zażółć gęślą jaźń, a potem idź do łóżka spać. " * 3, "cp1250"),
        ("これは日本語の文章です。灯台は千八百七十一年に点灯されました。" * 3, "shift_jis"),
    ],
)
def test_an_old_encoding_is_detected(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding), "a.txt") == text


def test_a_declared_encoding_is_believed_unless_it_does_not_fit() -> None:
    assert decode("ключ".encode("koi8-r"), "a", "koi8-r") == "ключ"
    assert decode("però".encode(), "a", "ascii") == "però"
    assert decode("però".encode(), "a", "no-such-code") == "però"


def test_nul_characters_are_taken_out_and_nothing_else() -> None:
    assert decode(b"a lighthouse \x00 on a hill, and a harbour below it", "a.txt") == (
        "a lighthouse  on a hill, and a harbour below it"
    )


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(DocumentError, match="not text"):
        decode(bytes(range(32)) * 40, "a.txt")


@pytest.mark.parametrize("data", [b"", b" \n\t ", b"\xef\xbb\xbf\n", b"\x00"])
def test_a_file_without_text_is_refused(data: bytes) -> None:
    for read in (read_text, read_markdown):
        with pytest.raises(DocumentError, match=r"empty|not text"):
            read(data, "a.md")


@settings(max_examples=60)
@given(st.text(min_size=1).filter(str.strip), st.sampled_from(["utf-8", "utf-16"]))
def test_what_is_decoded_can_be_stored(text: str, encoding: str) -> None:
    data = text.encode(encoding, errors="surrogatepass")
    try:
        read = decode(data, "a.txt")
    except DocumentError:
        return
    assert "\x00" not in read
    read.encode()


GUIDE = """\
Before any heading.

# Guide #

Welcome.

## Set-up

```python
# not a heading
    indented = True
```

Old style
---------
| a | b |
|---|---|

### Deep

## Use
Done.
"""


def test_markdown_is_split_at_its_headings() -> None:
    document = read_markdown(GUIDE.encode(), "guide.md")
    assert document.title == "Guide"
    assert [page.section for page in document.pages] == [
        "",
        "Guide",
        "Guide > Set-up",
        "Guide > Old style",
        "Guide > Old style > Deep",
        "Guide > Use",
    ]
    assert "    indented = True" in document.pages[2].text
    assert document.pages[3].text.startswith("Old style\n---------\n| a | b |")


def test_front_matter_names_the_document_and_stays_text() -> None:
    document = read_markdown(b"---\ntitle: 'The Tides'\ntags: [sea]\n---\n# Chapter\ntext\n", "t.md")
    assert document.title == "The Tides"
    assert "tags: [sea]" in document.pages[0].text
    assert document.pages[-1].section == "Chapter"


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from(["# A", "## B", "x y", "", "```", "~~~~", "===", "---", "    code", "- item"]), max_size=20
    )
)
def test_no_line_of_markdown_is_lost(lines: list[str]) -> None:
    text = "\n".join(lines)
    if not text.strip():
        return
    pages = read_markdown(text.encode(), "a.md").pages
    kept = [line for page in pages for line in page.text.split("\n") if line]
    assert kept == [line for line in lines if line]
