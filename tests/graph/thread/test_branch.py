"""Memory shows the branch of the thread that the client is on, whatever LangGraph lets a client do with one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.errors import NodeCancelledError
from langgraph.pregel import Pregel

from ricordo.graph.agent import builder
from ricordo.graph.compaction.history import compact_thread
from ricordo.graph.limits import Limits
from ricordo.graph.thread.checkpoints import open_checkpointer
from ricordo.graph.thread.saver import Saver
from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.database import Database
from tests.support.harness import Harness, open_harness


def _stopped(_: list[BaseMessage]) -> AIMessage:
    raise asyncio.CancelledError


class Client:
    """What a client of a server does with threads."""

    def __init__(self, harness: Harness, saver: Saver) -> None:
        self.harness = harness
        self.saver = saver
        self.graph: Pregel[Any, Any, Any, Any] = builder.compile(checkpointer=saver)
        self.thread = str(uuid4())

    @property
    def config(self) -> Any:
        return {"configurable": {"thread_id": self.thread}}

    async def run(
        self,
        asked: str | None,
        *answers: str | Callable[..., AIMessage],
        at: Any = None,
        message_id: str | None = None,
    ) -> Any:
        """Run, from a checkpoint if one is given; without a question the run goes on from there."""
        self.harness.model.script[:] = [AIMessage(a, id=str(uuid4())) if isinstance(a, str) else a for a in answers]
        given: Any = {"messages": [HumanMessage(asked, id=message_id)]} if asked else None
        return await self.graph.ainvoke(given, at or self.config, context={"user_id": "ada"})

    async def before(self, text: str) -> Any:
        """Return the config of the checkpoint from which the message with this text came."""
        states = [state async for state in self.graph.aget_state_history(self.config)]
        with_it = [s for s in states if text in [m.text for m in s.values.get("messages", [])]]
        return with_it[-1].parent_config

    def shown(self) -> list[str]:
        """Return what the last model call saw of the conversation."""
        segment = self.harness.segment("Conversation")
        return [line[2:] for line in segment.splitlines() if line.startswith("> ")]


@pytest.fixture
async def client(db: Database, embedder: Embedder, tmp_path: Path) -> AsyncIterator[Client]:
    async with open_harness(db, embedder, tmp_path) as harness, open_checkpointer(db.dsn) as saver:
        yield Client(harness, saver)


async def test_an_edited_message_takes_the_place_of_the_first_one_and_going_back_brings_it_back(client: Client) -> None:
    await client.run("My boat is red.", "Noted.")
    await client.run("It lies at Skerry.", "Nice.")
    last_of_first = client.config | (await client.graph.aget_state(client.config)).config
    await client.run("It lies at Dover.", "Fine.", at=await client.before("It lies at Skerry."))
    assert client.shown() == ["My boat is red.", "Noted."]
    await client.run("Where?", "Dover.")
    assert client.shown() == ["My boat is red.", "Noted.", "It lies at Dover.", "Fine."]
    await client.run("Where?", "Skerry.", at=last_of_first)
    assert client.shown() == ["My boat is red.", "Noted.", "It lies at Skerry.", "Nice."]


async def test_the_first_message_can_be_edited(client: Client) -> None:
    await client.run("My boat is red.", "Noted.")
    await client.run("My boat is blue.", "Oh.", at=await client.before("My boat is red."))
    assert client.shown() == []
    await client.run("Which colour?", "Blue.")
    assert client.shown() == ["My boat is blue.", "Oh."]


async def test_a_regenerated_answer_takes_the_place_of_the_first_one(client: Client) -> None:
    await client.run("Hello.", "Hi.")
    await client.run("Tell me a joke.", "A bad one.")
    state = await client.run(None, "A good one.", at=await client.before("A bad one."))
    assert state["messages"][-1].text == "A good one."
    assert client.shown() == ["Hello.", "Hi."]
    await client.run("Another?", "No.")
    assert client.shown() == ["Hello.", "Hi.", "Tell me a joke.", "A good one."]


async def test_a_question_that_was_stopped_and_edited_is_not_shown(client: Client) -> None:
    await client.run("Hello.", "Hi.")
    with pytest.raises(NodeCancelledError):
        await client.run("Tell me about cats.", _stopped)
    await client.run("Tell me about dogs.", "They bark.", at=await client.before("Tell me about cats."))
    assert client.shown() == ["Hello.", "Hi."]


async def test_a_question_that_was_stopped_stays(client: Client) -> None:
    with pytest.raises(NodeCancelledError):
        await client.run("Tell me about cats.", _stopped)
    await client.run("Still there?", "Yes.")
    assert client.shown() == ["Tell me about cats."]


async def test_messages_that_a_client_edits_or_removes_in_the_state_are_edited_and_removed_in_memory(
    client: Client,
) -> None:
    first = await client.run("My boat is red.", "Noted.")
    second = await client.run("It lies at Skerry.", "Nice.")
    asked, gone = first["messages"][0].id, [RemoveMessage(m.id) for m in second["messages"][2:]]
    await client.graph.aupdate_state(client.config, {"messages": [HumanMessage("It is blue.", id=asked), *gone]})
    await client.run("Which colour?", "Blue.")
    assert client.shown() == ["It is blue.", "Noted."]


async def test_a_summary_that_tells_of_the_other_branch_is_dissolved_and_one_of_both_stays(client: Client) -> None:
    async def summarise() -> None:
        await compact_thread(client.harness.memory("ada"), client.thread, limits)

    limits = Limits("offline", "o200k_base", 32_000, 3_200, 25_600, 16_000, 2, 10, 4_000, 10, 300, 6, 18, 1.0)
    await client.run("My boat is red.", "Noted.")
    await summarise()
    await client.run("It lies at Skerry.", "Nice.")
    await summarise()
    await client.run("It lies at Dover.", "Fine.", at=await client.before("It lies at Skerry."))
    assert client.shown() == []
    (left,) = await client.harness.memory("ada").summaries(client.thread)
    assert "red" in left["content"]
    assert "Skerry" not in client.harness.window()


async def test_a_copy_of_a_thread_remembers_what_was_said_in_it_and_each_goes_its_own_way(client: Client) -> None:
    await client.run("My boat is red.", "Noted.")
    original, client.thread = client.thread, str(uuid4())
    await client.saver.acopy_thread(original, client.thread)
    await client.run("It sank.", "Oh.")
    assert client.shown() == ["My boat is red.", "Noted."]
    client.thread = original
    await client.run("It floats.", "Good.")
    assert client.shown() == ["My boat is red.", "Noted."]


async def test_a_run_that_is_taken_back_leaves_neither_state_nor_conversation(client: Client) -> None:
    await client.run("Hello.", "Hi.")
    run_id = str(uuid4())
    await client.run("Forget this.", "What?", at={**client.config, "metadata": {"run_id": run_id}})
    await client.saver.adelete_for_runs([run_id])
    state = await client.run("Well?", "Yes?")
    assert [m.text for m in state["messages"]] == ["Hello.", "Hi.", "Well?", "Yes?"]
    assert client.shown() == ["Hello.", "Hi."]
