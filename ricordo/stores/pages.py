"""Long texts in pages that fit a token budget, word for word and without a gap."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ricordo.common.errors import NotFoundError
from ricordo.stores.passages import Passage, render_all

Count = Callable[[str], int]

_HEAD_TOKENS = 40  # of a block's head line, added to its text
_TITLE_TOKENS = 60  # of a page's first line, with the id
_NOTE_TOKENS = 6  # around the note between a head and a tail
_GUESSES = 5  # at where a budget ends
_FULL = 0.9  # of its budget: a slice that fills as much is not made longer
_CHARACTERS = 4  # of a token, for the first guess


def fit(text: str, budget: int, count: Count) -> int:
    """Return how many leading characters of a text stay within a budget of tokens; at least one.

    A cut falls behind a line or a word where one ends in the last fifth of the slice.
    """
    high = _span(len(text), budget, lambda n: count(text[:n]))
    if high < len(text):
        for end in ("\n", " "):
            at = text.rfind(end, high * 4 // 5, high)
            if at > 0:
                return at + 1
    return high


def _span(length: int, budget: int, cost_of: Callable[[int], int]) -> int:
    """Return about the largest number of characters whose cost stays within the budget; at least one.

    Args:
        cost_of: Tokens of so many characters.
    """
    best, size = 1, min(length, budget * _CHARACTERS)
    for _ in range(_GUESSES):
        if size <= best:
            return best
        cost = cost_of(size)
        if cost <= budget:
            best = size
            if size == length or cost >= budget * _FULL:
                return best
            size = min(length, size * budget // max(1, cost))
        else:
            size = max(best, min(size - 1, size * budget // cost))
    while size > best and cost_of(size) > budget:
        size = max(best, size * 3 // 4)
    return size


def slices(text: str, budget: int, count: Count) -> Iterator[str]:
    """Cut a text into slices that stay within the budget; joined they are the text."""
    start = 0
    while start < len(text):
        # A token is rarely longer than eight characters: only so much is looked at.
        rest = text[start : start + max(1, budget) * 8]
        end = len(rest) if start + len(rest) == len(text) and count(rest) <= budget else fit(rest, budget, count)
        end += rest[end - 1 : end + 1] == "\r\n"  # one line end, not two
        yield rest[:end]
        start += end


@dataclass(frozen=True)
class Part:
    """Passages that belong together, such as those under one summary."""

    passages: Sequence[Passage]
    title: str = ""
    """What stands for it in the list of contents."""


def paginate(parts: Sequence[Part], budget: int, count: Count) -> list[str]:
    """Lay passages out in pages of rendered blocks; a passage longer than a page goes over several.

    The first page begins with a list of the parts that have a title, each with the page on which it begins, unless that
    would take most of the page.
    """
    titles = [_entry(part, 100) for part in parts if part.title]
    used = count("\n".join(titles)) + len(titles)
    listed = bool(titles) and used <= budget // 2
    used = used if listed else 0
    pages: list[list[Passage]] = [[]]
    contents: list[str] = []
    for part in parts:
        begins = len(contents)
        for passage in part.passages:
            for piece in _pieces(passage, max(1, budget - _HEAD_TOKENS), count):
                size = count(piece.render(1)) + 2
                if used and used + size > budget:
                    pages.append([])
                    used = 0
                pages[-1].append(piece)
                used += size
                if part.title and len(contents) == begins:
                    contents.append(_entry(part, len(pages)))
    texts = [render_all(page) for page in pages]
    return ["\n".join([*contents, texts[0]]), *texts[1:]] if listed else texts


def one_of(parts: Sequence[Part], id_: str, page: int, budget: int, count: Count) -> str:
    """Lay out one page of what is under a summary (or of a message), with how to ask for the next.

    Raises:
        NotFoundError: There is no such page.
    """
    laid_out = paginate(parts, max(1, budget - _TITLE_TOKENS), count)
    if not 1 <= page <= len(laid_out):
        raise NotFoundError(f"Summary {id_} has pages 1 to {len(laid_out)}, not {page}.")
    more = f"; the next: expand_summary(summary_id='{id_}', page={page + 1})" if page < len(laid_out) else ""
    return f"Original messages, page {page} of {len(laid_out)}{more}\n{laid_out[page - 1]}"


def _entry(part: Part, page: int) -> str:
    return f"- from page {page}: {part.title}"


def _pieces(passage: Passage, room: int, count: Count) -> Iterator[Passage]:
    """Cut a passage into such as fit a page; what fencing its lines costs is counted in."""
    fenced = fenced_count(count)
    for i, piece in enumerate(slices(passage.text, room, fenced) if passage.text else [""]):
        yield replace(passage, head=f"{passage.head} (continued)" if i else passage.head, text=piece)


def fenced_count(count: Count) -> Count:
    """Return a count of texts as passages show them: a text of many short lines costs more fenced than plain."""

    def counted(text: str) -> int:
        return count(Passage("", "", text).render(1))

    return counted


def head_and_tail(text: str, budget: int, count: Count, note: str) -> str:
    """Return a long text's beginning and end with a note between them on where the whole of it is.

    Cut again to less, the first note is among what is left out.
    """
    half = (budget - count(note) - _NOTE_TOKENS) // 2
    if half < 1:
        return f"[… {note} …]"
    start = fit(text, half, count)
    tail = _span(len(text), half, lambda n: count(text[len(text) - n :]))
    return text if start + tail >= len(text) else f"{text[:start]}\n[… {note} …]\n{text[len(text) - tail :]}"
