"""What one user lets another one read: no more than that, no longer than that, and never to write."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from ricordo.common.errors import InputError, NotFoundError
from ricordo.common.text import make_id
from ricordo.models.embeddings import Embedder
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.connection import Connection
from ricordo.stores.postgres.database import EVERYONE, Database
from ricordo.stores.search.vectors import Query, Unit, VectorMemory, ensure_space, make_query
from ricordo.stores.sharing import add_share, change_team, revoke_share, shares_of, team_members

BOATS = "The boat Fulmar lies at berth twelve."
TEA = "The tea is kept in the blue tin."
OLD = "The boat Fulmar lay at berth three."


@pytest.fixture
def memory(embedder: Embedder) -> VectorMemory:
    return VectorMemory("user_memory", embedder)


@pytest.fixture
async def annas(db: Database, embedder: Embedder, memory: VectorMemory) -> None:
    await ensure_space(db.dsn, embedder)
    await remember(db, memory, "anna", BOATS, tags=["boats"])
    await remember(db, memory, "anna", TEA, tags=["house"])
    await remember(db, memory, "anna", OLD, tags=["boats"], deleted_at=datetime.now(UTC))


async def remember(db: Database, memory: VectorMemory, user: str, text: str, **columns: Any) -> None:
    common = {"type": "fact", "origin": "user"}
    async with db.transaction(user) as conn:
        await memory.write(conn, user, [Unit(make_id(user, text), text, common | columns)])


async def found(db: Database, memory: VectorMemory, user: str, question: str = "Where is the boat?") -> list[str]:
    query = await make_query(memory.embedder, question)
    async with db.transaction(user, shared=True) as conn:
        return [hit.content for hit in await memory.search(conn, query, 10)]


async def column(conn: Connection, query: str, *params: object) -> list[Any]:
    cursor = await conn.execute(query.encode(), params)
    return [next(iter(row.values())) for row in await cursor.fetchall()]


@pytest.mark.usefixtures("annas")
async def test_what_is_shared_is_found_until_it_is_revoked_and_nothing_before(
    db: Database, memory: VectorMemory
) -> None:
    assert await found(db, memory, "berta") == []
    share = await add_share(db, "anna", kind="user_memory", with_user="berta")
    assert await found(db, memory, "berta") == [BOATS, TEA]
    assert await found(db, memory, "carla") == []
    await revoke_share(db, "anna", str(share.id))
    assert await found(db, memory, "berta") == []
    async with db.transaction("berta", shared=True) as conn:
        assert await column(conn, "SELECT term FROM user_memory_terms") == []


@pytest.mark.usefixtures("annas")
async def test_a_hit_says_whose_it_is_and_own_and_shared_are_one_ranking(db: Database, memory: VectorMemory) -> None:
    await remember(db, memory, "berta", "Berta keeps a boat called Petrel in the shed.")
    await remember(db, memory, "berta", "Berta buys bread on Fridays.")
    await add_share(db, "anna", kind="user_memory", with_user="berta")
    query = await make_query(memory.embedder, "At which berth lies the boat Fulmar?")
    async with db.transaction("berta", shared=True) as conn:
        hits = await memory.search(conn, query, 10)
    assert [hit.row["user_id"] for hit in hits[:2]] == ["anna", "berta"]
    assert len(hits) == 4
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert scores[1] < 0.7 * scores[0], "the best of one owner must not score as the best of all"


@pytest.mark.usefixtures("annas")
async def test_only_a_search_that_asks_for_it_sees_what_is_shared(db: Database, memory: VectorMemory) -> None:
    await add_share(db, "anna", kind="user_memory", with_user="berta")
    query = await make_query(memory.embedder, "Where is the boat?")
    for shared, count in ((False, 0), (True, 2), (False, 0)):
        async with db.transaction("berta", shared=shared) as conn:
            assert len(await memory.search(conn, query, 10)) == count
            assert len(await column(conn, "SELECT id FROM user_memory")) == count


@pytest.mark.usefixtures("annas")
async def test_a_tag_limits_a_share_in_the_words_index_too(db: Database, memory: VectorMemory) -> None:
    await add_share(db, "anna", kind="user_memory", with_user="berta", tag=" Boats")
    assert await found(db, memory, "berta", "the blue tin of tea, the boat") == [BOATS]
    async with db.transaction("berta", shared=True) as conn:
        words = set(await column(conn, "SELECT term FROM user_memory_terms"))
        assert await column(conn, "SELECT content FROM user_memory") == [BOATS]
    assert {"fulmar", "berth"} <= words
    assert not words & {"tea", "tin", "three"}, "neither another tag's words nor those of what was forgotten"


@pytest.mark.usefixtures("annas")
async def test_two_tags_add_up_and_the_whole_outdoes_both(db: Database, memory: VectorMemory) -> None:
    for tag in ("boats", "nothing has this one"):
        await add_share(db, "anna", kind="user_memory", with_user="berta", tag=tag)
    assert await found(db, memory, "berta") == [BOATS]
    await add_share(db, "anna", kind="user_memory", with_user="berta")
    assert await found(db, memory, "berta") == [BOATS, TEA]


@pytest.mark.usefixtures("annas")
async def test_what_is_shared_cannot_be_written(db: Database) -> None:
    await add_share(db, "anna", kind="user_memory", with_user="berta")
    async with db.transaction("berta", shared=True) as conn:
        assert (await conn.execute("UPDATE user_memory SET content = 'x'")).rowcount == 0
        assert (await conn.execute("DELETE FROM user_memory")).rowcount == 0
        assert (await conn.execute("DELETE FROM user_memory_terms")).rowcount == 0
        assert (await conn.execute("UPDATE shares SET tag = NULL, with_user = 'carla'")).rowcount == 0
    async with db.transaction("anna") as conn:
        assert len(await column(conn, "SELECT id FROM user_memory")) == 3


@pytest.mark.usefixtures("annas")
async def test_a_share_is_not_passed_on(db: Database, memory: VectorMemory) -> None:
    await add_share(db, "anna", kind="user_memory", with_user="berta")
    await add_share(db, "berta", kind="user_memory", with_user="carla")
    assert await found(db, memory, "carla") == []


@pytest.mark.usefixtures("annas")
async def test_a_team_reads_as_long_as_one_is_in_it(db: Database, memory: VectorMemory) -> None:
    assert await change_team(db, "crew", add=["berta", "carla"]) == ["berta", "carla"]
    await add_share(db, "anna", kind="user_memory", with_team="crew")
    for member in ("berta", "carla"):
        assert await found(db, memory, member) == [BOATS, TEA]
    assert await found(db, memory, "dora") == []
    assert await change_team(db, "crew", add=["dora"], remove=["carla"]) == ["berta", "dora"]
    assert await found(db, memory, "carla") == []
    assert await found(db, memory, "dora") == [BOATS, TEA]


async def test_nobody_joins_a_team_alone_but_everybody_may_leave(db: Database) -> None:
    await change_team(db, "crew", add=["anna", "berta"])
    async with db.transaction("berta") as conn:
        assert await column(conn, "SELECT member FROM team_members") == ["berta"]
        assert (await conn.execute("UPDATE team_members SET team = 'bridge'")).rowcount == 0
        assert (await conn.execute("DELETE FROM team_members")).rowcount == 1
    assert await team_members(db, "crew") == ["anna"]


async def test_documents_are_shared_and_cited_with_their_owner(db: Database, embedder: Embedder) -> None:
    await ensure_space(db.dsn, embedder)
    anna = MemoryManager(db, embedder, "anna")
    await anna.write_knowledge_base("The lamp burns whale oil.", {"source": "lamp.txt"})
    await anna.for_user("berta").write_knowledge_base("The stove burns peat.", {"source": "stove.txt"})
    await MemoryManager(db, embedder, EVERYONE).write_knowledge_base("The forge burns coal.", {"source": "forge.txt"})
    berta = anna.for_user("berta")

    async def heads() -> list[str]:
        return [f"{p.text} {p.head}" for p in await berta.read_knowledge_base("What does the lamp burn?", k=5)]

    assert not any("whale" in head for head in await heads())
    share = await add_share(db, "anna", kind="knowledge_base", with_user="berta")
    seen = await heads()
    assert len(seen) == 3
    assert "whale" in seen[0]
    assert 'source=lamp.txt shared by "anna"' in seen[0]
    assert not any("shared by" in head for head in seen[1:]), "own documents and those for everyone are not"
    assert [d.source for d in await berta.knowledge_base.documents("berta")] == ["forge.txt", "stove.txt"]
    await revoke_share(db, "anna", str(share.id))
    assert not any("whale" in head for head in await heads())


async def test_places_of_two_users_who_share_do_not_mix(db: Database, embedder: Embedder, memory: VectorMemory) -> None:
    await ensure_space(db.dsn, embedder)
    for user in ("anna", "berta"):
        for text in ("Gulls breed here.", "Terns breed here."):
            await remember(db, memory, user, f"{user}: {text}", thread_id=make_id("one thread for all"))
    await add_share(db, "anna", kind="user_memory", with_user="berta")
    async with db.transaction("berta", shared=True) as conn:
        places = await column(conn, "SELECT place FROM user_memory")
    assert len(set(places)) == 4, "both wrote to a thread of the same id"


async def test_the_same_share_again_is_the_same_and_can_be_given_anew(db: Database) -> None:
    first = await add_share(db, "anna", kind="user_memory", with_user="berta")
    assert await add_share(db, "anna", kind="user_memory", with_user="berta") == first
    await revoke_share(db, "anna", str(first.id))
    second = await add_share(db, "anna", kind="user_memory", with_user="berta")
    assert second.id != first.id
    assert [share.id for share in await shares_of(db, "anna")] == [second.id]
    assert {share.id for share in await shares_of(db, "berta", revoked=True)} == {first.id, second.id}
    assert await shares_of(db, "carla") == []


async def test_a_share_is_revoked_by_its_giver_alone_and_once(db: Database) -> None:
    share = await add_share(db, "anna", kind="user_memory", with_user="berta")
    with pytest.raises(NotFoundError, match="given no share"):
        await revoke_share(db, "berta", str(share.id))
    await revoke_share(db, "anna", str(share.id))
    with pytest.raises(NotFoundError, match="given no share"):
        await revoke_share(db, "anna", str(share.id))
    with pytest.raises(NotFoundError):
        await revoke_share(db, "anna", "nonsense")


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"with_user": "berta", "with_team": "crew"},
        {"with_user": "anna"},
        {"with_user": "*"},
        {"with_user": ""},
        {"with_user": " berta"},
        {"with_user": "berta", "kind": "knowledge_base", "tag": "boats"},
        {"with_user": "berta", "tag": ""},
        {"with_user": "berta", "tag": "t" * 201},
    ],
)
async def test_a_share_that_makes_no_sense_is_refused(db: Database, arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        await add_share(db, "anna", **({"kind": "user_memory"} | arguments))


async def test_a_team_that_does_not_exist_is_named(db: Database) -> None:
    with pytest.raises(NotFoundError, match="no team 'crew'"):
        await add_share(db, "anna", kind="user_memory", with_team="crew")


@pytest.mark.parametrize("names", [["*"], [""], ["a", "\x00"]])
async def test_a_team_has_real_members(db: Database, names: Sequence[str]) -> None:
    with pytest.raises(InputError):
        await change_team(db, "crew", add=names)


async def test_words_of_shared_documents_count_only_while_they_are_shared(
    db: Database, embedder: Embedder, memory: VectorMemory
) -> None:
    """Rarity is taken over what the reader may read; the cached statistics of one view never serve another."""
    await ensure_space(db.dsn, embedder)
    for number in range(120):
        await remember(db, memory, "anna", f"gull number {number}")
    for number in range(120):
        await remember(db, memory, "berta", f"tern number {number}")
    query = Query("gull", None, (await make_query(embedder, "gull tern")).terms)
    await add_share(db, "anna", kind="user_memory", with_user="berta")
    for shared, owners in ((True, {"anna", "berta"}), (False, {"berta"}), (True, {"anna", "berta"})):
        async with db.transaction("berta", shared=shared) as conn:
            hits = await memory.search(conn, query, 300)
        assert {hit.row["user_id"] for hit in hits} == owners
    kept = memory._search._kept
    assert {key: known.units for key, known in kept.items()} == {("berta", "anna"): 240, ("berta",): 120}
