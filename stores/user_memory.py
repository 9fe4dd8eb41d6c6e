"""User memory: what holds, what held, and how each came and went. See `docs/memory.md`."""

import hashlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal
from uuid import UUID

from graph.errors import InputError, NotFoundError
from stores import memory_history as history
from stores import memory_rows as rows
from stores.claims import Claim, normal, parse
from stores.connection import Connection
from stores.database import Database
from stores.lexical import terms
from stores.memory_history import Actor, Event
from stores.memory_query import Filter
from stores.memory_rows import Row, Source
from stores.text import clean, make_id, parse_id
from stores.truth import Origin, Relation, may_replace, near, relation
from stores.units import Hit, Prepared, Query, Unit, literal, make_query
from stores.vectors import VectorMemory

Type = Literal["fact", "preference", "event", "task"]
Importance = Literal["low", "medium", "high"]
What = Literal["stored", "known", "merged", "replaced", "updated", "unchanged", "refused"]
Judge = Callable[[str, Sequence[Row]], Awaitable[Collection[UUID]]]
"""Asked which of some memories a new statement replaces; it need not be right."""

LONGEST = 4_000
"""Characters of a memory."""
_LEVELS = ("low", "medium", "high")
_CANDIDATES = 50
"""Memories, the likest, that a new one is compared with."""
_JUDGED = 5
_MOST_TAGS, _LONGEST_TAG = 20, 60
_CRITICAL = 50


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


@dataclass(frozen=True)
class Outcome:
    """What became of something that was to be remembered or changed."""

    what: What
    memory: Row
    """The memory that holds it now; where it was refused, the one that stands against it."""
    replaced: Sequence[Row] = field(default_factory=list)
    """Memories that no longer hold."""


