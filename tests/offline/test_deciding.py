"""What the offline model does with what the user says of themselves, and with numbers."""

import pytest

from ricordo.common.text import make_id
from ricordo.models.embeddings import Embedder
from ricordo.stores.passages import Passage, render_all
from ricordo.tools import toolbox
from tests.support.offline_desk import SHIPPED, Desk, chunk


@pytest.fixture
def desk(embedder: Embedder) -> Desk:
    return Desk(embedder)


_REMEMBERING = (*SHIPPED, "remember", "recall")


@pytest.mark.parametrize(
    "question",
    [
        "What am I allergic to?",
        "Am I allergic to nuts?",
        "Where do I live?",
        "Di cosa sono allergica?",
        "我对什么过敏？",
    ],
)
async def test_a_question_is_not_stored_as_its_answer(embedder: Embedder, question: str) -> None:
    asked = await Desk(embedder, tools=[toolbox.schema(name) for name in _REMEMBERING]).ask(question)
    assert "remember" not in asked.names


@pytest.mark.parametrize(
    "statement",
    ["I am allergic to peanuts.", "Remember that I have 3 kids", "Ricordati che ho 3 figli", "我对花生过敏"],
)
async def test_what_the_user_states_is_stored(embedder: Embedder, statement: str) -> None:
    asked = await Desk(embedder, tools=[toolbox.schema(name) for name in _REMEMBERING]).ask(statement)
    assert asked.names == ["remember"]


async def test_a_question_on_the_dialogue_is_not_answered_with_itself(desk: Desk) -> None:
    desk.talk = [("user", "I asked for the harbour master."), ("user", "What did I say about the harbour?")] * 2
    answered = await desk.ask("What did I say about the harbour?")
    assert answered.text.count("harbour master") == 1
    assert "What did I say" not in answered.text


@pytest.mark.parametrize("request_", ["Forget that I am allergic to peanuts", "Forget that I love jazz"])
async def test_what_is_to_be_forgotten_is_not_stored(embedder: Embedder, request_: str) -> None:
    asked = await Desk(embedder, tools=[toolbox.schema(name) for name in (*_REMEMBERING, "forget")]).ask(request_)
    assert "remember" not in asked.names


def recalled(*memories: str) -> str:
    return render_all(
        [Passage(str(make_id(text)), f"id={make_id(text)} date=2026-11-30T10:00Z type=fact", text) for text in memories]
    )


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the wifi code?", "the wifi code is 1234"),
        ("What is my wife's name?", "my wife is called Lucia"),
        ("Come si chiama mia moglie?", "my wife is called Lucia"),
    ],
)
async def test_user_memory_is_looked_into_where_the_window_does_not_answer(
    embedder: Embedder, question: str, answer: str
) -> None:
    desk = Desk(embedder, tools=[toolbox.schema(name) for name in _REMEMBERING])
    desk.memory["Knowledge Base"] = (chunk("router.txt", "The default password is printed on the bottom label."),)
    desk.run["recall"] = lambda _: recalled("my wife is called Lucia", "the wifi code is 1234", "I love espresso")
    asked = await desk.ask(question)
    assert asked.names == ["recall"]
    assert answer in asked.text


async def test_what_memory_does_not_hold_either_is_not_made_up(embedder: Embedder) -> None:
    desk = Desk(embedder, tools=[toolbox.schema(name) for name in _REMEMBERING])
    desk.run["recall"] = lambda _: recalled("I moved to Milan")
    assert "Milan" not in (await desk.ask("What is the capital of France?")).text


@pytest.mark.parametrize(
    ("question", "answer"),
    [("What is the limit for London?", "| London | 240 euros |"), ("How much is it in Oslo?", "| Oslo | 190 euros |")],
)
async def test_a_row_of_a_table_is_quoted_with_its_head(desk: Desk, question: str, answer: str) -> None:
    table = "| City | Hotel limit per night |\n|---|---|\n| London | 240 euros |\n| Oslo | 190 euros |"
    desk.memory["Knowledge Base"] = (chunk("rates.md", table),)
    answered = (await desk.ask(question)).text
    assert answer in answered
    assert "| City | Hotel limit per night |" in answered


async def test_lines_of_prose_are_no_table(desk: Desk) -> None:
    prose = "We sold 1,200 apples in May.\nThey paid 3,400 euros in June."
    desk.memory["Knowledge Base"] = (chunk("sales.txt", prose),)
    assert "…" not in (await desk.ask("How many apples did we sell?")).text


async def test_what_is_said_in_passing_is_not_stored(embedder: Embedder) -> None:
    desk = Desk(embedder, tools=[toolbox.schema(name) for name in _REMEMBERING])
    asked = await desk.ask("My question is how transformers work.")
    assert "remember" not in asked.names
