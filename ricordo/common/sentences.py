"""Sentences of any language, and which of them say most: the ground of everything that is quoted and never invented."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

SENTENCE_CHARACTERS = 320
"""Longest sentence that is shown whole."""

_LONGEST_WORD = 80
"""Characters; what is longer is base64, a key or a minified file, and its head tells enough."""
_END = re.compile(r"(?<![.!?…؟])[.!?…؟]++[\"'”’»)\]]*+(?=\s|$)|[。！？｡।]+[\"”’」』）]*")  # noqa: RUF001 - full stops of other scripts
_BLOCK = re.compile(r"(?<!\s)(?=\s)[^\S\n]*+\n[^\S\n]*+\n\s*+")
_ITEM = re.compile(r"\A(?:[-*•·–>|#]|\[?\d{1,3}[.)\]]|[a-z]\))\s")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Za-z]|al|cf|ca|dr|ed|eds|e\.g|eq|etc|fig|figs|i\.e|inc|jr|mr|mrs|ms|no|nos|p|pp|prof|ref|sec|sr|st|vol|vs|"
    r"art|dott|ing|pag|sig|es|ecc|bzw|z\.b|d\.h|usw|nr)\.$",
    re.IGNORECASE,
)
_WRAPPED = 45
"""Characters; a shorter line ends by its author's will, a longer one may be wrapped by a printer."""
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_WORD},}}")
_SPACE = re.compile(r"\s+")
_CELL_ENDS = re.compile(r"[,;](?=\S)")
_LEAST_COMMAS = 2  # in one line of a table; one may stand in any sentence


def sentences(text: str) -> list[str]:
    """Split a text into sentences, word for word but for white space.

    Lines that a page's layout has wrapped are joined; paragraphs and items of lists stay apart, without their marks.

    >>> sentences("Dr. Ito came. 他来了。她走了。")
    ['Dr. Ito came.', '他来了。', '她走了。']
    """
    return [sentence for block in _blocks(text) for sentence in _split(block)]


def rows(text: str) -> list[str]:
    r"""Return the rows of tables, each behind the head of its table: lines of equally many cells, one below the other.

    >>> rows("| City | Limit |\n|---|---|\n| London | 240 |")
    ['| City | Limit | … | London | 240 |']
    """
    found: list[str] = []
    head, cells = "", (0, 0)
    for line in map(str.strip, text.splitlines()):
        count = (len(_CELL_ENDS.findall(line)), line.count("|") + line.count("\t"))
        if not (count[1] or count[0] >= _LEAST_COMMAS) or count != cells:
            head, cells = line, count
        elif any(map(str.isalnum, line)):
            found.append(f"{head} … {line}")
    return found


def _blocks(text: str) -> Iterator[str]:
    for paragraph in _BLOCK.split(text):
        joined, last = "", ""
        for line in filter(None, (raw.strip() for raw in paragraph.splitlines())):
            wrapped = line[0].islower() or (len(last) >= _WRAPPED and last[-1] not in ".!?:;。！？")
            if joined and (_ITEM.match(line) or not wrapped):
                yield joined
                joined = line
            else:
                joined = f"{joined} {line}" if joined else line
            last = line
        if joined:
            yield joined


def _split(block: str) -> Iterator[str]:
    block = _SPACE.sub(" ", block)
    start = 0
    for match in _END.finditer(block):
        end = match.end()
        following = block[end : end + 2].lstrip()[:1]
        if _ITEM.fullmatch(block[start:end].lstrip() + " "):
            continue
        if match[0] == "." and (following.islower() or _ABBREVIATION.search(block[max(start, end - 8) : end])):
            continue
        yield from _told(block[start:end])
        start = end
    yield from _told(block[start:])


def _told(text: str) -> Iterator[str]:
    if text := _ITEM.sub("", text.strip(), count=1).strip():
        yield text


def shortened(text: str, limit: int = SENTENCE_CHARACTERS) -> str:
    """Cut a sentence to a length and at an endless word, at a word's end; the cut is marked by an ellipsis."""
    end = next((m.start() + _LONGEST_WORD // 2 for m in _LONG_WORD.finditer(text) if _is_blob(m[0])), len(text))
    if end == len(text) and end <= limit:
        return text
    head = text[: min(end, limit - 2)]
    at = head.rfind(" ") if end > limit else -1
    return f"{head[:at] if at > limit // 2 else head}".rstrip() + " …"


def _is_blob(word: str) -> bool:
    return word.isascii() and not word.startswith(("http://", "https://"))


def centrality(bags: Sequence[Counter[str]]) -> list[float]:
    """Tell how much each sentence says of what all of them are about: 0 to 1, by the terms they share."""
    shared = Counter(term for bag in bags for term in bag)
    raw = [sum(math.log(shared[term]) for term in bag) / (len(bag) + 6) ** 0.8 for bag in bags]
    top = max(raw, default=0.0) or 1.0
    return [value / top for value in raw]


def relevance(query: Counter[str], bags: Sequence[Counter[str]]) -> list[float]:
    """Tell how much of the question's terms each sentence holds: 0 to 1, rare terms count more."""
    found = Counter(term for bag in bags for term in bag if term in query)
    weight = {term: math.log(1 + (len(bags) + 1) / (found[term] + 0.5)) for term in query}
    total = sum(weight.values()) or 1.0
    return [sum(weight[term] for term in query if term in bag) / total for bag in bags]
