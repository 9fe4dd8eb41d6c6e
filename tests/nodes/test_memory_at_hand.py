"""Memory is there when a task needs it: the tools in every call, what has to do with the task in the window."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ricordo.graph import prompts
from ricordo.stores.postgres.database import Database
from ricordo.stores.toolbox.box import toolbox
from ricordo.stores.user_memory.work import Said
from tests.support.harness import Harness, calls, open_harness, says
from tests.support.small_embedder import small_embedder

STORED = [
    "The user prefers window seats.",
    "The user likes green tea.",
    "The user's favourite colour is ochre.",
    "The user plays chess on Tuesdays.",
    "The user works as a cartographer.",
]
SEATS = STORED[0]
PLACES = ("flight", "hotel", "train", "table", "ticket")


@pytest.fixture
def crowd() -> Iterator[int]:
    """Some three hundred other tools, many of which book something."""
    names = [f"{verb}_{thing}_{i}" for i in range(15) for verb in ("book", "buy", "find", "plan") for thing in PLACES]
    for name in names:

        async def step(text: str) -> str:
            """Stand for a tool of a shop."""
            return text

        step.__name__, step.__doc__ = name, f"{name.replace('_', ' ')} for a customer."
        toolbox.register_tool(step, group="shop", side_effect=False)
    yield len(names)
    for name in names:
        toolbox.remove(name)


async def remember_all(harness: Harness, seats: str = SEATS) -> None:
    for said in (seats, *STORED[1:]):
        await harness.memory().user_memory.remember(Said(said, "preference"))


@pytest.mark.parametrize(
    ("seats", "question"),
    [
        (SEATS, "Book me a flight to NYC"),
        (SEATS, "Prenotami un volo per New York"),
        ("Preferisco il posto al finestrino.", "Book me a flight to NYC"),
        ("Preferisco il posto al finestrino.", "Prenotami un volo per New York"),
    ],
)
async def test_a_task_brings_the_preferences_that_it_needs_and_no_others(
    harness: Harness, seats: str, question: str
) -> None:
    await remember_all(harness, seats)
    await harness.ask(question, calls(("recall", {"query": question})), says("Which day?"))
    for shown in (harness.segment("User"), *harness.results()):
        assert f"> {seats}" in shown
        assert "tea" not in shown
        assert "ochre" not in shown


async def test_what_is_about_something_else_is_not_shown_and_that_is_said(harness: Harness) -> None:
    await harness.memory().user_memory.remember(Said(SEATS, "preference"))
    await harness.ask("favourite opera composer", calls(("recall", {"query": "opera composer"})), says("?"))
    assert harness.segment("User").endswith(
        "[empty: nothing relevant, and no standing preference or fact of high importance; recall finds all others]"
    )
    assert "nothing relevant" in harness.results()[0]


async def test_what_nobody_but_the_model_said_is_not_put_before_it(harness: Harness) -> None:
    await harness.memory().user_memory.remember(Said(SEATS, "preference", origin="agent"))
    await harness.ask("Book me a flight to NYC", calls(("recall", {"query": "flight seats"})), says("Which day?"))
    assert SEATS not in harness.segment("User")
    assert "concluded, not said by the user" in harness.results()[0]


async def test_a_critical_memory_that_fits_is_shown_once(harness: Harness) -> None:
    await harness.memory().user_memory.remember(Said(SEATS, "preference", "high"))
    await harness.ask("Which seat shall I take on the flight?", says("The window."))
    assert harness.segment("User").count(SEATS) == 1


async def test_recall_and_remember_are_in_every_call_whatever_the_number_of_tools(
    crowd: int, db: Database, tmp_path: Path
) -> None:
    assert crowd == 300
    async with open_harness(db, small_embedder(), tmp_path) as harness:
        for question in ("Book me a flight to NYC", "Prenotami un volo per New York", "What is 2 + 2?"):
            name = f"find_{PLACES[0]}_0"
            await harness.ask(question, calls((name, {"text": "x"})), says("Done."))
        assert len(harness.model.offered) == 6
        for offered in harness.model.offered:
            assert {"recall", "remember"} <= set(offered)


def test_the_model_is_told_to_recall_before_tasks_and_recommendations() -> None:
    assert "Before a task where the past may help" in prompts.SYSTEM
    assert "any personal recommendation, ask recall" in prompts.SYSTEM.replace("\n", " ")
