"""Tasks and events end when the user says that they are done, over or off."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest

from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.database import Database
from ricordo.stores.user_memory.firewall import Heard, Spoken, may_end
from ricordo.stores.user_memory.query import Filter
from ricordo.stores.user_memory.work import Said
from tests.support.harness import Harness, calls, open_harness, says

KEY = UUID(int=7)


@pytest.fixture
async def harness(db: Database, embedder: Embedder, tmp_path: Path) -> AsyncIterator[Harness]:
    async with open_harness(db, embedder, tmp_path) as opened:
        yield opened


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Buy rope for the boat.", "I have bought the rope, that is done."),
        ("Pay the rent.", "The rent is done, tick it off."),
        ("The dinner with Quill is on Monday.", "The dinner with Quill is off."),
        ("The regatta is on 2 May 2031.", "The regatta is over."),
        ("La cena con Luca è lunedì.", "La cena con Luca è saltata."),
        ("Comprare la corda.", "Ho comprato la corda, fatto!"),
        ("Den Bericht schreiben.", "Der Bericht ist erledigt."),
        ("买绳子", "绳子买了，完成了。"),
    ],
)
def test_what_the_user_calls_done_over_or_off_may_end(content: str, said: str) -> None:
    assert may_end(content, KEY, Heard(now=[Spoken(KEY, said)]))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Pay the rent.", "Is the rent done?"),
        ("Pay the rent.", "The rent is not done yet."),
        ("Pay the rent.", "The report is done."),
        ("Pay the rent.", "Tell me when the rent is done."),
        ("The regatta is on 2 May 2031.", "The regatta will be over by noon."),
        ("La cena con Luca è lunedì.", "La cena con Luca non è ancora finita."),
        ("Pay the rent.", "> The rent is done."),
        ("Pay the rent.", "Hello."),
    ],
)
def test_what_is_open_asked_or_quoted_may_not(content: str, said: str) -> None:
    assert not may_end(content, KEY, Heard(now=[Spoken(KEY, said)]))


def test_this_is_what_was_spoken_of_just_now() -> None:
    heard = Heard(now=[Spoken(KEY, "That is done.")], asked="Do not forget to pay the rent.")
    assert may_end("Pay the rent.", KEY, heard)
    assert not may_end("Buy rope.", KEY, heard)


async def test_a_task_that_is_done_ends_and_stays_in_history(harness: Harness) -> None:
    memory = harness.memory().user_memory
    task = (await memory.remember(Said("Pay the rent of the boathouse.", "task"))).memory
    fact = (await memory.remember(Said("The rent of the boathouse is 40 crowns.", "fact"))).memory

    async def forget(said: str, key: UUID) -> str:
        await harness.ask(said, calls(("forget", {"memory_id": str(key), "reason": "done"})), says("Fine."))
        return harness.results()[-1]

    assert (await forget("The rent of the boathouse is done.", fact["id"])).startswith("Not forgotten")
    told = await forget("I paid the rent of the boathouse, it is done.", task["id"])
    assert told.startswith("Ended: it holds no longer and stays in history.")
    assert [row["id"] for row in await memory.list()] == [fact["id"]]
    assert [row["id"] for row in await memory.list(Filter(state="superseded"))] == [task["id"]]
    assert [event["action"] for event in await memory.history(str(task["id"]))] == ["remember", "end"]
    assert "ended already" in await forget("The rent of the boathouse is done.", task["id"])
    again = await memory.remember(Said("Pay the rent of the boathouse.", "task"))
    assert again.what == "stored", "next month it is a task again"
