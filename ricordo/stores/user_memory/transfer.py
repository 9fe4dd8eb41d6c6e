"""User memory out of the database and back in: as lines of JSON, with validity, history and sources."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from typing import Any
from uuid import UUID

import numpy as np

from ricordo.common.errors import InputError
from ricordo.common.text import make_id
from ricordo.stores.postgres.connection import Connection
from ricordo.stores.search.units import Prepared, Unit
from ricordo.stores.user_memory import history, rows
from ricordo.stores.user_memory.claims import normal, parse
from ricordo.stores.user_memory.history import Actor, Event
from ricordo.stores.user_memory.lines import EventLine, MemoryLine, SourceLine, read_lines
from ricordo.stores.user_memory.rows import Source
from ricordo.stores.user_memory.store import UserMemory

_AT_ONCE = 64
"""Texts embedded in one go, between two words of progress."""

_AS_TOLD = (
    "type",
    "importance",
    "tags",
    "origin",
    "thread_id",
    "message_id",
    "valid_to",
    "deleted_at",
    "delete_reason",
    "superseded_by",
)

Progress = Callable[[int, int], None]
"""Told how many memories are embedded, of how many."""


@dataclass(frozen=True)
class Imported:
    """What came of an import."""

    memories: int
    """New ones."""
    known: int
    """Those that were there already."""
    events: int
    """New entries of the audit trail."""


async def export_memory(memory: UserMemory, *, actor: Actor = "user") -> list[str]:
    """Write all memories of a user as lines of JSON, with the audit trail; the export is noted in it."""
    async with memory.db.transaction(memory.user_id) as conn:
        moment = await rows.lock(conn)
        found = await rows.select(conn, rows.EVERY)
        sources = await rows.sources(conn, [row["id"] for row in found])
        events = await history.read(conn)
        await history.note(
            conn, memory.user_id, moment, Event(actor, "export", detail={"memories": len(found), "events": len(events)})
        )
    head = {"version": 1, "user_id": memory.user_id}
    told: list[dict[str, Any]] = []
    for row in found:
        said = [_without(source, "id", "memory_id") for source in sources[row["id"]]]
        told.append({"kind": "memory", **head, **_without(row, "seq", "slot"), "sources": said})
    told += [{"kind": "event", **head, **_without(event, "seq")} for event in events]
    return [json.dumps(line, ensure_ascii=False, default=_plain) for line in told]


def _without(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


async def import_memory(
    memory: UserMemory, lines: Iterable[str], *, actor: Actor = "user", progress: Progress = lambda _done, _all: None
) -> Imported:
    """Store what an export holds: all of it, or nothing. What is there already stays as it is.

    Args:
        memory: The memories that it is added to.
        lines: Lines of JSON, as `export_memory` writes them; of a memory `content` alone is enough.
        actor: Who asks for it.
        progress: Told how far it is.

    Raises:
        InputError: A line cannot be read, or names what is not there. Nothing was stored.
        EmbeddingError: The embedding model cannot be used.
    """
    numbered = [(number, _as_mine(line, memory.user_id)) for number, line in read_lines(lines)]
    told = [_Told.of(number, line, memory.user_id) for number, line in numbered if isinstance(line, MemoryLine)]
    events = [line for _, line in numbered if isinstance(line, EventLine)]
    _check_lines_of_succession(told)
    ready = await _embed(memory, told, progress)
    async with memory.db.transaction(memory.user_id) as conn:
        moment = await rows.lock(conn)
        work = _Import(memory, conn, moment, actor)
        new = await work.store(told, ready)
        return Imported(len(new), len(told) - len(new), await work.store_events(events, new))


def _as_mine(line: MemoryLine | EventLine, user_id: str) -> MemoryLine | EventLine:
    """Give what was another user's ids of this user's own, and no place in the other one's threads."""
    if line.user_id in {None, user_id}:
        return line

    def mine(key: UUID | None) -> UUID | None:
        return key and make_id("imported", user_id, key)

    changes: dict[str, Any] = {"id": mine(line.id), "thread_id": None}
    if isinstance(line, EventLine):
        return line.model_copy(update=changes | {"memory_id": mine(line.memory_id)})
    bare = [source.model_copy(update={"thread_id": None, "message_id": None}) for source in line.sources]
    return line.model_copy(
        update=changes | {"superseded_by": mine(line.superseded_by), "message_id": None, "sources": bare}
    )


