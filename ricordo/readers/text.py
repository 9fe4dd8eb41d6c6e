"""Plain text and Markdown: bytes to characters, and Markdown to sections under their headings."""

import codecs
import re
from collections.abc import Iterator

from ricordo.common.errors import DocumentError
from ricordo.common.text import clean
from ricordo.readers.pages import Document, Page, title_of

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark its own begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_MOST_CONTROLS, _MOST_CONTROLS_GUESSED = 0.25, 0.05
"""Share of control characters above which bytes are no text, in a sure encoding and in a guessed one."""
_WESTERN = frozenset("àáâãäåæçèéêëìíîïñòóôõöøœùúûüÿßÀÁÂÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÖØÙÚÛÜ«»“”‘’–—…€°§©®¿¡")  # noqa: RUF001 - as they are
_MOST_WESTERN = 0.25
"""Share of letters beyond ASCII in languages of western Europe, at most; in others it is near to one, or tiny."""
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_QUOTED_TITLE = re.compile(r"(['\"])((?:(?!\1).)+)\1")
_FRONT_TITLE = re.compile(r"(?m)^title:(.+)$")


def decode(data: bytes, name: str, declared: str | None = None) -> str:
    """Turn bytes into clean text: by the byte order mark, by what is declared, as UTF-8, else by what is detected.

    Raises:
        DocumentError: The bytes are no text.
    """
    for mark, marked in _MARKS.items():
        if data.startswith(mark):
            return _checked(data.decode(marked, errors="replace"), name, _MOST_CONTROLS)
    for encoding in filter(None, (declared, "utf-8")):
        try:
            text = data.decode(encoding)
        except (UnicodeError, LookupError):
            continue
        if len(_CONTROL.findall(text)) <= _MOST_CONTROLS * len(text):  # else UTF-16, or no text at all
            return clean(text)
    return _checked(_guess(data, name), name, _MOST_CONTROLS_GUESSED)


def _guess(data: bytes, name: str) -> str:
    text = data.decode("cp1252", errors="replace")
    foreign = [letter for letter in text if not letter.isascii()]
    if b"\0" not in data and _WESTERN.issuperset(foreign) and len(foreign) <= _MOST_WESTERN * len(text):
        return text  # the detector would take Italian for Estonian
    from charset_normalizer import from_bytes  # noqa: PLC0415 - only for the few files that are not UTF-8

    best = from_bytes(data).best()
    if best is None:
        raise _no_text(name)
    return str(best)


def _checked(text: str, name: str, most: float) -> str:
    if len(_CONTROL.findall(text)) > most * len(text):
        raise _no_text(name)
    return clean(text)


def _no_text(name: str) -> DocumentError:
    return DocumentError(f"{name} is not text: its bytes fit no encoding. Give a PDF, Markdown, text or HTML file.")


def read_text(data: bytes, name: str, declared: str | None = None) -> Document:
    """Read a plain text file.

    Raises:
        DocumentError: It holds no text.
    """
    text = _not_empty(decode(data, name, declared), name)
    return Document(title_of(name), "text", (Page(text),))


def read_markdown(data: bytes, name: str, declared: str | None = None) -> Document:
    """Read a Markdown file, one page for each section, its headings in `section`.

    Raises:
        DocumentError: It holds no text.
    """
    text = _not_empty(decode(data, name, declared), name)
    front = _FRONT_MATTER.match(text)
    titled = _FRONT_TITLE.search(front[1]) if front else None
    pages = tuple(_sections(text, len(front[0].splitlines()) if front else 0))
    first = next((page.section for page in pages if page.section), "")
    title = (titled and _unquoted(titled[1].strip())) or first.split(" > ")[0]
    return Document(title or title_of(name), "markdown", pages)


def _not_empty(text: str, name: str) -> str:
    if not text.strip():
        raise DocumentError(f"{name} is empty: there is no text in it.")
    return text


def _sections(text: str, skip: int) -> Iterator[Page]:
    """Split before each heading. All lines are kept as they are; the first `skip` hold no headings."""
    lines = text.splitlines(keepends=True)
    path: dict[int, str] = {}
    start, section = 0, ""
    for at, level, title in _headings(lines, skip):
        if body := "".join(lines[start:at]).strip("\n"):
            yield Page(body, section=section)
        path = {known: heading for known, heading in path.items() if known < level} | {level: title}
        start, section = at, " > ".join(path[known] for known in sorted(path) if path[known])
    if body := "".join(lines[start:]).strip("\n"):
        yield Page(body, section=section)


def _headings(lines: list[str], skip: int) -> Iterator[tuple[int, int, str]]:
    """Yield the line number, level and text of each heading that does not stand in a code block."""
    fence = ""
    for at, raw in enumerate(lines[skip:], skip):
        line = raw.rstrip("\r\n")
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
        elif mark:
            fence = mark[1]
        elif heading := _HEADING.match(line):
            yield at, len(heading[1]), _unclosed((heading[2] or "").strip())
        elif (under := _UNDERLINE.match(line)) and at > skip and _may_be_title(lines, at - 1, skip):
            yield at - 1, 1 if under[1][0] == "=" else 2, lines[at - 1].strip()


def _unquoted(title: str) -> str:
    """Take off the quotation marks around a title that has none within."""
    return match[2] if (match := _QUOTED_TITLE.fullmatch(title)) else title


def _unclosed(heading: str) -> str:
    """Take off the number signs that may close a heading: they stand apart from it."""
    bare = heading.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else heading


def _may_be_title(lines: list[str], at: int, skip: int) -> bool:
    """Tell whether an underlined line is a heading: one line of prose that stands alone."""
    alone = at == skip or not lines[at - 1].strip()
    return alone and bool(re.match(r" {0,3}[^\s|>#*+\-`~]", lines[at]))
