"""Workflow memory: what was called with what, what went wrong, and what may lead."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from ricordo.stores import workflow
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.vectors import ensure_space
from ricordo.stores.turn import Turn
from tests.support.small_embedder import small_embedder


@pytest.fixture
async def memory(db: Database) -> MemoryManager:
    embedder = small_embedder()
    await ensure_space(db.dsn, embedder)
    return MemoryManager(db, embedder, "anna")


def step(tool: str, status: str = "success", error: str | None = None, **args: Any) -> dict[str, Any]:
    return {"tool": tool, "args": args, "status": status, "error": error}


def turn(steps: list[dict[str, Any]], request: str = "Light the lamp.", answer: str = "It is lit.") -> Turn:
    return Turn(UUID(int=1), "run", UUID(int=2), request, answer, "answer", steps, [])


def test_values_are_kept_cut_and_secrets_are_not() -> None:
    call = step("light", lamp="north", log="x" * 5000, api_key="wren", options={"note": "my password is wren42"})
    content = workflow.unit(uuid4(), "run", "Light it, my password is wren42.", [call], "answer: done").content
    assert 'light(lamp="north", log="xxx' in content
    assert len(content) < 500
    assert "wren" not in content


def test_a_secret_that_a_call_was_given_stands_nowhere_else_either() -> None:
    steps = [
        step("sign_in", "error", "Wrong password tall fern for wren.", user="wren", password="tall fern"),
        step("sign_in", user="wren", cfg={"pin": 4471, "api_key": ""}, note="tall fern, then 4471"),
    ]
    unit = workflow.unit(uuid4(), "run", "Sign me in with tall fern (4471).", steps, "answer: tall fern was wrong")
    for text in (unit.content, unit.searched, str(unit.columns["request"]), str(unit.columns["outcome"])):
        assert "fern" not in text
        assert "4471" not in text
    assert 'user="wren"' in unit.content


def test_a_failed_call_says_why() -> None:
    steps = [step("light", "error", "There is no lamp 'nord'.\nTake north.", lamp="nord"), step("light", lamp="north")]
    content = workflow.unit(uuid4(), "run", "Light it.", steps, "answer: lit").content
    assert "1. light(lamp=\"nord\") → error: There is no lamp 'nord'. Take north." in content
    assert '2. light(lamp="north") → success' in content


def test_five_hundred_characters_of_the_answer_are_kept() -> None:
    [unit] = turn([step("light")], answer="a" * 600).workflow_units()
    assert f"answer: {'a' * 500}" in unit.content
    assert "a" * 501 not in unit.content


async def test_what_failed_does_not_lead(memory: MemoryManager) -> None:
    async def stored(run: str, request: str, outcome: str, *steps: dict[str, Any]) -> None:
        await memory.write_workflow("t", run, request, steps, outcome)

    await stored("1", "Light the north lamp now.", "error: the model failed", step("light"))
    await stored("2", "Light the north lamp now!", "answer: I could not", step("light", "error", "no oil"))
    await stored("3", "Light the north lamp, please, some day.", "answer: lit", step("light"))
    shown = await memory.read_workflow("Light the north lamp now.", 2)
    assert "some day" in shown[0].text
    assert not shown[0].head.endswith("failed")
    assert shown[1].head.endswith("failed")
    assert len(shown) == 2


@pytest.mark.parametrize("tool", ["remember", "update_memory", "forget"])
def test_a_turn_that_changed_user_memory_leaves_no_workflow(tool: str) -> None:
    assert turn([step("light"), step(tool)], "Remember my allergy.").workflow_units() == []


def test_a_turn_that_only_recalled_leaves_none_and_of_others_no_answer_is_kept() -> None:
    assert turn([step("recall", query="lamp")]).workflow_units() == []
    [unit] = turn(
        [step("recall", query="my lamp"), step("light", lamp="north")], answer="As you like it."
    ).workflow_units()
    assert unit.content == 'Request: Light the lamp.\n1. light(lamp="north") → success\nOutcome: answer'
