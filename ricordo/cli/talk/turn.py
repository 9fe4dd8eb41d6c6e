"""How a turn is shown while it happens: the answer as it is said, the tools as they are called, the window's fill."""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from ricordo.cli.parts.output import plain

if TYPE_CHECKING:
    from rich.status import Status

    from ricordo.graph.notebook import Answer, Event

_ARGUMENT, _ARGUMENTS = 40, 100
"""Characters of one shown argument, and of all of them."""
_RESULT = 200
"""Characters of a result in its one line."""
_BAR = 24
_NEARLY_FULL, _FULL = 50, 80
"""Percent of the window at which the gauge turns yellow and red."""


class TurnView:
    """Shows one turn after the other."""

    def __init__(self, say: Callable[[str], None], notes: Console) -> None:
        """Choose where to.

        Args:
            say: Writes a piece of the answer.
            notes: Where all else goes.
        """
        self._say = say
        self._notes = notes
        self._said = self._latest = ""
        self._status: Status | None = None

    def begin(self) -> None:
        """Start a turn."""
        self._said = self._latest = ""
        self._wait()

    def show(self, event: "Event") -> None:
        """Show what has happened."""
        from ricordo.graph import notebook

        match event:
            case notebook.Token(text):
                self._stop_waiting()
                self._speak(plain(text))
            case notebook.Restarted():
                self._tell(Text("↻ the answer broke off and begins again", "yellow"))
            case notebook.ToolStarted(name, args):
                self._tell(Text(f"⚙ {plain(name)}({arguments(args)})", "cyan"))
                self._wait()
            case notebook.ToolEnded(_, status, text):
                good = status == "success"
                self._tell(Text(f"  {'✓' if good else '✗'} {_one_line(text)}", "dim" if good else "red"))
                self._wait()
            case notebook.WindowCompacted(what):
                self._tell(Text(f"↯ window compacted: {_one_line(what)}", "magenta"))
                self._wait()
            case notebook.Answer():
                self._stop_waiting()
                self._finish(event)
            case _:
                pass

    def end(self) -> None:
        """Leave the cursor at the start of a line, however the turn ended."""
        self._stop_waiting()
        self._end_line()

    def _speak(self, text: str) -> None:
        self._said += text
        self._latest += text
        self._say(text)

    def _finish(self, answer: "Answer") -> None:
        """Say what of the answer has not been streamed."""
        whole = plain(answer.answer)
        if not self._said.rstrip().endswith(whole.strip()):
            begun = self._latest.strip()
            if begun and whole.startswith(begun):
                whole = whole.removeprefix(begun)
            else:
                self._end_line()
            self._speak(whole)
        self._end_line()
        if answer.stop_reason != "answer":
            self._notes.print(Text(f"stopped: {answer.stop_reason}", "yellow"))

    def _end_line(self) -> None:
        if self._said and not self._said.endswith("\n"):
            self._speak("\n")

    def _tell(self, line: Text) -> None:
        self._stop_waiting()
        self._end_line()
        self._latest = ""
        self._notes.print(line, no_wrap=True, overflow="ellipsis", soft_wrap=not self._notes.is_terminal)

    def _wait(self) -> None:
        if self._notes.is_terminal and self._status is None:
            self._status = self._notes.status("", spinner="dots")
            self._status.start()

    def _stop_waiting(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def arguments(args: Mapping[str, Any]) -> str:
    """Return a call's arguments in short."""
    parts = [f"{name}={_shorten(json.dumps(value, ensure_ascii=False), _ARGUMENT)}" for name, value in args.items()]
    return _shorten(plain(", ".join(parts)), _ARGUMENTS)


def gauge(use: Mapping[str, Any]) -> Text:
    """Draw how full the window is: a bar, percent, tokens."""
    percent, filled = float(use["percent"]), round(_BAR * min(float(use["percent"]), 100) / 100)
    colour = "green" if percent < _NEARLY_FULL else "yellow" if percent < _FULL else "red"
    fill = f" {percent:.0f} %  {use['tokens']:,} of {use['window']:,} tokens"
    return Text.assemble(("window ", "dim"), ("█" * filled, colour), ("░" * (_BAR - filled), "dim"), (fill, "dim"))


def _one_line(text: str) -> str:
    return _shorten(" ".join(plain(text[: 2 * _RESULT]).split()), _RESULT) or "(nothing)"


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
