import unicodedata
from concurrent.futures import ThreadPoolExecutor
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.common.words import date_words, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserName", ["get", "name", "user"]),
        ("math.factorial", ["factori", "math"]),
        ("snake_case HTTPServer2", ["case", "http", "server2", "snake"]),
        ("The dogs were running to a dog's house", ["dog", "dog", "hous", "run"]),
        ("Don\u2019t stop, we\u2019ll see", ["see", "stop"]),
        ("Città, CITTA, citta\u0300", ["citta", "citta", "citta"]),
        ("\ufb01le \uff21\uff22\uff23", ["abc", "file"]),
        ("東京都", ["京都", "東京"]),
        ("日", ["日"]),
        ("한국어를 say", ["say", "국어", "어를", "한국"]),
        ("हिन्दी भाषा", ["भाषा", "हिन्दी"]),
        ("كِتَاب", ["كتاب"]),
        ("7 May 2023, gpt-5", ["2023", "5", "7", "gpt", "may"]),
        ("... -- \u3000 _ 's", []),
        ("", []),
    ],
)
def test_text_is_split_folded_and_stemmed(text: str, expected: list[str]) -> None:
    assert sorted(terms(text).elements()) == expected


def test_a_word_of_any_length_is_one_short_term_that_tells_it_apart() -> None:
    first, second = terms("a" * 10_000 + "b"), terms("a" * 10_000 + "c")
    assert first.keys() != second.keys()
    assert all(len(term) <= 40 for term in [*first, *second])


@given(st.text())
def test_any_text_has_terms_that_are_short_and_never_blank(text: str) -> None:
    assert all(0 < len(term) <= 40 and term.strip() == term for term in terms(text))


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_case_of_whole_words_and_order_do_not_matter(text: str) -> None:
    words = text.lower().split()
    assert terms(" ".join(words)) == terms(" ".join(reversed(words)))
    assert terms(" ".join(words).upper()) == terms(" ".join(words))


@given(st.text(max_size=80))
def test_composed_and_decomposed_text_have_the_same_terms(text: str) -> None:
    assert terms(unicodedata.normalize("NFD", text)) == terms(unicodedata.normalize("NFC", text))


def test_threads_at_once_get_the_same_terms() -> None:
    texts = [f"running runners ran {i} organisation{i}s generously" for i in range(400)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(terms, texts)) == list(map(terms, texts))


@pytest.mark.parametrize(
    ("day", "words"),
    [(date(2023, 5, 7), "7 May 2023, Sunday"), (date(2024, 12, 30), "30 December 2024, Monday")],
)
def test_a_day_is_written_as_people_ask_for_it(day: date, words: str) -> None:
    assert date_words(day) == words
    assert terms(f"what happened in {words.split()[1]}?").keys() & terms(words).keys()
