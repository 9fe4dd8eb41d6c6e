"""What is written for people is told from code, data and addresses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.common.prose import prose

WRITTEN = [
    "Dear Ada Byron;",
    'He read "The Grey Seal": a good book.',
    "We read MemGPT (Memory GPT) [1], and/or Bob Miles' letter of 3/4/2025.",
    "With Ada Byron as the host, all came.",
    "From Skerry Point to Tarnfeld.",
]
NOT_WRITTEN = [
    '{"name": "Ada Byron", "at": ["Skerry Point"]}',
    '[\n  "Ada Byron",\n  "Bob Miles"\n]',
    "```python\nclass AdaByron(Base):\n    pass\n```",
    '    name = "Ada Byron"\n    greet("Bob Miles");',
    "class AdaByron(Base):",
    "SELECT name FROM AdaByron WHERE x",
    "<b>Ada Byron</b>",
    '"author": "Ada Byron",',
]


@pytest.mark.parametrize("text", WRITTEN)
def test_what_is_written_for_people_stays(text: str) -> None:
    assert prose(text) == text


@pytest.mark.parametrize("text", NOT_WRITTEN)
def test_code_and_data_are_left_out_of_what_stands_around_them(text: str) -> None:
    shown = prose(f"It is here.\n{text}\n\nSo said Carla Verdi.")
    assert "Ada" not in shown
    assert "Bob" not in shown
    assert "It is here." in shown
    assert "So said Carla Verdi." in shown


def test_addresses_and_paths_and_data_within_a_line_are_left_out() -> None:
    text = 'The file /home/AdaByron/MemGPT.py and https://x.example/BobMiles gave {"by": "Ada Byron"} to Carla Verdi.'
    assert prose(text) == "The file … and … gave … to Carla Verdi."


@given(st.text("aA {}[]\"':,`/\n", max_size=200))
def test_of_any_text_a_part_is_left(text: str) -> None:
    assert set(prose(text)) <= set(text) | {"…"}
