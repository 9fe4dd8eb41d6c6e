from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.common.errors import InputError
from ricordo.readers.chunks import split
from ricordo.readers.pages import Page


@settings(max_examples=60)
@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp"]), max_size=2000), max_size=3
    ),
    st.integers(100, 600),
)
def test_chunks_hold_the_whole_text_within_their_size(texts: list[str], size: int) -> None:
    pages = [Page(text, number, f"s{number}") for number, text in enumerate(texts, 1)]
    chunks = split(pages, size, 0)
    assert all(len(chunk.text) <= size for chunk in chunks)
    for page in pages:
        mine = [chunk for chunk in chunks if chunk.page == page.number]
        assert "".join(chunk.text for chunk in mine) == page.text
        assert all(chunk.section == page.section for chunk in mine)


def test_a_cut_falls_between_sentences() -> None:
    text = " ".join(f"Sentence number {n} is here." for n in range(40))
    assert all(chunk.text.endswith(".") for chunk in split([Page(text)], 200, 0))


def test_neighbours_overlap() -> None:
    chunks = split([Page(" ".join(f"w{n}" for n in range(300)))], 200, 50)
    for before, after in pairwise(chunks):
        assert after.text.split()[0] in before.text.split()


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (-5, 0), (99, 0), (20_001, 0), (1000, -1), (1000, 501)])
def test_sizes_that_make_no_sense_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(InputError, match=r"chunk_(size|overlap) is"):
        split([Page("x")], size, overlap)


def test_a_line_without_a_space_is_cut() -> None:
    chunks = split([Page("x" * 100_000)], 1500, 0)
    assert sum(len(chunk.text) for chunk in chunks) == 100_000
