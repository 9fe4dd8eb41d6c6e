"""The example of authentication, over `langgraph dev --config langgraph.auth.json`."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import (
    APIStatusError,
    AuthenticationError,
    ConflictError,
    NotFoundError,
    PermissionDeniedError,
)

from ricordo.common.settings import get_settings
from ricordo.graph.notebook import open_agent
from ricordo.stores.conversation import thread_key
from ricordo.stores.postgres.database import open_database
from ricordo.stores.users import delete_user
from tests.support.langgraph_server import LangGraphServer, ask, asking, dialogue
from tests.support.stand_ins.openai_script import say
from tests.support.stand_ins.openai_server import OpenAIServer

pytestmark = pytest.mark.usefixtures("model", "same_settings")
TOKENS = {"anna": "token-of-anna-5d1c", "bert": "token-of-bert-9f2e"}


@pytest.fixture(scope="module")
def guarded(shared_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[LangGraphServer]:
    settings = shared_settings | {"RICORDO_TOKENS": json.dumps(TOKENS)}
    with LangGraphServer(tmp_path_factory.mktemp("guarded"), settings, "langgraph.auth.json") as running:
        yield running
    assert not [token for token in TOKENS.values() if token in running.said()]


@pytest.fixture
async def anna(guarded: LangGraphServer) -> AsyncIterator[LangGraphClient]:
    async with guarded.client(TOKENS["anna"]) as client:
        yield client


@pytest.fixture
async def bert(guarded: LangGraphServer) -> AsyncIterator[LangGraphClient]:
    async with guarded.client(TOKENS["bert"]) as client:
        yield client


async def new_thread(client: LangGraphClient, **more: Any) -> str:
    return str((await client.threads.create(**more))["thread_id"])


@pytest.mark.parametrize("token", [None, "", "token-of-anna", "token-of-anna-5d1cc"])
async def test_nobody_comes_in_without_a_token(guarded: LangGraphServer, token: str | None) -> None:
    async with guarded.client(token) as stranger:
        with pytest.raises(AuthenticationError):
            await stranger.threads.search()


def test_the_header_of_studio_is_no_way_in(guarded: LangGraphServer) -> None:
    headers = {"x-auth-scheme": "langsmith"}
    assert httpx.post(f"{guarded.url}/threads/search", json={}, headers=headers).status_code == 401


async def test_users_neither_see_nor_continue_each_others_threads(anna: LangGraphClient, bert: LangGraphClient) -> None:
    thread = await new_thread(anna)
    await ask(anna, thread, "My boat is called Fulmar.")
    assert thread in {one["thread_id"] for one in await anna.threads.search(limit=100)}
    assert thread not in {one["thread_id"] for one in await bert.threads.search(limit=100)}
    for attempt in (
        bert.threads.get(thread),
        bert.threads.get_state(thread),
        bert.threads.get_history(thread),
        bert.threads.update_state(thread, {"messages": []}),
        bert.threads.copy(thread),
        bert.runs.list(thread),
        bert.runs.create(thread, "agent", input={"messages": []}),
        bert.threads.delete(thread),
    ):
        with pytest.raises(APIStatusError) as refused:
            await attempt
        assert refused.value.status_code in {403, 404, 409}
    state: Any = await anna.threads.get_state(thread)
    assert dialogue(state["values"])[0] == ("human", "My boat is called Fulmar.")


async def test_memory_is_that_of_the_token_whatever_the_context_says(
    anna: LangGraphClient, bert: LangGraphClient, model: OpenAIServer
) -> None:
    model.play(say("Noted: the Fulmar has berth 12."), say("I do not know."), say("Berth 12."))
    await ask(anna, await new_thread(anna), "The boat Fulmar of the Skerry Institute has berth 12.")
    await ask(bert, await new_thread(bert), "Where does the boat Fulmar lie?", context={"user_id": "anna"})
    assert "Skerry Institute" not in model.main[-1].window
    await ask(anna, await new_thread(anna), "Where does the boat Fulmar lie?", context={"user_id": "bert"})
    assert "Skerry Institute" in model.main[-1].segment("Entity")


async def test_a_thread_of_the_command_line_is_its_users_on_the_server_too(
    anna: LangGraphClient, bert: LangGraphClient, model: OpenAIServer
) -> None:
    thread = str(thread_key("anna", "diary"))
    async with open_agent() as agent:
        model.play(say("Your secret is safe."))
        await agent.ask("My secret is 4711.", "diary", user_id="anna")
    with pytest.raises(ConflictError):
        await bert.threads.create(thread_id=thread, if_exists="do_nothing")
    with pytest.raises(ConflictError):
        await bert.runs.create(thread, "agent", input=asking("What is the secret?"), if_not_exists="create")
    with pytest.raises(NotFoundError):
        await bert.threads.get_state(thread)
    model.play(say("It is 4711."))
    assert dialogue(await ask(anna, thread, "What is my secret?"))[-1] == ("ai", "It is 4711.")


async def test_nobody_takes_the_id_of_a_thread_to_come(bert: LangGraphClient, model: OpenAIServer) -> None:
    with pytest.raises(ConflictError):
        await new_thread(bert, thread_id=str(thread_key("anna", "plans")))
    model.play(say("Noted."))
    async with open_agent() as agent:
        assert (await agent.ask("My plan is to sail.", "plans", user_id="anna")).answer == "Noted."


def test_what_the_server_has_beside_its_api_is_closed(guarded: LangGraphServer) -> None:
    known = {"authorization": f"Bearer {TOKENS['anna']}"}
    for headers in ({}, known):
        for method, path in (("POST", "/internal/truncate"), ("GET", "/deploy"), ("POST", "/deploy")):
            assert httpx.request(method, guarded.url + path, headers=headers).status_code == 404
    assert httpx.get(f"{guarded.url}/metrics").status_code == 401
    assert httpx.get(f"{guarded.url}/metrics", headers=known).status_code == 200
    allowed = httpx.options(
        f"{guarded.url}/threads",
        headers={"origin": "https://smith.langchain.com", "access-control-request-method": "POST"},
    )
    assert allowed.headers["access-control-allow-origin"] == "https://smith.langchain.com"
    evil = {"origin": "https://evil.example", "content-type": "text/plain"} | known
    refused = httpx.post(f"{guarded.url}/threads", content="{}", headers=evil)
    assert (refused.status_code, "access-control-allow-origin" in refused.headers) == (403, False)


async def test_what_the_example_does_not_allow_is_refused(anna: LangGraphClient) -> None:
    found = await anna.assistants.search(graph_id="agent")
    thread = await new_thread(anna)
    for attempt in (
        anna.assistants.create("agent", context={"user_id": "bert"}),
        anna.assistants.delete(found[0]["assistant_id"]),
        anna.store.put_item(["notes"], "key", {"text": "hello"}),
        anna.store.search_items(["notes"]),
        anna.crons.create_for_thread(thread, "agent", schedule="* * * * *"),
    ):
        with pytest.raises(PermissionDeniedError):
            await attempt


async def test_a_user_who_is_deleted_goes_from_the_servers_own_state_too(
    guarded: LangGraphServer, anna: LangGraphClient, bert: LangGraphClient
) -> None:
    kept = await new_thread(anna)
    await ask(bert, await new_thread(bert), "My secret is FULMAR-4711.")
    state = guarded.folder / ".langgraph_api"
    assert state.is_symlink()
    assert state.stat().st_mode & 0o077 == 0
    async with open_database(get_settings()) as db:
        await delete_user(db, "bert")
    async with asyncio.timeout(120):
        while await bert.threads.search(limit=1):  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(0.2)
    assert kept in {one["thread_id"] for one in await anna.threads.search(limit=100)}
    guarded.stop()
    assert b"FULMAR-4711" not in b"".join(file.read_bytes() for file in state.iterdir())
