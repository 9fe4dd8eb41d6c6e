import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.evals.metrics import Latency, mean, ndcg, percent, perfect, recall

RANKED = ["a", "b", "c", "d"]


def test_recall_is_the_share_of_the_relevant_that_was_found() -> None:
    assert recall(RANKED, {"b", "d", "x"}, 2) == pytest.approx(1 / 3)
    assert recall(RANKED, {"b", "d", "x"}, 4) == pytest.approx(2 / 3)
    assert recall(RANKED, set(), 2) == 1


def test_perfect_wants_all_of_them() -> None:
    assert perfect(RANKED, {"a", "b"}, 2) == 1
    assert perfect(RANKED, {"a", "c"}, 2) == 0


def test_ndcg_values_an_early_place() -> None:
    assert ndcg(RANKED, {"a"}, 4) == 1
    assert ndcg(RANKED, {"b"}, 4) == pytest.approx(1 / math.log2(3))
    assert ndcg(RANKED, {"a", "b", "c", "d", "e"}, 2) == 1
    assert ndcg(RANKED, {"x"}, 4) == 0
    assert ndcg(RANKED, set(), 4) == 1


@given(st.permutations(range(8)), st.sets(st.integers(0, 9), min_size=1), st.integers(1, 8))
def test_all_are_shares_and_agree_on_what_is_perfect(ranked: list[int], relevant: set[int], k: int) -> None:
    shares = [recall(ranked, relevant, k), perfect(ranked, relevant, k), ndcg(ranked, relevant, k)]
    assert all(0 <= share <= 1 + 1e-9 for share in shares)
    assert (shares[0] == 1) == (shares[1] == 1)
    assert recall(ranked, relevant, k) <= recall(ranked, relevant, 8)


def test_durations_are_summed_up_in_milliseconds() -> None:
    assert Latency.of([0.001] * 90 + [0.1] * 10) == Latency(1.0, 100.0)
    assert Latency.of([]) == Latency(0.0, 0.0)


def test_means_of_nothing_are_zero() -> None:
    assert mean([]) == 0
    assert percent([1.0, 0.5]) == 75.0
