"""Entity memory: people, organisations, systems, places and papers, merged by name, with where they were mentioned."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from stores.conversation import Connection, Row
from stores.passages import Passage
from stores.text import make_id
from stores.vectors import Hit, Unit


@dataclass(frozen=True)
class Entity:
    """A named thing and the sentence that speaks of it."""

    name: str
    type: str
    mention: str


def entity_id(user_id: str, name: str) -> UUID:
    """Return the id of an entity: case, accents and spaces make no difference."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(c))
    return make_id("entity", user_id, " ".join(plain.split()))


def unit(user_id: str, entity: Entity) -> Unit:
    """Make the unit of an entity, described by its first mention."""
    columns = {"name": entity.name, "type": entity.type, "description": entity.mention}
    return Unit(entity_id(user_id, entity.name), f"{entity.name} ({entity.type}): {entity.mention}", columns)


def units(user_id: str, entities: Sequence[Entity]) -> list[Unit]:
    """Make the units of entities, each id once and in a fixed order, so that two writers cannot deadlock."""
    return sorted({u.id: u for u in (unit(user_id, e) for e in reversed(entities))}.values(), key=lambda u: u.id)


def passages(hits: Sequence[Hit], mentioned: Sequence[Row]) -> list[Passage]:
    """Lay out found entities: name, type, the first mention and the latest ones (see `mentions`)."""
    said: dict[UUID, list[str]] = {}
    for row in mentioned:
        said.setdefault(row["entity_id"], []).append(row["mention"])
    laid_out = []
    for hit in hits:
        lines = dict.fromkeys([hit.row["description"], *reversed(said.get(hit.id, []))])
        text = "\n".join([f"{hit.row['name']} ({hit.row['type']})", *lines])
        laid_out.append(Passage(str(hit.id), f"id={hit.id} score={hit.score:.2f}", text))
    return laid_out


async def add_mentions(conn: Connection, user_id: str, message_id: UUID, entities: Sequence[Entity]) -> None:
    """Note where entities were mentioned; a replayed write changes nothing."""
    for entity in sorted(entities, key=lambda e: entity_id(user_id, e.name)):
        key = entity_id(user_id, entity.name)
        await conn.execute(
            "INSERT INTO entity_mentions (user_id, entity_id, message_id, mention) VALUES (%s, %s, %s, %s) "
            "ON CONFLICT DO NOTHING",
            (user_id, key, message_id, entity.mention),
        )
        await conn.execute("UPDATE entity SET updated_at = now() WHERE id = %s", (key,))


async def mentions(conn: Connection, ids: Sequence[UUID], each: int = 2) -> list[Row]:
    """Read the latest mentions of some entities: entity_id, mention, created_at."""
    cursor = await conn.execute(
        "SELECT m.* FROM unnest(%s::uuid[]) e(id) CROSS JOIN LATERAL (SELECT entity_id, mention, created_at "
        "FROM entity_mentions WHERE entity_id = e.id ORDER BY created_at DESC LIMIT %s) m",
        (list(ids), each),
    )
    return await cursor.fetchall()
