"""Tables on standard output: aligned for people, and for `column`, `awk` and friends when it is no terminal."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from ricordo.cli.parts import output

_SHORT = 16
"""Characters of a cell that is never broken, such as a date."""
_LEAST_PROSE = 24
"""Width of a column of prose that can still be read."""


def write_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows under their heads, without columns that are empty; with tabs and all columns when nobody is looking.

    Names and ids are there to be typed again and stay whole: where the terminal is too narrow for all, prose goes on
    lines of its own below its row.
    """
    cells = [[_cell(value) for value in row] for row in rows]
    if not output.stdout().isatty():
        output.write("".join("\t".join(row) + "\n" for row in cells))
        return
    from rich.cells import cell_len, set_cell_size
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = Console(file=output.stdout(), highlight=False)
    columns = [(head, column) for head, *column in zip(heads, *cells, strict=True) if any(column) or not cells]
    whole = [all(" " not in cell or len(cell) <= _SHORT for cell in column) for _, column in columns]
    widths = [max(map(cell_len, (head, *column))) + 2 for head, column in columns]
    room = console.width - sum(width for width, fixed in zip(widths, whole, strict=True) if fixed)
    if room >= _LEAST_PROSE * whole.count(False):
        table = Table(box=None, pad_edge=False, header_style="bold")
        for (head, _), fixed in zip(columns, whole, strict=True):
            table.add_column(head, overflow="fold", no_wrap=fixed)
        for row in zip(*(column for _, column in columns), strict=True):
            table.add_row(*map(Text, row))
        console.print(table)
        return
    for number, row in enumerate(zip(*((head, *column) for head, column in columns), strict=True)):
        parts = list(zip(row, whole, widths, strict=True))
        line = "".join(set_cell_size(cell, width) for cell, fixed, width in parts if fixed).rstrip()
        if line:
            console.print(Text(line, style="" if number else "bold"), soft_wrap=True)
        for cell, fixed, _ in parts:
            if cell and not fixed:
                console.print(Padding(Text(cell, style="" if number else "bold"), (0, 0, 0, 4)))


def write_list(
    told: dict[str, Any], heads: Sequence[str], rows: Sequence[Sequence[object]], empty: str, *, as_json: bool
) -> None:
    """Write what was found as JSON, as a table, or as a note that there is nothing."""
    if as_json:
        output.write_json(told)
    elif rows:
        write_table(heads, rows)
    else:
        output.note(empty)


def local_time(moment: datetime) -> str:
    """Return a moment in the machine's own time zone, to the minute."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = local_time(value) if isinstance(value, datetime) else str(value)
    return " ".join(output.plain(text).split())
