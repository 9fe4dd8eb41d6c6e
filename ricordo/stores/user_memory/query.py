"""Which memories are meant: by kind, by time, by what became of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg import sql

from ricordo.common.errors import InputError
from ricordo.stores.user_memory.rows import LIVE

State = Literal["live", "superseded", "forgotten", "all"]

_STATES = {
    "live": LIVE,
    "superseded": sql.SQL("valid_to IS NOT NULL AND deleted_at IS NULL"),
    "forgotten": sql.SQL("deleted_at IS NOT NULL"),
    "all": sql.SQL("true"),
}
_SAID = sql.SQL(
    "(valid_from BETWEEN %s AND %s OR EXISTS (SELECT FROM user_memory_sources s WHERE s.user_id = user_memory.user_id "
    "AND s.memory_id = user_memory.id AND s.said_at BETWEEN %s AND %s))"
)
_AS_OF = sql.SQL("deleted_at IS NULL AND valid_from <= %s AND (valid_to IS NULL OR valid_to > %s)")


@dataclass(frozen=True)
class Filter:
    """A condition on memories; what is None or empty asks nothing."""

    type: str | None = None
    tags: Sequence[str] = ()
    """At least one of them."""
    importance: str | None = None
    origin: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    """Said between these two moments, both included: first, or again."""
    as_of: datetime | None = None
    """What held at that moment; None: what holds now."""
    state: State = "live"
    """Ignored beside `as_of`."""

    @property
    def bounds(self) -> bool:
        """Whether it is about a time or a tag: all within these bounds is asked for then, the best first."""
        return bool(self.tags or self.since or self.until or self.as_of)

    def condition(self) -> tuple[sql.Composed, list[Any]]:
        """Return the condition with its parameters.

        Raises:
            InputError: The span of time ends before it begins.
        """
        parts: list[sql.Composable] = [_STATES[self.state]]
        params: list[Any] = []
        if self.as_of is not None:
            parts, params = [_AS_OF], [self.as_of, self.as_of]
        for column in ("type", "importance", "origin"):
            if (value := getattr(self, column)) is not None:
                parts.append(sql.SQL("{} = %s").format(sql.Identifier(column)))
                params.append(value)
        if self.tags:
            parts.append(sql.SQL("tags && %s::text[]"))
            params.append([tag.strip().casefold() for tag in self.tags])
        if self.since or self.until:
            if self.since and self.until and self.since > self.until:
                raise InputError(f"Nothing lies between {self.since:%Y-%m-%d} and {self.until:%Y-%m-%d}: swap the two.")
            parts.append(_SAID)
            params += [self.since or "-infinity", self.until or "infinity"] * 2
        return sql.SQL(" AND ").join(parts), params
