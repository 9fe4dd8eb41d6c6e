from hypothesis import given
from hypothesis import strategies as st

from ricordo.common.text import clean, make_id

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))


@given(ANY_TEXT)
def test_clean_text_can_be_stored_and_sent(text: str) -> None:
    cleaned = clean(text)
    assert "\x00" not in cleaned
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00")))
def test_good_text_is_left_alone(text: str) -> None:
    assert clean(text) == text


def test_a_lone_surrogate_leaves_a_mark() -> None:
    assert clean("a\ud800b") == "a\ufffdb"


def test_the_halves_of_a_pair_become_one_character() -> None:
    assert clean("a\ud83d" + "\ude00b\ude00") == "a\U0001f600b\ufffd"


def test_ids_depend_on_every_part_and_on_where_they_are_cut() -> None:
    assert make_id("a", "b") == make_id("a", "b")
    assert len({make_id("a", "b"), make_id("ab"), make_id("a", "b", ""), make_id("b", "a")}) == 4
