"""HTML to the text that a reader of the page would see, in sections under its headings."""

import re
from typing import Any

from ricordo.common.errors import DocumentError
from ricordo.common.text import clean
from ricordo.readers.pages import Document, Page, title_of
from ricordo.readers.text import decode

_UNSEEN = re.compile(
    "script|style|noscript|template|svg|canvas|iframe|object|head|nav|footer|button|select|dialog|annotation"
)
_BLOCK = re.compile(
    "address|article|aside|blockquote|body|caption|dd|details|div|dl|dt|fieldset|figcaption|figure|form|h[1-6]|header|hr|"
    "html|li|main|ol|p|pre|section|summary|table|tbody|thead|tr|ul"
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])", re.IGNORECASE)
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_DECLARED_WITHIN = 4096
"""Bytes at the start of a page in which its encoding is looked for."""
_BREAK = "\v"
"""Stands for `<br>`: a line feed in the source is but a space."""
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")


def read_html(data: bytes, name: str, declared: str | None = None) -> Document:
    """Read a web page: no scripts, no navigation, nothing that is hidden.

    Args:
        data: The page's bytes.
        name: What messages call it, and its title if it has none.
        declared: The encoding that the server named.

    Raises:
        DocumentError: No text is to be seen on it.
    """
    from lxml import etree, html  # noqa: PLC0415 - only where there is HTML to read

    said = declared or next((m[1].decode("ascii") for m in _META_CHARSET.finditer(data[:_DECLARED_WITHIN])), "")
    if said.lower().startswith("utf-16"):  # whoever could read as much of the page as ASCII does not hold UTF-16
        said = "utf-8"
    text = _XML_DECLARATION.sub("", decode(data, name, said))
    unseen = DocumentError(
        f"{name} shows no text: it is empty, or its text comes by scripts. Save the page's text and take that."
    )
    if not text.strip():
        raise unseen
    parser = html.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True, no_network=True)
    try:
        root = html.document_fromstring(text, parser=parser, ensure_head_body=True)
    except etree.ParserError:  # nothing but comments
        raise unseen from None
    mains, articles = root.xpath("//main"), root.xpath("//article")
    walk = _Walk()
    walk.read(mains[0] if mains else articles[0] if len(articles) == 1 else root)
    if not walk.pages:
        walk.read(root)
    if not walk.pages:
        raise unseen
    title = " ".join(clean(root.findtext(".//title") or "").split())
    first = next((page.section for page in walk.pages if page.section), "").split(" > ")[0]
    return Document(title or first or title_of(name), "html", tuple(walk.pages))


class _Walk:
    """Goes through the tree without recursion: a page may nest deeper than Python's stack."""

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self._lines: list[str] = []
        self._words: list[str] = []
        self._path: dict[int, str] = {}
        self._verbatim = 0

    def read(self, root: Any) -> None:
        from lxml import etree  # noqa: PLC0415 - as above

        walker = etree.iterwalk(root, events=("start", "end"))
        for event, element in walker:
            if event == "start":
                if _unseen(element):
                    walker.skip_subtree()
                else:
                    self._open(element)
            else:
                if not _unseen(element):
                    self._close(element)
                if element is not root:
                    self._words.append(element.tail or "")
        self._line()
        self._page()

    def _open(self, element: Any) -> None:
        tag = element.tag
        if _BLOCK.fullmatch(tag):
            self._line()
        if tag in _HEADINGS:
            self._page()
        self._verbatim += tag == "pre"
        self._words.append({"li": "- ", "br": _BREAK}.get(tag, "") + (element.text or ""))

    def _close(self, element: Any) -> None:
        tag = element.tag
        if tag in {"td", "th"}:
            self._words.append(" | " if element.getnext() is not None else "")
        if tag in _HEADINGS:
            level, title = _HEADINGS[tag], " ".join("".join(self._words).split())
            self._path = {known: text for known, text in self._path.items() if known < level} | {level: title}
        if _BLOCK.fullmatch(tag):
            self._line()
        self._verbatim -= tag == "pre"

    def _line(self) -> None:
        text = "".join(self._words)
        self._words.clear()
        if self._verbatim:
            text = text.replace(_BREAK, "\n").strip("\n")
        else:
            text = "\n".join(" ".join(line.split()) for line in text.split(_BREAK)).strip()
        if text.strip():
            self._lines.append(text)

    def _page(self) -> None:
        if self._lines:
            section = " > ".join(self._path[level] for level in sorted(self._path) if self._path[level])
            self.pages.append(Page(clean("\n".join(self._lines)), section=section))
        self._lines.clear()


def _unseen(element: Any) -> bool:
    if _UNSEEN.fullmatch(element.tag):
        return True
    given = element.attrib
    return (
        "hidden" in given
        or given.get("aria-hidden") == "true"
        or bool("style" in given and _HIDDEN_STYLE.search(given["style"]))
    )