class UserMemory:
    """The memories of one user."""

    def __init__(self, db: Database, memory: VectorMemory, user_id: str) -> None:
        self.db = db
        self.memory = memory
        self.user_id = user_id

    async def remember(
        self, said: Said, *, actor: Actor = "agent", reason: str = "", judge: Judge | None = None
    ) -> Outcome:
        """Remember something: once, and in the place of what it contradicts.

        What is known already gets another source. What it contradicts stays in history, with the time in which it held;
        but what the user said gives way to the user's own words alone.

        Args:
            said: What, by whom, where.
            actor: Who asks for it.
            reason: Why, for the audit trail.
            judge: Asked which near memories are replaced beside those that are contradicted by their words.

        Raises:
            InputError: It is empty or too long.
            EmbeddingError: The embedding model cannot be used.
        """
        said = _checked(said)
        ready = await self._embed(said)
        chosen = await self._judged(said, ready, judge)
        async with self.db.transaction(self.user_id) as conn:
            work = _Work(self, conn, said, ready, await rows.lock(conn), actor, reason)
            return await work.settle(chosen)

    async def update(
        self,
        memory_id: str,
        *,
        content: str | None = None,
        importance: Importance | None = None,
        tags: Sequence[str] | None = None,
        said: Said | None = None,
        actor: Actor = "agent",
        reason: str = "",
    ) -> Outcome:
        """Change a memory, or what has taken its place since.

        Args:
            memory_id: Its id.
            content: New words; the old ones stay in history.
            importance: The new one.
            tags: The new ones, in place of the old.
            said: Where the new words come from; None: from the user.
            actor: Who asks for it.
            reason: Why, for the audit trail.

        Raises:
            InputError: Nothing is to be changed, or the words are empty or too long.
            NotFoundError: This user has no such memory, or it was forgotten.
        """
        if content is None and importance is None and tags is None:
            raise InputError("Nothing is to be changed. Give new content, an importance, or tags.")
        old = await self.current(memory_id)
        if content is not None:
            source = said or Said("", thread_id=old["thread_id"])
            source = replace(source, content=content, type=old["type"], importance=importance or old["importance"])
            new = _checked(replace(source, tags=old["tags"] if tags is None else tags))
            ready = await self._embed(new)
        async with self.db.transaction(self.user_id) as conn:
            moment = await rows.lock(conn)
            old = await self._current(conn, memory_id)
            if content is not None and new.content != old["content"]:
                return await _Work(self, conn, new, ready, moment, actor, reason).settle(instead_of=old)
            changed = await rows.amend(
                conn, old, moment, importance=importance, tags=None if tags is None else _tags(tags)
            )
            if changed != old:
                detail = {name: [old[name], changed[name]] for name in ("importance", "tags")}
                event = Event(actor, "update", old["id"], None, reason, detail)
                await history.note(conn, self.user_id, moment, event)
        return Outcome("unchanged" if changed == old else "updated", changed)

    async def current(self, memory_id: str) -> Row:
        """Read a memory, or what has taken its place since.

        Raises:
            NotFoundError: This user has no such memory, or it was forgotten.
        """
        async with self.db.transaction(self.user_id) as conn:
            return await self._current(conn, memory_id)

    async def _current(self, conn: Connection, memory_id: str) -> Row:
        row = await rows.latest(conn, parse_id(memory_id, "memory"))
        if row is None:
            raise missing(memory_id)
        if row["deleted_at"] is not None:
            raise NotFoundError(
                f"The memory '{row['id']}' was forgotten. The user can bring it back by `ricordo memory undo {row['id']}`."
            )
        return row

    async def recall(self, query: Query | str, limit: int = 5, **filters: object) -> list[Hit]:
        """Find what fits a question, among what holds.

        Args:
            query: The question.
            limit: How many, at most.
            **filters: Those of `Filter`: type, tags, importance, since, until, as_of.

        Raises:
            InputError: The question is empty.
            EmbeddingError: The embedding model cannot be used.
        """
        if not (query if isinstance(query, str) else query.text).strip():
            raise InputError("The query is empty: say what the memories should be about.")
        ready = await make_query(self.memory.embedder, query) if isinstance(query, str) else query
        where, params = Filter(**filters).condition()  # type: ignore[arg-type]  # its own fields say what is allowed
        async with self.db.transaction(self.user_id) as conn:
            return await self.memory.search(conn, ready, limit, where=where, params=params)

    async def critical(self) -> list[Row]:
        """Read what always stands in the window, the newest first."""
        async with self.db.transaction(self.user_id) as conn:
            return await rows.critical(conn, _CRITICAL)

    async def nearest(self, content: str, k: int = _JUDGED) -> list[Row]:
        """Read the live memories that are nearest to a statement in meaning and words."""
        if not content.strip():
            return []
        return [hit.row for hit in await self.recall(content, k)]

    async def _embed(self, said: Said) -> Prepared:
        async with self.db.transaction(self.user_id) as conn:
            draft = Unit(make_id(said.content), said.content, {})
            return await self.memory.prepare(conn, self.user_id, [draft])

    async def _judged(self, said: Said, ready: Prepared, judge: Judge | None) -> Collection[UUID]:
        if judge is None:
            return []
        async with self.db.transaction(self.user_id) as conn:
            vector = literal(ready.vectors[0])
            found = await rows.nearest_live(conn, vector, self.memory.embedder.model_id, _JUDGED)
        claim = parse(said.content)
        candidates = [
            row
            for row in found
            # Halfway from the average memory to the same one: vectors of unlike models are not alike in size.
            if (row["likeness"] >= (1 + row["average"]) / 2 or near(claim, parse(row["content"])))
            and may_replace(said.origin, row["origin"])
            and relation(claim, parse(row["content"])) is Relation.UNRELATED
        ]
        asked = {row["id"] for row in candidates}
        return asked & set(await judge(said.content, candidates)) if candidates else []


