import asyncio

import pytest

from ricordo.common.errors import ToolError
from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.database import EVERYONE, Database
from tests.support.toolboxes import SETTINGS, TOOLS, Counting, best, box_of


async def rows_of(db: Database) -> list[str]:
    async with db.transaction(EVERYONE) as conn:
        return [row["name"] for row in await (await conn.execute("SELECT name FROM toolbox ORDER BY 1")).fetchall()]


async def written_by(db: Database) -> list[str]:
    """Tell which transactions wrote the rows as they are."""
    async with db.transaction(EVERYONE) as conn:
        cursor = await conn.execute("SELECT DISTINCT xmin::text AS xid FROM toolbox ORDER BY 1")
        return [row["xid"] for row in await cursor.fetchall()]


async def test_only_what_changed_is_embedded_again(db: Database, counting: Counting) -> None:
    changes = await box_of(TOOLS).sync(db, counting)
    assert (sorted(TOOLS), counting.texts) == (list(changes.added), 2 * len(TOOLS))

    changes = await box_of(TOOLS).sync(db, counting)
    assert (changes.unchanged, changes.added, changes.changed, changes.removed) == (3, (), (), ())
    assert counting.texts == 2 * len(TOOLS), "an unchanged tool costs nothing"

    changes = await box_of({**TOOLS, "send_mail": "Send a letter by post."}).sync(db, counting)
    assert (changes.changed, changes.unchanged) == (("send_mail",), 2)
    assert counting.texts == 2 * len(TOOLS) + 2


async def test_what_is_gone_is_removed_and_costs_nothing_when_it_comes_back(db: Database, counting: Counting) -> None:
    await box_of(TOOLS).sync(db, counting)
    changes = await box_of({"send_mail": TOOLS["send_mail"]}).sync(db, counting)
    assert changes.removed == ("list_directory", "tell_weather")
    assert await rows_of(db) == ["send_mail"]
    before = counting.texts
    box = box_of(TOOLS)
    await box.sync(db, counting)
    assert (counting.texts, await rows_of(db)) == (before, sorted(TOOLS))
    assert await best(box, "Regnet es in der Stadt?") == "tell_weather"


async def test_a_catalogue_read_back_finds_by_meaning(db: Database, counting: Counting) -> None:
    await box_of(TOOLS).sync(db, counting)
    box = box_of(TOOLS)
    await box.sync(db, counting)
    assert await best(box, "informa per posta elettronica il mio collega") == "send_mail"
    assert await best(box, "今天会下雨吗") == "tell_weather"


async def test_a_tool_set_aside_stays_aside(db: Database, counting: Counting) -> None:
    box = box_of(TOOLS)
    await box.sync(db, counting)
    await box.set_enabled(db, "send_mail", enabled=False)
    assert await best(box, "send an e-mail") != "send_mail"

    await box_of({}).sync(db, counting)  # a start without it
    changed = box_of({**TOOLS, "send_mail": "Send an e-mail quickly."})
    await changed.sync(db, counting)
    assert changed.disabled("send_mail")
    assert changed.hidden(SETTINGS) == {"send_mail"}
    assert await best(changed, "send an e-mail") != "send_mail"

    await changed.set_enabled(db, "send_mail", enabled=True)
    assert await best(changed, "send an e-mail") == "send_mail"


async def test_an_unknown_tool_cannot_be_set_aside(db: Database, counting: Counting) -> None:
    box = box_of(TOOLS)
    with pytest.raises(ToolError, match="not in the catalogue yet"):
        await box.set_enabled(db, "send_mail", enabled=False)
    await box.sync(db, counting)
    with pytest.raises(ToolError, match="no tool called 'send_mial'"):
        await box.set_enabled(db, "send_mial", enabled=False)


async def test_tools_of_a_server_that_is_down_keep_their_place(db: Database, counting: Counting) -> None:
    await box_of(TOOLS, group="far").sync(db, counting)
    box = box_of({})
    box.kept_groups.add("far")
    assert (await box.sync(db, counting)).removed == ()
    assert await rows_of(db) == sorted(TOOLS)
    assert await box.search("send an e-mail", 3, settings=SETTINGS) == []


async def test_another_embedding_model_makes_its_own_vectors(db: Database, counting: Counting) -> None:
    await box_of(TOOLS).sync(db, counting)
    other = Counting(counting.real, name="other")
    assert len((await box_of(TOOLS).sync(db, other)).changed) == 3
    assert other.texts == 2 * len(TOOLS)


