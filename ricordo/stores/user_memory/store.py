"""User memory: what holds, what held, and how each came and went. See `docs/memory.md`."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from ricordo.common.errors import InputError, NotFoundError
from ricordo.common.text import make_id, parse_id
from ricordo.common.words import terms
from ricordo.stores.postgres.connection import Connection
from ricordo.stores.search.units import Prepared, Query, Unit, literal
from ricordo.stores.user_memory import history, rows
from ricordo.stores.user_memory.claims import parse
from ricordo.stores.user_memory.history import Actor, Event
from ricordo.stores.user_memory.reading import MemoryReader, missing
from ricordo.stores.user_memory.rows import LIVE, Row
from ricordo.stores.user_memory.traces import erase
from ricordo.stores.user_memory.truth import Relation, may_replace, near, relation
from ricordo.stores.user_memory.work import Importance, Outcome, Said, Work, is_live, tidy

Judge = Callable[[str, Sequence[Row]], Awaitable[Collection[UUID]]]
"""Asked which of some memories a new statement replaces; it need not be right."""

_JUDGED = 5


@dataclass(frozen=True)
class Forgotten:
    """What was forgotten, or brought back."""

    memory: Row
    with_it: Sequence[Row]
    """Earlier words of it."""
    holds: Row | None
    """What had taken its place and holds, or takes its place now that it is back."""


class UserMemory(MemoryReader):
    """The memories of one user."""

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
            judge: Asked which near memories are replaced beside those that are contradicted word for word.

        Raises:
            InputError: It is empty or too long.
            EmbeddingError: The embedding model cannot be used.
        """
        said = said.checked()
        ready = await self._embed(said.content)
        chosen = await self._judged(said, ready, judge) if judge else []
        async with self.db.transaction(self.user_id) as conn:
            moment = await rows.lock(conn)
            work = Work(self.memory, conn, self.user_id, said, ready, moment, actor, reason)
            return await work.settle(chosen)

    async def update(
        self,
        memory_id: str,
        *,
        content: str | None = None,
        importance: Importance | None = None,
        tags: Sequence[str] | None = None,
        source: Said | None = None,
        actor: Actor = "agent",
        reason: str = "",
    ) -> Outcome:
        """Change a memory, or what has taken its place since.

        Args:
            memory_id: Its id.
            content: New words; the old ones stay in history.
            importance: The new one.
            tags: The new ones, in place of the old.
            source: Origin, thread, message and zone of the new words; None: the user's.
            actor: Who asks for it.
            reason: Why, for the audit trail.

        Raises:
            InputError: Nothing is to be changed, or the words are empty or too long.
            NotFoundError: This user has no such memory, or it was forgotten.
        """
        if content is None and importance is None and tags is None:
            raise InputError("Nothing is to be changed. Give new content, an importance, or tags.")
        new = replace(source or Said(""), content=content or "", importance=importance or "medium", tags=tags or ())
        ready = None if content is None else await self._embed((new := new.checked()).content)
        async with self.db.transaction(self.user_id) as conn:
            moment = await rows.lock(conn)
            old = await self._current(conn, memory_id)
            if ready is not None and new.content != old["content"]:
                kept = {} if importance else {"importance": old["importance"]}
                kept |= {} if tags is not None else {"tags": old["tags"]}
                new = replace(new, type=old["type"], thread_id=new.thread_id or old["thread_id"], **kept)
                work = Work(self.memory, conn, self.user_id, new, ready, moment, actor, reason)
                return await work.settle(instead_of=old)
            wanted = None if tags is None else tidy(tags)
            changed = await rows.amend(conn, old, moment, importance=importance, tags=wanted)
            if changed == old:
                return Outcome("unchanged", old)
            detail = {name: [old[name], changed[name]] for name in ("importance", "tags")}
            event = Event(actor, "update", old["id"], new.thread_id, reason, detail)
            await history.note(conn, self.user_id, moment, event)
        return Outcome("updated", changed)

    async def forget(
        self, memory_id: str, reason: str, *, actor: Actor = "agent", thread: UUID | None = None
    ) -> Forgotten:
        """Forget a memory and its earlier words; it can be brought back until it is purged.

        What workflows and entities hold of it goes at once, and for good.

        Raises:
            NotFoundError: This user has no such memory, or it was forgotten before.
            EmbeddingError: The embedding model cannot be used.
        """
        key = parse_id(memory_id, "memory")
        async with self.db.transaction(self.user_id) as conn:
            moment = await rows.lock(conn)
            row = (await rows.get(conn, [key])).get(key)
            if row is None or row["deleted_at"] is not None:
                raise missing(memory_id, row)
            gone = [one for one in await rows.line(conn, key, forward=False) if one["deleted_at"] is None]
            await rows.mark_forgotten(conn, [one["id"] for one in gone], moment, reason)
            await erase(conn, self.memory.embedder, self.user_id, gone)
            events = [Event(actor, "forget", one["id"], thread, reason) for one in gone]
            await history.note(conn, self.user_id, moment, *events)
            last = await rows.latest(conn, key)
        return Forgotten(row, [one for one in gone if one["id"] != key], last if last and is_live(last) else None)

    async def end(self, memory_id: str, reason: str, *, actor: Actor = "agent", thread: UUID | None = None) -> Row:
        """End a task or an event that is done, over or off: it holds no longer, and stays in history.

        Raises:
            InputError: It has ended before.
            NotFoundError: This user has no such memory, or it was forgotten.
        """
        async with self.db.transaction(self.user_id) as conn:
            moment = await rows.lock(conn)
            row = await self._current(conn, memory_id)
            if not is_live(row):
                raise InputError(f"The memory '{row['id']}' has ended already: it is in history.")
            await rows.retire(conn, [row["id"]], None, moment)
            await history.note(conn, self.user_id, moment, Event(actor, "end", row["id"], thread, reason))
        return row

    async def undo(self, memory_id: str | None = None, *, days: float, actor: Actor = "user") -> Forgotten:
        """Bring back what was forgotten together with a memory, or last of all.

        Where something else holds by now that says the same or the opposite, what is brought back goes into history.

        Args:
            memory_id: Its id; None: the last one that was forgotten.
            days: For how long it can be undone.
            actor: Who asks for it.

        Raises:
            NotFoundError: Nothing was forgotten in that time, or not this.
        """
        key = parse_id(memory_id, "memory") if memory_id else None
        async with self.db.transaction(self.user_id) as conn:
            moment = await rows.lock(conn)
            found = await rows.forgotten_since(conn, moment - timedelta(days=days))
            first = next((row for row in found if key in {None, row["id"]}), None)
            if first is None:
                what = f"The memory '{memory_id}' was not" if memory_id else "Nothing was"
                raise NotFoundError(
                    f"{what} forgotten in the last {days:g} days, the time in which it can be undone "
                    "(RICORDO_MEMORY_UNDO_DAYS). `ricordo memory list --state forgotten` shows what can come back."
                )
            back = [row for row in found if row["deleted_at"] == first["deleted_at"]]
            head = next((row for row in back if row["valid_to"] is None), first)
            holds = await self._in_the_way(conn, head) if head["valid_to"] is None else None
            if holds:
                await rows.retire(conn, [head["id"]], holds["id"], moment)
            await rows.bring_back(conn, [row["id"] for row in back], moment)
            await history.note(conn, self.user_id, moment, *(Event(actor, "undo", row["id"]) for row in back))
        return Forgotten(head, [row for row in back if row["id"] != head["id"]], holds)

    async def _in_the_way(self, conn: Connection, back: Row) -> Row | None:
        """Return what holds by now in the place of a memory that was forgotten."""
        claim = parse(back["content"])
        query = Query(back["content"], None, terms(back["content"]))
        hits = [hit.row for hit in await self.memory.search(conn, query, 50, where=LIVE)]
        others = [*hits, *await rows.live_in_slots(conn, [back["slot"]] if back["slot"] else [])]
        return next((row for row in others if relation(claim, parse(row["content"])) is not Relation.UNRELATED), None)

    async def purge(self, *, days: float, actor: Actor = "system") -> int:
        """Delete for good what was forgotten more than some days ago, its words in the audit trail too.

        Returns:
            How many memories there were.
        """
        return await history.purge(self.db, self.user_id, days=days, actor=actor)

    async def refuse(self, reason: str, thread_id: UUID | None = None) -> None:
        """Write down that something was not remembered or forgotten, and why."""
        async with self.db.transaction(self.user_id) as conn:
            moment = await rows.lock(conn)
            await history.note(conn, self.user_id, moment, Event("agent", "refuse", None, thread_id, reason))

    async def _embed(self, content: str) -> Prepared:
        """Embed before the transaction that holds the lock, which then need not wait for the model."""
        async with self.db.transaction(self.user_id) as conn:
            return await self.memory.prepare(conn, self.user_id, [Unit(make_id(content), content, {})])

    async def _judged(self, said: Said, ready: Prepared, judge: Judge) -> Collection[UUID]:
        """Ask which memories are replaced, of those that are near enough for the answer to be believed."""
        async with self.db.transaction(self.user_id) as conn:
            model = self.memory.embedder.model_id
            found = await rows.nearest_live(conn, literal(ready.vectors[0]), model, _JUDGED)
        claim = parse(said.content)

        def is_near(row: Row) -> bool:
            # Halfway from the average memory to the very same one: models differ in how alike all their vectors are.
            return bool(row["likeness"] >= (1 + row["average"]) / 2) or near(claim, parse(row["content"]))

        asked = [row for row in found if is_near(row) and may_replace(said.origin, row["origin"])]
        if not asked or any(relation(claim, parse(row["content"])) is Relation.SAME for row in asked):
            return []
        return {row["id"] for row in asked} & set(await judge(said.content, asked))