class _Work:
    """One statement on its way into memory, inside the transaction that holds the user's lock."""

    def __init__(
        self, memory: UserMemory, conn: Connection, said: Said, ready: Prepared, moment: datetime, actor: Actor, reason: str
    ) -> None:
        self._memory, self._conn, self._user_id = memory.memory, conn, memory.user_id
        self._said, self._ready, self._moment = said, ready, moment
        self._actor, self._reason = actor, reason
        self._claim = parse(said.content)
        self._same = hashlib.sha256(normal(said.content).encode()).digest()

    async def settle(self, chosen: Collection[UUID] = (), *, instead_of: Row | None = None) -> Outcome:
        """Find its place among what holds.

        Args:
            chosen: Memories that a model holds to be replaced.
            instead_of: The memory whose words it changes.
        """
        old = [instead_of] if instead_of else []
        others = [row for row in await self._candidates(chosen) if row["id"] not in {one["id"] for one in old}]
        if (known := await rows.live_same(self._conn, self._same)) and known not in old:
            return await self._join(known, "known", old)
        standing = [(row, relation(self._claim, parse(row["content"]))) for row in others]
        if known := next((row for row, how in standing if how is Relation.SAME), None):
            return await self._join(known, "merged", old)
        against = [*old, *(row for row, how in standing if how is Relation.CONTRADICTS or row["id"] in chosen)]
        if firm := next((row for row in against if not may_replace(self._said.origin, row["origin"])), None):
            return Outcome("refused", firm)
        return await self._insert(against, "updated" if old else "replaced" if against else "stored")

    async def _candidates(self, chosen: Collection[UUID]) -> list[Row]:
        query = Query(self._said.content, self._ready.vectors[0], terms(self._said.content))
        hits = await self._memory.search(self._conn, query, _CANDIDATES, where=rows.LIVE)
        slots = {clause.slot for clause in self._claim.clauses if clause.slot}
        judged = (await rows.get(self._conn, chosen)).values() if chosen else ()
        live = [row for row in judged if row["valid_to"] is None and row["deleted_at"] is None]
        found = [*(hit.row for hit in hits), *await rows.live_in_slots(self._conn, slots), *live]
        return list({row["id"]: row for row in found}.values())

    async def _join(self, known: Row, what: What, old: Sequence[Row]) -> Outcome:
        """Add another source to what is known; a source of less trust adds nothing else."""
        said, changed = self._said, known
        if may_replace(said.origin, known["origin"]):
            level = max(said.importance, known["importance"], key=_LEVELS.index)
            origin = known["origin"] if may_replace(known["origin"], said.origin) else said.origin
            tags = _tags([*known["tags"], *said.tags])
            changed = await rows.amend(self._conn, known, self._moment, importance=level, tags=tags, origin=origin)
        await self._add_source(known["id"])
        await self._retire(old, known["id"])
        action: history.Action = "repeat" if what == "known" else "merge"
        await self._note(Event(self._actor, action, known["id"], said.thread_id, self._reason, {"origin": said.origin}))
        return Outcome(what, changed, old)

    async def _insert(self, against: Sequence[Row], what: What) -> Outcome:
        said, day = self._said, self._moment.astimezone(self._said.zone).date()
        key = make_id("user memory", self._user_id, said.content, self._moment.isoformat())
        columns = {
            **{name: getattr(said, name) for name in ("type", "importance", "origin", "thread_id", "message_id")},
            "tags": list(said.tags),
            **dict.fromkeys(("created_at", "updated_at", "valid_from"), self._moment),
            "same": "\\x" + self._same.hex(),
            "slot": _slot(self._claim),
            "said_on": day,
        }
        unit = Unit(key, said.content, columns, when=datetime.combine(day, datetime.min.time()))
        # What holds no longer must end first: a statement holds once at a time.
        await self._retire_first(against)
        await self._memory.write(self._conn, self._user_id, replace(self._ready, units=[unit]))
        await self._retire(against, key)
        await self._add_source(key)
        action: history.Action = "update" if what == "updated" else "remember"
        await self._note(Event(self._actor, action, key, said.thread_id, self._reason, {"origin": said.origin}))
        stored = await rows.get(self._conn, [key])
        return Outcome(what, stored[key], against)
