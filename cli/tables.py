"""Tables on standard output: aligned for people, and for `column`, `awk` and friends when it is no terminal."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from cli import output


def write_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows under their heads; separated by tabs and without heads when nobody is looking."""
    cells = [[_cell(value) for value in row] for row in rows]
    if not output.stdout().isatty():
        output.write("".join("\t".join(row) + "\n" for row in cells))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head, overflow="ellipsis")
    for row in cells:
        table.add_row(*map(Text, row))
    Console(file=output.stdout(), highlight=False).print(table)


def local_time(moment: datetime) -> str:
    """Return a moment in the machine's own time zone, to the minute."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = local_time(value) if isinstance(value, datetime) else str(value)
    return " ".join(output.plain(text).split())
