"""Lines of a page joined to paragraphs: a page breaks lines where it ends, not where the sentence or the word does."""

import re
from collections.abc import Iterable
from itertools import pairwise

_HYPHEN = re.compile(r"[-\u2010]")
_BROKEN = re.compile(rf"[^\W_]{_HYPHEN.pattern}$")
_SOFT = "\u00ad"
_CJK = "\u2e80-\u2fff\u3001-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff"
"""Chinese and Japanese, with their punctuation; Korean has blanks between words."""
_BETWEEN = re.compile(rf"(?<=[{_CJK}])[ \u00a0](?=[{_CJK}])")
_ENDS_CJK, _BEGINS_CJK = re.compile(rf"[{_CJK}]\Z"), re.compile(rf"[{_CJK}]")
_TAIL = re.compile(r"[^\W_][\w\u2010-]*$")
_LONGEST = 100
"""Characters of a word at the end or the beginning of a line."""
_SHORT_LINE = 0.6
"""A line below this share of its block's widest line ends there on purpose: a heading, a list item."""
_WORD = re.compile(rf"[^\W_]+(?:{_HYPHEN.pattern}[^\W_]+)*")
_SUSPENDED = re.compile(r"(?:and|or|to|und|oder|bis|ed?|o|y|et|ou|en|of)\Z")
"""After a hyphen and a blank: the first of two compounds that share their end, as in `pre- and post-war`."""
_FIRST = re.compile(
    r"(?:self|well|ill|ex|all|long|short|high|low|large|small|real|open|closed|single|double|one|two|three|four|five|six|"
    r"seven|eight|nine|ten|half|full|first|second|third|end|state|semi|quasi|non|cross|human|user|so|up|to|day)\Z"
)
_SECOND = re.compile(
    r"(?:based|aware|level|term|scale|time|art|trained|tuned|known|defined|driven|specific|free|like|to|of|end|world|shot|"
    r"step|oriented|dependent|independent|sized|quality|resolution|dimensional|efficient|supervised|source|century|"
    r"years?|old|hand|made|related|wide|range|life|size|up|off|in|the|and)\Z"
)
"""Words that compounds begin or end with, where the document itself does not tell."""


class Words:
    """The words of a document, as they are written where no line breaks them."""

    def __init__(self, blocks: Iterable[str]) -> None:
        self._known: set[str] = set()
        for block in blocks:
            for line in block.splitlines():
                self._known.update(_HYPHEN.sub("-", found).casefold() for found in _WORD.findall(line))

    def keeps_hyphen(self, before: str, after: str) -> bool:
        """Tell of a word broken behind a hyphen whether the hyphen is its own: `well-known`, not `mecha-nism`."""
        first, second = before.casefold(), after.casefold()
        if not after[0].islower() or before[-1].isdigit() or _HYPHEN.search(before) or _HYPHEN.search(after):
            return True
        if f"{first}{second}" in self._known:
            return False
        return f"{first}-{second}" in self._known or bool(_FIRST.match(first) or _SECOND.match(second))


def paragraph(block: str, words: Words) -> str:
    """Join the lines of a block.

    Args:
        block: Its lines.
        words: Those of the document, by which a hyphen at the end of a line is known.
    """
    lines = [line.strip() for line in block.splitlines() if line.strip()]
    if not lines:
        return ""
    widest = max(map(len, lines))
    parts = [lines[0]]
    for before, line in pairwise(lines):
        parts[-1], blank = _end(before, line, words, apart=len(before) < _SHORT_LINE * widest)
        parts += [blank, line]
    return _BETWEEN.sub("", "".join(parts).replace(_SOFT, ""))


def _end(line: str, following: str, words: Words, *, apart: bool) -> tuple[str, str]:
    """Return a line as it ends where the next one is put behind it, and what comes between the two.

    Args:
        line: The line.
        following: The next one.
        words: Those of the document.
        apart: It ended on purpose.
    """
    if line.endswith(_SOFT):
        return line, ""
    last, first = line.rsplit(maxsplit=1)[-1][-_LONGEST:], following[:_LONGEST].split(maxsplit=1)[0]
    before, after = _TAIL.search(last[:-1]), _WORD.match(first)
    if _BROKEN.search(last) and before and after:
        if _SUSPENDED.match(first.casefold()):
            return line, " "
        return line if words.keeps_hyphen(before[0], after[0]) else line[:-1], ""
    if apart:
        return line, "\n"
    return line, "" if _ENDS_CJK.search(last) and _BEGINS_CJK.match(first) else " "
