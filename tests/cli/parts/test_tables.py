"""Tables: whole names on a terminal of any width, tabs for programs."""

import os
import pty
import re
from collections.abc import Iterator

import pytest

from ricordo.cli.parts import output
from ricordo.cli.parts.tables import write_table

HEADS = ["name", "notes", "tags"]
ROWS = [("fetch_and_save_paper_to_kb_db", "", "papers and whatever else comes to mind " * 2), ("go", "", "走走 away")]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A pseudo-terminal in the place of standard output; its other end."""
    there, here = pty.openpty()
    with open(here, "w", encoding="utf-8") as stream:  # noqa: PTH123 - a descriptor
        monkeypatch.setattr(output, "stdout", lambda: stream)
        yield there
    os.close(there)


def shown(terminal: int, width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    write_table(HEADS, ROWS)
    output.write("\0")
    text = b""
    while not text.endswith(b"\0"):  # a terminal hands on what is written bit by bit
        text += os.read(terminal, 65536)
    return [line.rstrip() for line in re.sub(r"\x1b\[\d*m", "", text[:-1].decode()).splitlines()]


@pytest.mark.parametrize("width", [20, 50, 200])
def test_names_stay_whole_and_empty_columns_are_left_out(
    terminal: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = shown(terminal, width, monkeypatch)
    assert any(line.startswith("fetch_and_save_paper_to_kb_db") for line in lines)
    assert not any("notes" in line for line in lines)
    assert " ".join(" ".join(lines).split()).count("whatever else comes to mind") == 2


def test_prose_stands_below_its_row_where_there_is_no_room(terminal: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(terminal, 50, monkeypatch)[-2:] == ["go", "    走走 away"]
    assert shown(terminal, 100, monkeypatch)[-1] == f"{'go':<31}走走 away"


def test_programs_get_all_columns_between_tabs(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    there, here = os.pipe()
    with open(there, encoding="utf-8"), open(here, "w", encoding="utf-8") as stream:  # noqa: PTH123 - descriptors
        monkeypatch.setattr(output, "stdout", lambda: stream)
        monkeypatch.setattr(output, "write", written.append)
        write_table(HEADS, ROWS)
    assert written[0].splitlines()[1] == "go\t\t走走 away"


def test_a_table_without_rows_is_its_heads(terminal: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    write_table(HEADS, [])
    assert os.read(terminal, 65536).decode().split() == HEADS
