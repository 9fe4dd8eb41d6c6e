import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.stores.search.fusion import Floats, Posting, bm25, closeness, fuse

DOCUMENTS = [
    "red fox red barn",
    "lazy dog",
    "the fox and the dog play near the barn in the evening light of may",
    "blue sky",
]


def postings(documents: list[str], terms: list[str], places: list[int] | None = None) -> list[Posting]:
    at = places or list(range(len(documents)))
    found = []
    for term in terms:
        hits = [
            (place, Counter(text.split())[term], len(text.split())) for place, text in zip(at, documents, strict=True)
        ]
        kept = [hit for hit in hits if hit[1]]
        if kept:
            columns = [np.array(column) for column in zip(*kept, strict=True)]
            found.append(Posting(columns[0].astype(np.int64), *(column.astype(np.int32) for column in columns[1:])))
    return found


def score(documents: list[str], terms: list[str], *, near: bool = False, places: list[int] | None = None) -> Floats:
    mean = sum(len(text.split()) for text in documents) / len(documents)
    found = bm25(postings(documents, terms, places), len(terms), len(documents), mean, near=near)
    return found.at(np.array(places or range(len(documents))))


def naive(documents: list[str], terms: list[str]) -> list[float]:
    split = [text.split() for text in documents]
    mean = sum(map(len, split)) / len(split)
    total = []
    for words in split:
        value = 0.0
        for term in terms:
            df = sum(term in other for other in split)
            tf = words.count(term)
            value += (
                math.log(1 + (len(split) - df + 0.5) / (df + 0.5))
                * tf
                * 1.9
                / (tf + 0.9 * (1 - 0.4 + 0.4 * len(words) / mean))
            )
        total.append(value)
    return total


@given(
    st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=9).map(" ".join), min_size=1, max_size=12),
    st.sets(st.sampled_from("abcdefgh"), min_size=1),
)
def test_it_is_bm25(documents: list[str], asked: set[str]) -> None:
    assert score(documents, sorted(asked)) == pytest.approx(naive(documents, sorted(asked)))


def test_no_unit_scores_more_than_is_possible() -> None:
    found = bm25(postings(DOCUMENTS, ["fox", "barn", "zebra"]), 3, 4, 5.0, near=True)
    assert 0 < found.scores.max() < found.possible


def test_a_neighbour_counts_less_the_farther_it_is_and_not_at_all_beyond_three_places() -> None:
    talk = ["who owns the lighthouse"] + ["hm yes"] * 5
    scores = score(talk, ["lighthouse"], near=True)
    assert all(scores[:3] > scores[1:4])
    assert scores[3] > 0
    assert scores[4:].tolist() == [0, 0]
    assert score(talk, ["lighthouse"])[1:].tolist() == [0] * 5
    assert score(talk, ["lighthouse"], near=True, places=[0, 100, 200, 300, 400, 500])[1:].tolist() == [0] * 5


def test_long_units_need_their_neighbours_less() -> None:
    short = score(["light house", "hm yes"], ["light"], near=True)
    long = score(["light " + "house " * 99, "hm yes " * 50], ["light"], near=True)
    assert 0 < long[1] / long[0] < short[1] / short[0] / 3


def test_the_best_places_are_the_best() -> None:
    found = bm25(postings(DOCUMENTS, ["fox", "barn", "dog"]), 3, 4, 5.0, near=False)
    top = found.best(2)
    assert set(top) == {int(place) for place in found.places[np.argsort(-found.scores)[:2]]}
    assert sorted(found.best(99)) == found.places.tolist()
    nothing = bm25([], 2, 4, 5.0, near=True)
    assert nothing.best(5) == []
    assert nothing.at(np.array([1, 2])).tolist() == [0, 0]


FLOATS = st.floats(-1, 1, allow_subnormal=False)


@given(st.lists(st.tuples(st.one_of(FLOATS, st.just(math.nan)), st.floats(0, 20, allow_subnormal=False)), min_size=1))
def test_a_fused_score_is_between_0_and_1_and_no_better_for_less_of_both(pairs: list[tuple[float, float]]) -> None:
    dense, lexical = (np.array(column) for column in zip(*pairs, strict=True))
    fused = fuse(dense, lexical, possible=20)
    assert ((fused >= 0) & (fused <= 1 + 1e-9)).all()
    known = [i for i in range(len(pairs)) if not math.isnan(dense[i])]
    for i in known:
        for j in known:
            if dense[i] >= dense[j] and lexical[i] >= lexical[j]:
                assert fused[i] >= fused[j] - 1e-9


def test_neither_half_is_moved_by_the_scale_of_the_other() -> None:
    dense, lexical = np.array([0.1, 0.02, -0.1]), np.array([0.0, 4.0, 8.0])
    assert fuse(dense * 7, lexical, 10).tolist() == pytest.approx(fuse(dense, lexical, 10).tolist())
    assert fuse(dense, lexical * 3, 30).tolist() == pytest.approx(fuse(dense, lexical, 10).tolist())


def test_words_that_cover_little_of_the_query_give_way_to_meaning() -> None:
    dense, lexical = np.array([0.1, 0.0]), np.array([0.0, 1.0])
    assert np.argmax(fuse(dense, lexical, possible=2)) == 1
    assert np.argmax(fuse(dense, lexical, possible=40)) == 0


def test_what_is_not_embedded_is_judged_by_its_words() -> None:
    fused = fuse(np.array([math.nan, 0.1, math.nan]), np.array([5.0, 0.0, 0.0]), 6)
    assert fused.tolist() == pytest.approx([1, 0.45, 0])
    assert fuse(np.array([math.nan]), np.array([0.0]), 6).tolist() == [0]


def test_among_units_below_the_average_the_order_is_kept() -> None:
    fused = fuse(np.array([-0.3, -0.1, -0.2]), np.zeros(3), 5)
    assert np.argsort(-fused).tolist() == [1, 2, 0]
    assert fuse(np.array([0.0]), np.zeros(1), 5).tolist() == [1]


@given(st.floats(-50, 50), st.floats(-50, 50), st.floats(0, 1), st.floats(0, 1))
def test_closeness_grows_with_meaning_and_with_words(one: float, other: float, some: float, more: float) -> None:
    low, high = sorted((one, other))
    few, many = sorted((some, more))
    assert 0 <= closeness(low, few) <= closeness(high, many) <= 1
    assert closeness(None, few) == few


def test_strangers_are_on_one_side_and_kin_on_the_other() -> None:
    assert closeness(0, 0) < 0.1
    assert min(closeness(2, 0), closeness(0, 1)) > 0.5
