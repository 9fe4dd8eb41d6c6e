"""Pages of long texts: word for word, without a gap, and never larger than their budget."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.common.errors import NotFoundError
from ricordo.models import tokens
from ricordo.stores.pages import Part, fit, head_and_tail, one_of, paginate, slices
from ricordo.stores.passages import Passage
from tests.support.threads import said

TEXTS = st.one_of(st.text(max_size=300), said(1, 40, 400, 3_000).map(lambda one: one.text))


@given(TEXTS, st.integers(1, 300))
def test_slices_are_the_text_and_stay_within_the_budget(text: str, budget: int) -> None:
    cut = list(slices(text, budget, tokens.count))
    assert "".join(cut) == text
    assert all(cut)
    # A single character may cost more than the budget, and a line end of two characters is not cut in two.
    assert all(tokens.count(piece) <= budget for piece in cut if len(piece) > 2)


@given(TEXTS.filter(bool), st.integers(1, 300))
def test_a_cut_is_not_much_shorter_than_it_could_be(text: str, budget: int) -> None:
    end = fit(text, budget, tokens.count)
    assert 1 <= end <= len(text)
    if end == len(text) or len(text) > budget * 8:
        return
    assert tokens.count(text[: end * 2 + 8]) > budget * 0.6


def test_a_cut_falls_between_words() -> None:
    text = "barges and gulls " * 100
    assert all(piece.endswith(" ") for piece in slices(text, 50, tokens.count))


def test_a_line_end_of_two_characters_stays_whole() -> None:
    text = "ab\r\n" * 500
    assert not any(piece.startswith("\n") for piece in slices(text, 7, tokens.count))


@settings(max_examples=40)
@given(st.lists(TEXTS, max_size=6), st.integers(60, 400), st.sampled_from(["", "what was said"]))
def test_pages_hold_every_character_once_and_fit(texts: list[str], budget: int, title: str) -> None:
    parts = [Part([Passage("", f"user · {i}", text)], title) for i, text in enumerate(texts)]
    pages = paginate(parts, budget, tokens.count)
    fenced = "".join(re.findall(r"(?m)^> (.*)$", "\n".join(pages)))
    assert fenced == re.sub(r"[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", "", "".join(texts))
    assert all(tokens.count(page) <= budget for page in pages)


def test_the_first_page_tells_where_each_part_begins() -> None:
    parts = [Part([Passage("", "user", f"{what} " * 300)], what) for what in ("barges", "gulls", "parcels")]
    pages = paginate(parts, 250, tokens.count)
    contents = re.findall(r"(?m)^- from page (\d+): (\w+)$", pages[0])
    assert [what for _, what in contents] == ["barges", "gulls", "parcels"]
    for number, what in contents:
        assert what in pages[int(number) - 1]
        assert int(number) == 1 or what not in pages[int(number) - 2].partition("[1]")[2]


def test_a_page_says_how_to_ask_for_the_next_and_an_unknown_one_is_named() -> None:
    parts = [Part([Passage("", "user", "word " * 400)])]
    first = one_of(parts, "some-id", 1, 200, tokens.count)
    last = int(first.split("page 1 of ")[1].split(";")[0])
    assert "expand_summary(summary_id='some-id', page=2)" in first
    assert "expand_summary(" not in one_of(parts, "some-id", last, 200, tokens.count)
    for page in (0, last + 1):
        with pytest.raises(NotFoundError, match=f"pages 1 to {last}"):
            one_of(parts, "some-id", page, 200, tokens.count)


@given(TEXTS, st.integers(20, 200))
def test_head_and_tail_are_the_texts_own_and_the_whole_is_named(text: str, budget: int) -> None:
    shown = head_and_tail(text, budget, tokens.count, "the whole: there")
    if shown == text:
        return
    head, _, tail = shown.partition("\n[… the whole: there …]\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert tokens.count(shown) <= budget


def test_cut_twice_there_is_one_note() -> None:
    once = head_and_tail("barges and gulls " * 500, 300, tokens.count, "the whole: there")
    twice = head_and_tail(once, 60, tokens.count, "the whole: there")
    assert twice.count("the whole: there") == 1
    assert tokens.count(twice) <= 60


def test_without_room_only_the_note_is_left() -> None:
    assert head_and_tail("word " * 500, 1, tokens.count, "the whole: there") == "[… the whole: there …]"
