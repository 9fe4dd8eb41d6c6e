"""What a turn leaves in workflow and entity memory, where it spoke to user memory or said what memory holds."""

import pytest
from langchain_core.messages import AIMessage

from tests.support.harness import Harness, calls, says


async def left(harness: Harness) -> tuple[list[str], list[str], list[str]]:
    """Return the requests of workflows, the names of entities, the mentions."""

    async def column(query: str) -> list[str]:
        async with harness.resources.db.transaction("default") as conn:
            return [row["it"] for row in await (await conn.execute(query.encode())).fetchall()]

    return (
        await column("SELECT request AS it FROM workflow ORDER BY seq"),
        await column("SELECT name AS it FROM entity ORDER BY seq"),
        await column("SELECT mention AS it FROM entity_mentions ORDER BY created_at"),
    )


def recalls(query: str) -> AIMessage:
    return calls(("recall", {"query": query}))


async def test_what_was_told_to_user_memory_stands_there_alone_and_is_gone_when_it_is_forgotten(
    harness: Harness,
) -> None:
    said = "My dentist is Prospero Quill."
    await harness.ask(f"Remember: {said}", calls(("remember", {"content": said})), says(f"Stored: {said}"))
    assert await left(harness) == ([], [], [])
    await harness.ask("Who is my dentist?", recalls("dentist"), says("Prospero Quill, your dentist."), thread_id="2")
    [row] = await harness.memory().user_memory.list()
    forget = calls(("forget", {"memory_id": str(row["id"]), "reason": "asked"}))
    await harness.ask("Forget that my dentist is Prospero Quill.", forget, says("Done."), thread_id="3")
    await harness.ask("Who is my dentist?", says("I do not know."), thread_id="4")
    assert "Quill" not in harness.window()


async def test_fifteen_recalls_add_no_mention(harness: Harness) -> None:
    await harness.ask("We met Prospero Quill at sea.", says("Good."))
    before = await left(harness)
    for n in range(15):
        with_recall = [recalls("Prospero Quill")] if n % 2 else []
        answer = says("You met Prospero Quill at sea.")
        await harness.ask("What did we do with Prospero Quill?", *with_recall, answer, thread_id=f"r{n}")
    assert (await left(harness))[1:] == before[1:]


async def test_what_is_said_anew_of_a_known_name_is_one_more_mention(harness: Harness) -> None:
    await harness.ask("We met Prospero Quill at sea.", says("Good."))
    await harness.ask("Then Prospero Quill bought a lighthouse.", says("I see."), thread_id="2")
    assert (await left(harness))[2] == ["We met Prospero Quill at sea.", "Then Prospero Quill bought a lighthouse."]


@pytest.mark.parametrize(
    "pasted",
    ['{"author": "Ada Byron", "ships": ["Grey Seal"]}', "```\nnew AdaByron()\n```", "https://x.example/AdaByron"],
)
async def test_pasted_data_and_addresses_name_nothing(harness: Harness, pasted: str) -> None:
    await harness.ask(f"Look at this, please:\n{pasted}", says("Seen."))
    assert (await left(harness))[1] == []


async def test_a_workflow_shows_values_errors_and_how_to_use_it(harness: Harness) -> None:
    odd = calls(("read_tool_log", {"log_id": "nonsense"}))
    await harness.ask("What time is it in port?", odd, calls(("get_current_time", {"detailed": True})), says("Noon."))
    await harness.ask("What time is it at sea?", says("Noon too."), thread_id="another")
    shown = harness.segment("Workflow")
    assert "Adapt what worked to this request, never copy its values" in shown
    assert "1. read_tool_log(log_id=\"nonsense\") → error: 'nonsense' is not the id of a tool log entry" in shown
    assert "2. get_current_time(detailed=true) → success" in shown
