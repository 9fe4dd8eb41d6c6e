"""Entity memory: people, organisations, systems, places and papers, merged by name and alias, with their mentions.

Each name belongs to one entity of a user (`entity_names`). Who says that two names are one (`MemGPT (Memory GPT)`),
makes one entity of two, with the mentions of both.
"""

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np

from ricordo.common.text import make_id
from ricordo.stores.conversation import Connection, Row
from ricordo.stores.passages import Passage
from ricordo.stores.search.vectors import Hit, Prepared, Unit, VectorMemory

_MOST_ALIASES = 8


@dataclass(frozen=True)
class Entity:
    """A named thing and the sentence that speaks of it."""

    name: str
    type: str
    mention: str
    aliases: tuple[str, ...] = ()
    """Other names that the sentence gives it."""
    answered: bool = False
    """Whether the assistant said so, in its answer."""


@dataclass
class _Known:
    """An entity as it is stored, or is about to be."""

    id: UUID
    name: str
    type: str
    description: str
    aliases: list[str] = field(default_factory=list)
    rank: float = float("inf")
    """Older entities rank lower; a new one last."""
    changed: bool = False

    def learn(self, names: Sequence[str]) -> None:
        """Add names that it does not have yet."""
        known = {name_key(name) for name in (self.name, *self.aliases)}
        for name in names:
            if name_key(name) not in known and len(self.aliases) < _MOST_ALIASES:
                known.add(name_key(name))
                self.aliases.append(name)
                self.changed = True

    def unit(self) -> Unit:
        columns = {
            "name": self.name,
            "type": self.type,
            "aliases": list(self.aliases),
            "description": self.description,
        }
        return Unit(self.id, f"{_title(self.name, self.type, self.aliases)}: {self.description}", columns)


@dataclass(frozen=True)
class Plan:
    """What storing some entities will change."""

    units: Sequence[Unit]
    """New entities, and those that got another name."""
    names: Mapping[str, tuple[str, UUID]]
    """Each name's key, the name as it was written, and whose it is from now on."""
    merged: Mapping[UUID, UUID]
    """Entities that are no longer, and those that they are now."""
    mentions: Sequence[tuple[UUID, Entity]]


