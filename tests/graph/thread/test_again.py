"""A run that is run again, as by a server whose own list was ten seconds old when it was killed."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.pregel import Pregel

from ricordo import tools
from ricordo.graph import prompts
from ricordo.graph.agent import builder
from ricordo.graph.thread.checkpoints import open_checkpointer
from ricordo.graph.thread.saver import Saver
from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.database import Database
from tests.support.harness import Harness, calls, open_harness, says


class Killed(BaseException):
    """What ends a process ends no turn."""


class Server:
    """A server's runs of one thread: an id from its own list, a new one for every message without."""

    def __init__(self, harness: Harness, saver: Saver) -> None:
        self.harness, self.saver = harness, saver
        self.graph: Pregel[Any, Any, Any, Any] = builder.compile(checkpointer=saver)
        self.thread = str(uuid4())

    async def run(self, run_id: str, asked: str, *replies: Any, message_id: str | None = None) -> dict[str, Any]:
        """Run, as the server does: its id of the run is in `configurable`, LangGraph's own is new."""
        self.harness.model.script[:] = replies
        config: Any = {"configurable": {"thread_id": self.thread, "run_id": run_id}}
        given: Any = {"messages": [HumanMessage(asked, id=message_id)]}
        state: dict[str, Any] = await self.graph.ainvoke(given, config, context={"user_id": "ada"})
        assert not self.harness.model.script
        return state

    async def stored(self) -> list[tuple[str, str]]:
        async with self.harness.resources.db.transaction("ada") as conn:
            rows = await (await conn.execute("SELECT role, content FROM messages ORDER BY seq")).fetchall()
        return [(row["role"], row["content"]) for row in rows]


@pytest.fixture
async def listed(db: Database, embedder: Embedder, tmp_path: Path) -> AsyncIterator[Server]:
    async with open_harness(db, embedder, tmp_path) as harness, open_checkpointer(db.dsn) as saver:
        yield Server(harness, saver)


@pytest.fixture
def notes() -> Iterator[list[str]]:
    """What a tool with an effect has done."""
    done: list[str] = []

    @tools.toolbox.register_tool(group="test", tags=["note"], examples=["note it down"], pinned=True)
    async def note_down(text: str) -> str:
        """Write a line into the notebook.

        Args:
            text: The line.
        """
        done.append(text)
        return "Noted."

    yield done
    tools.toolbox.remove("note_down")


def said(state: dict[str, Any]) -> list[str]:
    return [str(m.text) for m in state["messages"]]


@pytest.mark.parametrize("message_id", [None, "mine"])
@pytest.mark.parametrize("lost", [False, True], ids=["later turns are there", "its checkpoints are lost"])
async def test_a_run_that_was_answered_ends_at_once_with_its_answer(
    listed: Server, notes: list[str], message_id: str | None, *, lost: bool
) -> None:
    first, text = str(uuid4()), "Please note down noon."
    await listed.run(first, text, calls(("note_down", {"text": "noon"})), says("Done."), message_id=message_id)
    later: tuple[str, ...] = ()
    if lost:
        await listed.saver.adelete_thread(listed.thread)
    else:
        later = ("And then?", "Lunch.")
        await listed.run(str(uuid4()), later[0], says(later[1]))
    before = await listed.stored()
    state = await listed.run(first, text, message_id=message_id)  # the model is not asked
    assert said(state) == [text, "Done.", *later]
    assert await listed.stored() == before
    assert notes == ["noon"]
    state = await listed.run(str(uuid4()), "Go on.", says("Gladly."))
    assert said(state) == [text, "Done.", *later, "Go on.", "Gladly."]


@pytest.mark.parametrize("within", [False, True], ids=["after the tool", "within the tool"])
async def test_a_call_that_was_begun_is_not_made_again_whatever_the_model_would_say_now(
    listed: Server, notes: list[str], *, within: bool
) -> None:
    def die(_: list[BaseMessage]) -> AIMessage:
        raise Killed

    first, text = str(uuid4()), "Please note down noon."
    with pytest.raises(Killed):
        await listed.run(first, text, calls(("note_down", {"text": "noon"}), text="I shall."), die)
    if within:  # a process that is killed there leaves the entry as it began
        async with listed.harness.resources.db.transaction("ada") as conn:
            await conn.execute("UPDATE tool_log SET status = 'running', output = '', finished_at = NULL")
    await listed.saver.adelete_thread(listed.thread)  # they are written behind the run: the last ones may be missing

    told: list[str] = []

    def look(messages: list[BaseMessage]) -> AIMessage:
        told.extend(str(m.text) for m in messages if m.type == "tool")
        return says("It is noted.")

    state = await listed.run(first, text, look)  # the model is not asked for this step
    assert notes == ["noon"]
    assert said(state) == [text, "It is noted."]
    assert told == [prompts.INTERRUPTED if within else "Noted."]
    assert await listed.stored() == [("user", text), ("assistant", "It is noted.")]


async def test_what_was_asked_twice_in_one_run_stays_twice(listed: Server) -> None:
    run: Any = listed.graph.ainvoke
    first = str(uuid4())
    config = {"configurable": {"thread_id": listed.thread, "run_id": first}}
    for _ in range(2):
        listed.harness.model.script[:] = [says("Yes.")]  # asked for once
        await run({"messages": [HumanMessage("Hm?"), HumanMessage("Hm?")]}, config, context={"user_id": "ada"})
        await listed.saver.adelete_thread(listed.thread)
    assert await listed.stored() == [("user", "Hm?"), ("user", "Hm?"), ("assistant", "Yes.")]
