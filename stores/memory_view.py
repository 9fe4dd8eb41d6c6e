"""User memories as the window and the tools show them."""

from datetime import datetime

from stores.memory_rows import Row
from stores.passages import Passage, stamp

_UNVERIFIED = {"agent": "agent (concluded, not said by the user)", "tool": "tool (read somewhere, not verified)"}


def passage(
    row: Row, score: float | None = None, *, as_of: datetime | None = None, reader: str | None = None
) -> Passage:
    """Lay out a memory.

    Args:
        row: The memory.
        score: How well it fits the question, if there was one.
        as_of: The moment as of which it is shown; what held then may hold no longer.
        reader: Who reads it; a memory that another user shares says whose it is.
    """
    head = [f"id={row['id']}", f"date={stamp(row['valid_from'])}", f"type={row['type']}"]
    head += [f"importance={row['importance']}", f"origin={_UNVERIFIED.get(row['origin'], row['origin'])}"]
    head += [f"shared by={row['user_id']}"] if reader and row["user_id"] != reader else []
    head += [f"tags={','.join(row['tags'])}"] if row["tags"] else []
    if as_of is not None and row["valid_to"] is not None:
        head.append(f"held until={stamp(row['valid_to'])}, then replaced")
    head += [f"score={score:.2f}"] if score is not None else []
    return Passage(str(row["id"]), " ".join(head), row["content"])