async def test_one_process_embeds_a_tool_once_for_all_its_databases(db: Database, counting: Counting) -> None:
    box = box_of(TOOLS)
    await box.sync(db, counting)
    async with db.transaction(EVERYONE) as conn:  # another database, as far as the toolbox can tell
        await conn.execute("DELETE FROM toolbox")
    await box.sync(db, counting)
    assert counting.texts == 2 * len(TOOLS)
    assert await rows_of(db) == sorted(TOOLS)


async def test_a_catalogue_from_before_the_light_model_is_completed(db: Database, counting: Counting) -> None:
    await box_of(TOOLS).sync(db, counting)
    async with db.transaction(EVERYONE) as conn:
        await conn.execute("UPDATE toolbox SET light = NULL, light_model = NULL")
    changes = await box_of(TOOLS).sync(db, counting)
    assert len(changes.changed) == 3
    assert counting.texts == 2 * len(TOOLS), "the vectors of the deployment's model stay"
    assert (await box_of(TOOLS).sync(db, counting)).unchanged == 3


async def test_without_the_light_model_the_other_finds_the_tools(
    db: Database, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    light = Counting(counting.real, name="light")
    light.fails = True
    monkeypatch.setattr("ricordo.stores.toolbox.catalogue.light_embedder", lambda: light)
    box = box_of(TOOLS)
    await box.sync(db, counting)
    assert await best(box, "今天会下雨吗") == "tell_weather"
    monkeypatch.undo()
    assert len((await box_of(TOOLS).sync(db, counting)).changed) == 3, "the next start makes up for it"


async def test_without_the_model_words_find_the_tools(db: Database, counting: Counting) -> None:
    counting.fails = True
    box = box_of(TOOLS)
    await box.sync(db, counting)
    assert await best(box, "the weather in town") == "tell_weather"
    assert await rows_of(db) == [], "what has no vector is made at the next start"
    counting.fails = False
    assert len((await box_of(TOOLS).sync(db, counting)).added) == 3

    await box.sync(db, counting)
    counting.fails = True
    assert await best(box, "send somebody an e-mail") == "send_mail", "a model that fails later does no harm either"
    assert await best(box, "今天会下雨吗") == "tell_weather", "the light model still knows what is meant"


async def test_a_broken_tool_is_reported_and_does_not_stop_the_others(db: Database, counting: Counting) -> None:
    class Opaque: ...

    def broken(thing: Opaque) -> str:
        """Break."""
        return str(thing)

    box = box_of(TOOLS)
    box.register_tool(broken)
    changes = await box.sync(db, counting)
    assert list(changes.failed) == ["broken"]
    assert len(changes.added) == 3


async def test_odd_texts_are_stored(db: Database, counting: Counting) -> None:
    box = box_of({"odd": "a\x00b \ud800 " + "x" * 50_000, "bare": "?"}, tags=["t\x00"], group="g\ud800")
    await box.sync(db, counting)
    assert (await box_of({}).sync(db, counting)).removed == ("bare", "odd")


async def test_two_processes_may_synchronise_at_once(db: Database, counting: Counting) -> None:
    boxes = [box_of(TOOLS) for _ in range(3)]
    await asyncio.gather(*(box.sync(db, counting) for box in boxes))
    assert await rows_of(db) == sorted(TOOLS)


async def test_everyone_reads_the_catalogue_and_no_user_writes_it(db: Database, counting: Counting) -> None:
    await box_of(TOOLS).sync(db, counting)
    async with db.transaction("ada") as conn:
        cursor = await conn.execute("SELECT count(*) AS n FROM toolbox")
        assert await cursor.fetchone() == {"n": 3}
        assert (await conn.execute("DELETE FROM toolbox")).rowcount == 0


async def test_thousands_are_indexed_with_progress_and_a_start_without_news_embeds_and_writes_nothing(
    db: Database, embedder: Embedder
) -> None:
    counting = Counting(embedder, chance=True)
    many = {f"tool_{i}": f"Do number {i} with care, by method {i % 37}." for i in range(2000)}
    told: list[tuple[str, int, int]] = []
    await box_of(many).sync(db, counting, progress=lambda *step: told.append(step))
    assert told[-1] == ("indexing tools", 2000, 2000)
    assert len(told) > 20

    embedded, written = counting.texts, await written_by(db)
    assert (await box_of(many).sync(db, counting)).unchanged == 2000
    assert (counting.texts, await written_by(db)) == (embedded, written)
