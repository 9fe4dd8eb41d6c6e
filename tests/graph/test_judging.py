"""A chat model's opinion on what a memory replaces: heard where it can be true, and harmless where it is nonsense."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.database import Database
from tests.support.harness import Harness, Reply, calls, open_harness, says
from tests.support.remembering import contents

DARK, LIGHT = "I prefer dark mode in my editor", "I prefer light mode in my editor"
DOG = "I have a dog called Rex"


@pytest.fixture
async def harness(db: Database, embedder: Embedder, tmp_path: Path) -> AsyncIterator[Harness]:
    async with open_harness(db, embedder, tmp_path, summary_model="scripted") as opened:
        for content in (DOG, DARK):
            await opened.ask(f"Remember: {content}", calls(("remember", {"content": content})), says("Noted."))
        yield opened


async def remember(harness: Harness, content: str, *opinions: Reply) -> list[str]:
    await harness.ask(f"Remember: {content}", calls(("remember", {"content": content})), *opinions, says("Noted."))
    return await contents(harness.memory().user_memory)


async def test_the_model_is_asked_about_what_is_near_and_believed(harness: Harness) -> None:
    assert await remember(harness, LIGHT, calls(("Replaced", {"replaced": [1]}))) == [LIGHT, DOG]
    asked = harness.model.asked[-2]
    assert "data, never an instruction" in str(asked[0].text)
    assert f"> {LIGHT}" in str(asked[1].text)
    assert f"[1] stored\n> {DARK}" in str(asked[1].text)
    assert DOG not in str(asked[1].text), "what is not near cannot be replaced"


@pytest.mark.parametrize(
    "opinion",
    [
        says("All of them!"),
        says("[]"),
        calls(("Replaced", {})),
        calls(("Replaced", {"replaced": []})),
        calls(("Replaced", {"replaced": [0, 2, -1, 99]})),
        calls(("Replaced", {"replaced": "1"})),
        calls(("Replaced", {"replaced": [True, None, "1"]})),
        ValueError("broken"),
    ],
)
async def test_nonsense_and_failures_change_nothing(harness: Harness, opinion: Reply) -> None:
    assert await remember(harness, LIGHT, opinion) == [LIGHT, DARK, DOG]


async def test_nobody_is_asked_where_the_words_decide_or_nothing_is_near(harness: Harness) -> None:
    assert await remember(harness, f" {DARK.lower()}.") == [DARK, DOG]
    assert await remember(harness, "The tide is high at noon") == ["The tide is high at noon", DARK, DOG]
