"""How a statement finds its place in user memory: known, in the place of what it contradicts, new, or refused."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, tzinfo
from typing import Literal
from uuid import UUID

from ricordo.common.errors import InputError
from ricordo.common.text import clean, make_id
from ricordo.common.words import terms
from ricordo.stores.postgres.connection import Connection
from ricordo.stores.search.units import Prepared, Query, Unit
from ricordo.stores.search.vectors import VectorMemory
from ricordo.stores.user_memory import history, rows
from ricordo.stores.user_memory.claims import parse
from ricordo.stores.user_memory.history import Actor, Event
from ricordo.stores.user_memory.rows import Row, Source
from ricordo.stores.user_memory.traces import erase
from ricordo.stores.user_memory.truth import Origin, Relation, may_replace, relation

Type = Literal["fact", "preference", "event", "task"]
Importance = Literal["low", "medium", "high"]
What = Literal["stored", "known", "merged", "replaced", "updated", "unchanged", "refused"]

LONGEST = 4_000
"""Characters of a memory."""
LEVELS = ("low", "medium", "high")
_CANDIDATES = 50
"""Memories, the likest, that a new one is compared with."""
_MOST_TAGS, _LONGEST_TAG = 20, 60


@dataclass(frozen=True)
class Said:
    """Something to remember."""

    content: str
    type: Type = "fact"
    importance: Importance = "medium"
    tags: Sequence[str] = ()
    origin: Origin = "user"
    thread_id: UUID | None = None
    message_id: UUID | None = None
    zone: tzinfo = UTC
    """The user's: on which day it was said."""

    def checked(self) -> "Said":
        """Return it clean.

        Raises:
            InputError: It is empty or too long, or has too many tags.
        """
        content = clean(self.content).strip()
        if not content:
            raise InputError("There is nothing to remember: the content is empty.")
        if len(content) > LONGEST:
            raise InputError(
                f"A memory has at most {LONGEST:,} characters, and this one has {len(content):,}. Remember the gist; a "
                "whole document belongs in the knowledge base (ricordo ingest)."
            )
        return replace(self, content=content, tags=tidy(self.tags))


def tidy(tags: Sequence[str]) -> list[str]:
    """Return tags in small letters, each once.

    Raises:
        InputError: There are too many, or one is too long.
    """
    tidied = list(dict.fromkeys(tag for each in tags if (tag := " ".join(clean(each).casefold().split()))))
    if len(tidied) > _MOST_TAGS or any(len(tag) > _LONGEST_TAG for tag in tidied):
        raise InputError(
            f"A memory has at most {_MOST_TAGS} tags of {_LONGEST_TAG} characters. Give fewer or shorter ones."
        )
    return tidied


@dataclass(frozen=True)
class Outcome:
    """What became of something that was to be remembered or changed."""

    what: What
    memory: Row
    """The memory that holds it now; where it was refused, the one that stands against it."""
    replaced: Sequence[Row] = ()
    """Memories that hold no longer."""


