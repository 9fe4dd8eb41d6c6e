"""One thread everywhere: command line, notebook, and the server's API share threads, each user's own."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from ricordo.graph.notebook import Agent, open_agent
from ricordo.stores.conversation import thread_key
from tests.support.langgraph_server import ask, dialogue
from tests.support.stand_ins.openai_script import say
from tests.support.stand_ins.openai_server import OpenAIServer

pytestmark = pytest.mark.usefixtures("same_settings")


@pytest.fixture
async def agent() -> AsyncIterator[Agent]:
    async with open_agent() as agent:
        yield agent


@pytest.fixture
def user() -> str:
    return f"ada-{uuid4().hex[:8]}"


async def test_a_thread_that_a_notebook_began_is_listed_and_goes_on_by_the_api_and_back(
    client: LangGraphClient, agent: Agent, user: str, model: OpenAIServer
) -> None:
    model.play(say("The keeper was called Ines."), say("In 1871."), say("Ines, as you heard first."))
    await agent.ask("Who kept the lighthouse?", "harbour", user_id=user)
    thread = str(thread_key(user, "harbour"))

    listed: Any = await client.threads.search(metadata={"graph_id": "agent", "owner": user})
    assert [(one["thread_id"], one["metadata"]["name"]) for one in listed] == [(thread, "harbour")]
    state: Any = await client.threads.get_state(thread)
    assert dialogue(state["values"])[0] == ("human", "Who kept the lighthouse?")

    await ask(client, thread, "When was it lit?", context={"user_id": user})
    assert "> The keeper was called Ines." in model.main[-1].segment("Conversation")

    await agent.ask("Who kept it again?", "harbour", user_id=user)
    said = model.main[-1].segment("Conversation")
    assert [said.count(f"> {text}") for text in ("Who kept the lighthouse?", "When was it lit?", "In 1871.")] == [
        1,
        1,
        1,
    ]
    state = await client.threads.get_state(thread)
    assert [text for kind, text in dialogue(state["values"]) if kind == "ai"][-1] == "Ines, as you heard first."


async def test_a_thread_that_a_notebook_began_goes_on_without_being_listed_before(
    client: LangGraphClient, agent: Agent, user: str, model: OpenAIServer
) -> None:
    model.play(say("One."), say("Two."))
    await agent.ask("First?", "quay", user_id=user)
    state = await ask(client, str(thread_key(user, "quay")), "Second?", context={"user_id": user})
    assert dialogue(state) == [("human", "First?"), ("ai", "One."), ("human", "Second?"), ("ai", "Two.")]


async def test_a_thread_that_the_api_began_goes_on_in_a_notebook_by_its_id(
    client: LangGraphClient, agent: Agent, user: str, model: OpenAIServer
) -> None:
    model.play(say("It is red."), say("Red, as I said."))
    thread = str((await client.threads.create())["thread_id"])
    await ask(client, thread, "Which colour?", context={"user_id": user})
    answer = await agent.ask("Sure?", thread, user_id=user)
    assert answer.answer == "Red, as I said."
    assert "> It is red." in model.main[-1].segment("Conversation")


async def test_a_thread_that_was_deleted_is_not_listed_again(
    client: LangGraphClient, agent: Agent, user: str, model: OpenAIServer
) -> None:
    model.play(say("Gone soon."))
    await agent.ask("Anything?", "shed", user_id=user)
    thread = str(thread_key(user, "shed"))
    await client.threads.get(thread)
    await client.threads.delete(thread)
    assert await client.threads.search(metadata={"owner": user}) == []
    with pytest.raises(NotFoundError):
        await client.threads.get(thread)


async def test_a_thread_of_another_user_is_refused_with_the_reason(
    client: LangGraphClient, agent: Agent, user: str, model: OpenAIServer
) -> None:
    await agent.ask("My secret is 4711.", "diary", user_id=user)
    before = len(model.requests)
    thread = str(thread_key(user, "diary"))
    state = await ask(client, thread, "What is the secret?", context={"user_id": "eve"}, raise_error=False)
    assert state["__error__"]["error"] == "ThreadOwnerError"
    assert "is not one that 'eve' can read" in state["__error__"]["message"]
    assert len(model.requests) == before


async def test_a_thread_that_nobody_began_is_not_found(client: LangGraphClient) -> None:
    with pytest.raises(NotFoundError):
        await client.threads.get(str(UUID(int=7)))