@dataclass(frozen=True)
class _Told:
    """A memory of a file, on its way in."""

    number: int
    line: MemoryLine
    unit: Unit
    same: bytes

    @classmethod
    def of(cls, number: int, line: MemoryLine, user_id: str) -> "_Told":
        now = datetime.now(UTC)
        begin = line.valid_from or line.created_at or now
        content, same = line.content.strip(), rows.same_key(line.content)
        key = line.id or make_id("imported", user_id, normal(content), line.valid_from, line.valid_to)
        day = line.said_on or begin.date()
        columns = {
            **{name: getattr(line, name) for name in _AS_TOLD},
            "created_at": line.created_at or begin,
            "updated_at": line.updated_at or begin,
            "valid_from": begin,
            "same": f"\\x{same.hex()}",
            "slot": parse(content).slot,
            "said_on": day,
        }
        return cls(number, line, Unit(key, content, columns, when=datetime.combine(day, time())), same)

    @property
    def is_live(self) -> bool:
        return self.line.valid_to is None and self.line.deleted_at is None

    def sources(self) -> list[SourceLine]:
        begin = self.unit.columns["valid_from"]
        return self.line.sources or [SourceLine(origin=self.line.origin, wording=self.unit.content, said_at=begin)]


def _check_lines_of_succession(told: Sequence[_Told]) -> None:
    """Raise where memories replace each other in a circle."""
    after = {one.unit.id: one.line.superseded_by for one in told}
    for one in told:
        seen, key = set[UUID](), one.line.superseded_by
        while key is not None and key not in seen:
            seen.add(key)
            key = after.get(key)
        if key is not None:
            raise InputError(f"Line {one.number} cannot be imported: its line of superseded_by is a circle.")


async def _embed(memory: UserMemory, told: Sequence[_Told], progress: Progress) -> Prepared:
    vectors = []
    for start in range(0, len(told), _AT_ONCE):
        units = [one.unit for one in told[start : start + _AT_ONCE]]
        async with memory.db.transaction(memory.user_id) as conn:
            vectors.append((await memory.memory.prepare(conn, memory.user_id, units)).vectors)
        progress(start + len(units), len(told))
    return Prepared([one.unit for one in told], np.concatenate(vectors) if vectors else np.empty((0, 0), np.float32))


class _Import:
    """An import inside its one transaction."""

    def __init__(self, memory: UserMemory, conn: Connection, moment: datetime, actor: Actor) -> None:
        self._memory, self._conn, self._moment, self._actor = memory, conn, moment, actor

    async def store(self, told: Sequence[_Told], ready: Prepared) -> list[UUID]:
        """Store what is new; return its ids."""
        stored = await rows.get(self._conn, [one.unit.id for one in told])
        places = await self._places(told, stored)
        own = {one.unit.id: i for i, one in reversed(list(enumerate(told))) if places[one.unit.id] == one.unit.id}
        fresh = sorted(i for key, i in own.items() if key not in stored)
        units = [self._pointing(told[i], places) for i in fresh]
        await self._check_targets([told[i] for i in fresh], units)
        batch = replace(ready, units=units, vectors=ready.vectors[fresh])
        written = set(await self._memory.memory.write(self._conn, self._memory.user_id, batch))
        for i in fresh:
            if told[i].unit.id not in written:
                raise InputError(
                    f"Line {told[i].number} cannot be imported: its id is taken. Leave out `id`, and it gets another."
                )
        for one in told:
            for said in one.sources():
                source = Source(said.origin, said.wording, said.thread_id, said.message_id)
                await rows.add_source(self._conn, self._memory.user_id, places[one.unit.id], source, said.said_at)
        return [unit.id for unit in units]

    async def _places(self, told: Sequence[_Told], stored: Mapping[UUID, object]) -> dict[UUID, UUID]:
        """Find the row of each: its own, or the one that states the same and holds."""
        live: dict[bytes, UUID] = {}
        places: dict[UUID, UUID] = {}
        for one in told:
            place = one.unit.id
            if one.is_live and place not in stored:
                if one.same not in live:
                    there = await rows.live_same(self._conn, one.unit.content)
                    live[one.same] = there["id"] if there else place
                place = live[one.same]
            places[one.unit.id] = place
        return places

    def _pointing(self, one: _Told, places: Mapping[UUID, UUID]) -> Unit:
        target = one.line.superseded_by
        place = places.get(target, target) if target else None
        return replace(one.unit, columns={**one.unit.columns, "superseded_by": place})

    async def _check_targets(self, told: Sequence[_Told], units: Sequence[Unit]) -> None:
        targets = {unit.columns["superseded_by"] for unit in units} - {None} - {unit.id for unit in units}
        missing = targets - set(await rows.get(self._conn, targets))
        for one, unit in zip(told, units, strict=True):
            if unit.columns["superseded_by"] in missing:
                raise InputError(
                    f"Line {one.number} cannot be imported: superseded_by names a memory that is neither in the file "
                    "nor stored. Add its line, or leave out `superseded_by`."
                )

    async def store_events(self, events: Sequence[EventLine], new: Sequence[UUID]) -> int:
        """Store the audit trail, and what was imported now; return how many entries of the file are new."""
        user_id, count = self._memory.user_id, 0
        for event in events:
            what = Event(event.actor, event.action, event.memory_id, event.thread_id, event.reason, event.detail)
            count += await history.restore(self._conn, user_id, event.id, event.at, what)
        await history.note(self._conn, user_id, self._moment, *(Event(self._actor, "import", key) for key in new))
        return count