def name_key(name: str) -> str:
    """Fold a name: case, accents and spaces make no difference."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(c))
    return " ".join(plain.split())


def entity_id(user_id: str, name: str) -> UUID:
    """Return the id that an entity gets when it is first met under a name."""
    return make_id("entity", user_id, name_key(name))


async def plan(conn: Connection, user_id: str, entities: Sequence[Entity]) -> Plan:
    """See which entities are known, by any of their names, and what is to be written.

    Args:
        conn: A transaction of the user.
        user_id: Whose entities they are.
        entities: What a turn speaks of.
    """
    keys = {name_key(name) for entity in entities for name in (entity.name, *entity.aliases)} - {""}
    cursor = await conn.execute(
        "SELECT key, entity_id FROM entity_names WHERE user_id = %s AND key = ANY(%s)", (user_id, list(keys))
    )
    owner: dict[str, UUID] = {row["key"]: row["entity_id"] for row in await cursor.fetchall()}
    ids = {*owner.values(), *(entity_id(user_id, entity.name) for entity in entities)}
    cursor = await conn.execute(
        "SELECT id, name, type, description, aliases, seq FROM entity WHERE user_id = %s AND id = ANY(%s)",
        (user_id, list(ids)),
    )
    known = {
        row["id"]: _Known(row["id"], row["name"], row["type"], row["description"], list(row["aliases"]), row["seq"])
        for row in await cursor.fetchall()
    }
    owner = {key: one for key, one in owner.items() if one in known}  # another turn may just have merged it
    names: dict[str, tuple[str, UUID]] = {}
    merged: dict[UUID, UUID] = {}
    mentions: list[tuple[UUID, Entity]] = []
    for entity in entities:
        called = {key: name for name in (entity.name, *entity.aliases) if (key := name_key(name))}
        first = entity_id(user_id, entity.name)
        same = sorted({owner[key] for key in called if key in owner}, key=lambda i: (known[i].rank, str(i)))
        if not same and first not in known:
            known[first] = _Known(first, entity.name, entity.type, entity.mention, changed=True)
        keep = known[same[0] if same else first]
        for other in same[1:]:
            merged[other] = keep.id
            keep.learn([known[other].name, *known[other].aliases])
            owner.update({key: keep.id for key, one in owner.items() if one == other})
            names.update({key: (name, keep.id) for key, (name, one) in names.items() if one == other})
        keep.learn(list(called.values()))
        new = {key: (name, keep.id) for key, name in called.items() if owner.get(key) != keep.id}
        names.update(new)
        owner.update(dict.fromkeys(new, keep.id))
        mentions.append((keep.id, entity))
    units = [one.unit() for one in known.values() if one.changed and one.id not in merged]
    final = [(_last(merged, key), entity) for key, entity in mentions]
    return Plan(units, names, {gone: _last(merged, gone) for gone in merged}, final)


def _last(merged: Mapping[UUID, UUID], key: UUID) -> UUID:
    while key in merged:
        key = merged[key]
    return key


async def store(
    conn: Connection,
    memory: VectorMemory,
    user_id: str,
    entities: Sequence[Entity],
    ready: Prepared,
    *,
    question_id: UUID,
    answer_id: UUID | None = None,
) -> None:
    """Store entities with the messages that mention them, in the caller's transaction; again without effect.

    Args:
        conn: A transaction of the user.
        memory: The table of entities.
        user_id: Whose entities they are.
        entities: What a turn speaks of.
        ready: The units of an earlier `plan`, embedded.
        question_id: The message that mentions them.
        answer_id: The message that mentions those the assistant spoke of.

    Raises:
        EmbeddingError: Another turn has changed the entities meanwhile, and the model cannot be used.
    """
    if not entities:
        return
    await _lock(conn, user_id)
    now = await plan(conn, user_id, entities)
    await memory.rewrite(conn, user_id, await _prepared(conn, memory, user_id, now.units, ready))
    for gone, kept in now.merged.items():
        await _merge(conn, user_id, gone, kept)
    if now.names:
        await conn.execute(
            "INSERT INTO entity_names (user_id, key, name, entity_id) "
            "SELECT %s, * FROM unnest(%s::text[], %s::text[], %s::uuid[]) "
            "ON CONFLICT (user_id, key) DO UPDATE SET entity_id = excluded.entity_id",
            (user_id, list(now.names), *map(list, zip(*now.names.values(), strict=True))),
        )
    said = [(kept, answer_id if e.answered and answer_id else question_id, e.mention) for kept, e in now.mentions]
    await conn.execute(
        "INSERT INTO entity_mentions (user_id, entity_id, message_id, mention) "
        "SELECT %s, * FROM unnest(%s::uuid[], %s::uuid[], %s::text[]) ON CONFLICT DO NOTHING",
        (user_id, *map(list, zip(*said, strict=True))),
    )
    await conn.execute(
        "UPDATE entity SET updated_at = now() WHERE user_id = %s AND id = ANY(%s)",
        (user_id, [kept for kept, _ in now.mentions]),
    )


async def _lock(conn: Connection, user_id: str) -> None:
    """Let one transaction at a time change a user's entities: who meets the same names sees what became of them."""
    await conn.execute("SELECT pg_advisory_xact_lock(hashtextextended('entity ' || %s, 0))", (user_id,))


async def _prepared(
    conn: Connection, memory: VectorMemory, user_id: str, units: Sequence[Unit], ready: Prepared
) -> Prepared:
    """Take the vectors that are ready; embed here what another turn has changed since the plan was made."""
    vectors = {unit.searched: vector for unit, vector in zip(ready.units, ready.vectors, strict=True)}
    if not units or any(unit.searched not in vectors for unit in units):
        return await memory.prepare(conn, user_id, units)
    return Prepared(units, np.stack([vectors[unit.searched] for unit in units]))


