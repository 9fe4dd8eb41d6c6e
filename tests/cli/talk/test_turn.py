from io import StringIO

import pytest
from rich.console import Console

from ricordo.cli.talk.turn import TurnView, arguments, gauge
from ricordo.graph.notebook import Answer, Event, Restarted, Token, ToolEnded, ToolStarted, WindowCompacted


def _answer(text: str, stop_reason: str = "answer") -> Answer:
    return Answer(text, stop_reason, 1, "t", "u", "r", "offline")


def _shown(*events: Event) -> tuple[str, str]:
    said, notes = StringIO(), StringIO()

    def say(text: str) -> None:
        said.write(text)

    view = TurnView(say, Console(file=notes, width=60))
    view.begin()
    for event in events:
        view.show(event)
    view.end()
    return said.getvalue(), notes.getvalue()


def test_an_answer_that_was_streamed_is_not_said_again() -> None:
    assert _shown(Token("It is "), Token("late."), _answer("It is late."))[0] == "It is late.\n"


def test_an_answer_that_was_not_streamed_is_said_whole() -> None:
    assert _shown(_answer("Late.\n"))[0] == "Late.\n"
    assert _shown(Token("I was about"), _answer("The time is up."))[0] == "I was about\nThe time is up.\n"


def test_what_was_said_before_a_tool_call_stays_on_lines_of_its_own() -> None:
    said, notes = _shown(
        Token("Let me look."),
        ToolStarted("search", {"query": "whales", "k": 5}),
        ToolEnded("search", "success", "\n\nthree found\nmore"),
        Token("Whales."),
        _answer("Whales."),
    )
    assert said == "Let me look.\nWhales.\n"
    assert notes == '⚙ search(query="whales", k=5)\n  ✓ three found more\n'


def test_failed_tools_compactions_and_odd_stops_are_told() -> None:
    _, notes = _shown(
        ToolEnded("x", "error", "no such paper"),
        WindowCompacted("90 to 40 tokens"),
        _answer("That is all I have.", "deadline"),
    )
    assert notes == "  ✗ no such paper\n↯ window compacted: 90 to 40 tokens\nstopped: deadline\n"


def test_an_answer_that_begins_anew_has_a_line_of_its_own() -> None:
    said, notes = _shown(Token("Half of th"), Restarted(), Token("Whole."), _answer("Whole."))
    assert said == "Half of th\nWhole.\n"
    assert "begins again" in notes


def test_long_arguments_are_cut_and_terminal_codes_taken_out() -> None:
    shown = arguments({"text": "x" * 500, "other": "\x1b[2J", "third": list(range(200))})
    assert len(shown) <= 100
    assert "\x1b" not in shown
    assert shown.startswith('text="xxx')


@pytest.mark.parametrize(("percent", "filled"), [(0, 0), (50, 12), (100, 24), (130, 24)])
def test_the_gauge_shows_the_fill(percent: float, filled: int) -> None:
    drawn = gauge({"percent": percent, "tokens": 1234, "window": 32000}).plain
    assert (drawn.count("█"), drawn.count("░")) == (filled, 24 - filled)
    assert drawn.endswith(f"{percent} %  1,234 of 32,000 tokens")
