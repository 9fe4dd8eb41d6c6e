from datetime import UTC, datetime

from hypothesis import example, given
from hypothesis import strategies as st

from ricordo.graph.window import INTROS, Segment, Window
from ricordo.stores.passages import Passage, render_all, stamp

ANY_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"))


def headings(rendered: str) -> list[str]:
    return [line for line in rendered.splitlines() if line.lstrip().startswith("#")]


@given(question=ANY_TEXT, text=ANY_TEXT, head=ANY_TEXT)
@example(question="0\x1e#", text="\u2028#", head="\x85#")
def test_no_text_from_outside_can_forge_a_heading(question: str, text: str, head: str) -> None:
    passages = {name: Segment(name, (Passage("1", f"id=1 {head}", text),)) for name in INTROS}
    assert headings(Window(question, passages).render()) == ["# Question", *(f"## {name} Memory" for name in INTROS)]


@given(st.lists(ANY_TEXT, max_size=4))
def test_no_passage_can_forge_another_one(texts: list[str]) -> None:
    rendered = render_all(Passage("1", "id=1", text) for text in texts)
    starts = [line for line in rendered.splitlines() if not line.startswith("> ")]
    assert starts == [f"[{i}] id=1" for i in range(1, len(texts) + 1)]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00#\r")))
def test_a_question_without_headings_stands_word_for_word(question: str) -> None:
    assert question in Window(question).render()


def test_an_empty_segment_says_why() -> None:
    window = Window("?").with_passages("User", (), empty="nothing above the threshold")
    assert "[empty: nothing above the threshold]" in window.render()
    assert "[empty: nothing stored yet]" in window.render()


def test_a_window_is_counted_by_its_parts() -> None:
    window = Window("How high is the tide?", {"Entity": Segment("Entity", (Passage("1", "id=1", "the tide " * 100),))})
    counts = window.counts()
    assert list(counts) == ["question", *INTROS]
    assert counts["Entity"] > 200 > counts["Workflow"]


def test_moments_are_shown_in_utc() -> None:
    assert stamp(datetime.fromisoformat("2026-11-30T01:30:00+02:00")) == "2026-11-29T23:30Z"
    assert stamp(datetime(2026, 1, 2, 3, 4, 59, tzinfo=UTC)) == "2026-01-02T03:04Z"