@dataclass(frozen=True)
class Work:
    """One statement on its way into memory, inside the transaction that holds the user's lock."""

    memory: VectorMemory
    conn: Connection
    user_id: str
    said: Said
    ready: Prepared
    """Its vector."""
    moment: datetime
    actor: Actor
    reason: str

    async def settle(self, chosen: Collection[UUID] = (), *, instead_of: Row | None = None) -> Outcome:
        """Find its place among what holds.

        Args:
            chosen: Memories that a model takes to be replaced.
            instead_of: The memory whose words it changes.
        """
        old = [instead_of] if instead_of else []
        if instead_of and not may_replace(self.said.origin, instead_of["origin"]):
            return await self._refuse(instead_of)
        claim = parse(self.said.content)
        known = await rows.live_same(self.conn, self.said.content)
        if known and (instead_of is None or known["id"] != instead_of["id"]):
            return await self._join(known, "known", old)
        others = [row for row in await self._candidates(chosen) if instead_of is None or row["id"] != instead_of["id"]]
        standing = [(row, relation(claim, parse(row["content"]))) for row in others]
        if known := next((row for row, how in standing if how is Relation.SAME), None):
            return await self._join(known, "merged", old)
        against = [*old, *(row for row, how in standing if how is Relation.CONTRADICTS or row["id"] in chosen)]
        if firm := next((row for row in against if not may_replace(self.said.origin, row["origin"])), None):
            return await self._refuse(firm)
        return await self._insert(claim.slot, against, "updated" if old else "replaced" if against else "stored")

    async def _candidates(self, chosen: Collection[UUID]) -> list[Row]:
        """Read what holds and may be the same or the opposite."""
        query = Query(self.said.content, self.ready.vectors[0], terms(self.said.content))
        hits = await self.memory.search(self.conn, query, _CANDIDATES, where=rows.LIVE)
        slots = {clause.slot for clause in parse(self.said.content).clauses if clause.slot}
        judged = [row for row in (await rows.get(self.conn, chosen)).values() if is_live(row)]
        found = [*(hit.row for hit in hits), *await rows.live_in_slots(self.conn, slots), *judged]
        return list({row["id"]: row for row in found}.values())

    async def _join(self, known: Row, what: What, old: Sequence[Row]) -> Outcome:
        """Add another source to what is known; one of less trust adds nothing else."""
        changed = known
        if may_replace(self.said.origin, known["origin"]):
            level = max(self.said.importance, known["importance"], key=LEVELS.index)
            origin = known["origin"] if may_replace(known["origin"], self.said.origin) else self.said.origin
            tags = tidy([*known["tags"], *self.said.tags])
            changed = await rows.amend(self.conn, known, self.moment, importance=level, tags=tags, origin=origin)
        await rows.retire(self.conn, [row["id"] for row in old], known["id"], self.moment)
        await self._note("repeat" if what == "known" else "merge", known["id"], old)
        return Outcome(what, changed, old)

    async def _insert(self, slot: str | None, against: Sequence[Row], what: What) -> Outcome:
        said, day = self.said, self.moment.astimezone(self.said.zone).date()
        key = make_id("user memory", self.user_id, said.content, self.moment.isoformat())
        columns = {
            **{name: getattr(said, name) for name in ("type", "importance", "origin", "thread_id", "message_id")},
            **dict.fromkeys(("created_at", "updated_at", "valid_from"), self.moment),
            "tags": list(said.tags),
            "same": f"\\x{rows.same_key(said.content).hex()}",
            "slot": slot,
            "said_on": day,
        }
        unit = Unit(key, said.content, columns, when=datetime.combine(day, time()))
        await rows.retire(self.conn, [row["id"] for row in against], key, self.moment)
        await self.memory.write(self.conn, self.user_id, replace(self.ready, units=[unit]))
        await self._note("update" if what == "updated" else "remember", key, against)
        return Outcome(what, (await rows.get(self.conn, [key]))[key], against)

    async def _refuse(self, firm: Row) -> Outcome:
        await history.note(
            self.conn,
            self.user_id,
            self.moment,
            Event(self.actor, "refuse", firm["id"], self.said.thread_id, f"against the word of the {firm['origin']}"),
        )
        return Outcome("refused", firm)

    async def _note(self, action: history.Action, key: UUID, replaced: Sequence[Row]) -> None:
        """Write down where it comes from and what was done; what it replaced goes from other memories too."""
        said = self.said
        if replaced:
            await erase(self.conn, self.memory.embedder, self.user_id, replaced, instead=said.content)
        source = Source(said.origin, said.content, said.thread_id, said.message_id)
        await rows.add_source(self.conn, self.user_id, key, source, self.moment)
        gone = [Event(self.actor, "supersede", row["id"], said.thread_id, self.reason, {"by": key}) for row in replaced]
        done = Event(self.actor, action, key, said.thread_id, self.reason, {"origin": said.origin})
        await history.note(self.conn, self.user_id, self.moment, *gone, done)


def is_live(row: Row) -> bool:
    """Tell whether a memory holds now."""
    return row["valid_to"] is None and row["deleted_at"] is None
