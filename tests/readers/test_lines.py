import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.readers.lines import Words, paragraph


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ("is fed by an auto-\nmatic pump", "is fed by an automatic pump"),
        ("with a state-\nof-the-art motor", "with a state-of-the-art motor"),
        ("with a state-of-the-\nart motor", "with a state-of-the-art motor"),
        ("from Skerry-\nPoint to the harbour", "from Skerry-Point to the harbour"),
        ("in the years 1871-\n1875 it", "in the years 1871-1875 it"),
        ("the model GPT-\n4 is", "the model GPT-4 is"),
        ("a self-\ntaught keeper", "a self-taught keeper"),
        ("a lamp-\nbased signal", "a lamp-based signal"),
        ("the pre-\nand post-war years", "the pre- and post-war years"),
        ("the mecha\u00ad\nnism of Skerry\u00ad\nPoint", "the mechanism of SkerryPoint"),
        ("soft\u00adly it goes", "softly it goes"),
        ("长期记忆是\n智能体的基础", "长期记忆是智能体的基础"),
        ("长 期 记 忆，是 MemGPT 的 基础", "长期记忆，是 MemGPT 的基础"),
        ("장기 기억은\n중요하다", "장기 기억은 중요하다"),
        (
            "Contents\nA line that is as wide as the column\nand its end",
            "Contents\nA line that is as wide as the column and its end",
        ),
    ],
)
def test_lines_are_joined_as_they_were_broken(block: str, text: str) -> None:
    assert paragraph(block, Words([block])) == text


def test_the_document_itself_tells_how_a_word_is_written() -> None:
    words = Words(["The tide-table and the harbourmaster."])
    assert paragraph("see the tide-\ntable of the harbour-\nmaster here", words) == (
        "see the tide-table of the harbourmaster here"
    )


@given(st.lists(st.text("ab -\u00ad记忆1A", max_size=9), max_size=6))
def test_nothing_but_blanks_and_hyphens_is_lost(lines: list[str]) -> None:
    block = "\n".join(lines)
    kept = paragraph(block, Words([block]))
    assert [c for c in kept if c.isalnum()] == [c for c in block if c.isalnum()]
