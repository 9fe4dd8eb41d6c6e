"""What the commands of `ricordo memory` share: their filter, and how memories are shown."""

import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.cli.parts import output
from ricordo.cli.parts.tables import local_time, write_list
from ricordo.common.errors import InputError

if TYPE_CHECKING:
    from ricordo.stores.user_memory.query import Filter
    from ricordo.stores.user_memory.rows import Row
    from ricordo.stores.user_memory.store import Forgotten, UserMemory

_INSIDE = ("seq", "slot", "same", "hash", "embedding_model", "length", "indexed")
"""Columns that nobody needs to see."""


def filter_of(
    type_: str | None,
    tags: Sequence[str] | None,
    importance: str | None,
    since: str | None,
    until: str | None,
    as_of: str | None,
    **more: Any,
) -> "Filter":
    """Make the filter of the options; dates are of this machine's time zone."""
    from ricordo.common.moments import begin_of, end_of
    from ricordo.stores.user_memory.query import Filter

    return Filter(
        type_,
        [output.as_text(tag) for tag in tags or ()],
        importance,
        since=begin_of(since, None) if since else None,
        until=end_of(until, None) if until else None,
        as_of=end_of(as_of, None) if as_of else None,
        **more,
    )


def write_rows(memory: "UserMemory", rows: "Sequence[Row]", *, as_json: bool, empty: str) -> None:
    """Write memories as a table, or say that there are none."""
    known = ["type", "importance", "origin", "content"]
    heads = ["since", "until", *known, "tags", "id"]
    write_list(
        {"user_id": memory.user_id, "memories": list(map(told, rows))},
        ["score", *heads] if rows and "score" in rows[0] else heads,
        [
            (
                *([f"{row['score']:.2f}"] if "score" in row else []),
                row["valid_from"],
                row["deleted_at"] or row["valid_to"],
                *(row[name] for name in known),
                ", ".join(row["tags"]),
                row["id"],
            )
            for row in rows
        ],
        f"'{output.plain(memory.user_id)}' has {empty}.",
        as_json=as_json,
    )


def report(memory: "UserMemory", done: "Forgotten", verb: str, holds: str, *, as_json: bool) -> None:
    """Tell what was forgotten or brought back, and what holds in its place."""
    if as_json:
        back = {"memory": told(done.memory), "with_it": [told(row) for row in done.with_it]}
        output.write_json({"user_id": memory.user_id, **back, "holds": told(done.holds) if done.holds else None})
        return
    for row in (done.memory, *done.with_it):
        output.note(f"{verb} {row['id']}: {output.plain(row['content'])}")
    if done.holds:
        output.note(f"{holds}: {done.holds['id']}: {output.plain(done.holds['content'])}")


def told(row: "Row") -> dict[str, Any]:
    """Return what is told of a memory."""
    return {name: value for name, value in row.items() if name not in _INSIDE}


def one_line(value: object) -> str:
    """Return a value on one line."""
    if isinstance(value, datetime):
        return local_time(value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else " ".join(str(value).split())


def read_file(file: str) -> str:
    """Read a file, or standard input for `-`.

    Raises:
        InputError: It cannot be read, or is no UTF-8.
    """
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{output.as_text(file)} cannot be read: {error}. Give a JSONL file in UTF-8.") from error