async def _merge(conn: Connection, user_id: str, gone: UUID, kept: UUID) -> None:
    """Give one entity's mentions and names to another one, and delete it."""
    await conn.execute(
        "INSERT INTO entity_mentions (user_id, entity_id, message_id, mention, created_at) "
        "SELECT user_id, %s, message_id, mention, created_at FROM entity_mentions "
        "WHERE user_id = %s AND entity_id = %s ON CONFLICT DO NOTHING",
        (kept, user_id, gone),
    )
    await conn.execute(
        "UPDATE entity_names SET entity_id = %s WHERE user_id = %s AND entity_id = %s", (kept, user_id, gone)
    )
    await conn.execute("DELETE FROM entity WHERE user_id = %s AND id = %s", (user_id, gone))


async def take_back(
    conn: Connection, memory: VectorMemory, user_id: str, gone: Sequence[Row], described: Collection[UUID]
) -> None:
    """Delete mentions, and the entities that are left without one; others are described by what is left.

    Args:
        conn: A transaction of the user.
        memory: The table of entities.
        user_id: Whose entities they are.
        gone: Mentions: entity_id, message_id, mention.
        described: Entities whose description must go.

    Raises:
        EmbeddingError: The embedding model cannot be used.
    """
    await _lock(conn, user_id)
    keys = [[row[name] for row in gone] for name in ("entity_id", "message_id", "mention")]
    await conn.execute(
        "DELETE FROM entity_mentions m USING unnest(%s::uuid[], %s::uuid[], %s::text[]) AS g(entity, message, mention) "
        "WHERE (m.entity_id, m.message_id, m.mention) = (g.entity, g.message, g.mention)",
        keys,
    )
    cursor = await conn.execute(
        "SELECT e.id, e.name, e.type, e.aliases, e.description, (SELECT mention FROM entity_mentions "
        "WHERE entity_id = e.id ORDER BY created_at LIMIT 1) AS said FROM entity e WHERE id = ANY(%s)",
        (list({*keys[0], *described}),),
    )
    left = await cursor.fetchall()
    await conn.execute("DELETE FROM entity WHERE id = ANY(%s)", ([row["id"] for row in left if row["said"] is None],))
    said = set(keys[2])
    stale = [row for row in left if row["said"] and (row["id"] in described or row["description"] in said)]
    units = [_Known(row["id"], row["name"], row["type"], row["said"], row["aliases"]).unit() for row in stale]
    await memory.rewrite(conn, user_id, units)


async def mentions(conn: Connection, ids: Sequence[UUID], each: int = 2) -> list[Row]:
    """Read the latest mentions of some entities: entity_id, mention, created_at."""
    cursor = await conn.execute(
        "SELECT m.* FROM unnest(%s::uuid[]) e(id) CROSS JOIN LATERAL (SELECT entity_id, mention, created_at "
        "FROM entity_mentions WHERE entity_id = e.id ORDER BY created_at DESC LIMIT %s) m",
        (list(ids), each),
    )
    return await cursor.fetchall()


def passages(hits: Sequence[Hit], mentioned: Sequence[Row]) -> list[Passage]:
    """Lay out found entities: name, type, other names, the first mention and the latest ones (see `mentions`)."""
    said: dict[UUID, list[str]] = {}
    for row in mentioned:
        said.setdefault(row["entity_id"], []).append(row["mention"])
    laid_out = []
    for hit in hits:
        lines = dict.fromkeys([hit.row["description"], *reversed(said.get(hit.id, []))])
        text = "\n".join([_title(hit.row["name"], hit.row["type"], hit.row["aliases"]), *lines])
        laid_out.append(Passage(str(hit.id), f"id={hit.id} score={hit.closeness:.2f}", text))
    return laid_out


def _title(name: str, kind: str, aliases: Sequence[str]) -> str:
    return f"{name} ({kind}){', also called ' + ', '.join(aliases) if aliases else ''}"
