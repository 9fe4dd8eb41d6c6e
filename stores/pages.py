"""Long texts in pages that fit a token budget, word for word and without a gap."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from stores.passages import Passage, render_all

Count = Callable[[str], int]
_HEAD_TOKENS = 40  # of a block's head line and fences, added to its text


def fit(text: str, budget: int, count: Count) -> int:
    """Return how many leading characters of a text stay within a budget of tokens; at least one.

    A cut falls behind a line or a word where one ends in the last fifth of the slice.
    """
    high = min(len(text), budget * 8)  # a token is rarely longer
    while high > 1 and (cost := count(text[:high])) > budget:
        high = max(1, min(high - 1, high * budget // cost))
    if high < len(text):
        for end in ("\n", " "):
            at = text.rfind(end, high * 4 // 5, high)
            if at > 0:
                return at + 1
    return max(1, high)


def slices(text: str, budget: int, count: Count) -> Iterable[str]:
    """Cut a text into slices that stay within the budget; joined they are the text."""
    while text:
        end = len(text) if count(text) <= budget else fit(text, budget, count)
        yield text[:end]
        text = text[end:]


def paginate(passages: Iterable[Passage], budget: int, count: Count) -> list[str]:
    """Lay passages out in pages of rendered blocks; a passage longer than a page goes over several."""
    room = max(1, budget - _HEAD_TOKENS)
    pages: list[list[Passage]] = [[]]
    used = 0
    for passage in passages:
        for part, piece in enumerate(slices(passage.text, room, count) if passage.text else [""]):
            head = f"{passage.head} (continued)" if part else passage.head
            cost = count(piece) + piece.count("\n") + _HEAD_TOKENS
            if pages[-1] and used + cost > budget:
                pages.append([])
                used = 0
            pages[-1].append(replace(passage, head=head, text=piece))
            used += cost
    return [render_all(page) for page in pages]


def head_and_tail(text: str, budget: int, count: Count, note: str) -> str:
    """Return a long text's beginning and end with a note between them on where the whole of it is."""
    half = max(1, (budget - count(note)) // 2)
    start, end = fit(text, half, count), fit(text[::-1], half, count)
    left_out = len(text) - start - end
    return (
        text
        if left_out <= 0
        else f"{text[:start]}\n[… {left_out} characters left out: {note} …]\n{text[len(text) - end :]}"
    )
