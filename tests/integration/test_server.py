"""The endpoints that LangGraph Studio and API clients use, over `langgraph dev`."""

import asyncio
import json
import threading
from collections.abc import Iterable
from typing import Any

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError

from tests.support.langgraph_server import LangGraphServer, ask, asking, dialogue, until
from tests.support.stand_ins.arxiv_server import ArxivServer
from tests.support.stand_ins.openai_script import ChatRequest, Reply, call, say
from tests.support.stand_ins.openai_server import KEY, OpenAIServer

pytestmark = pytest.mark.usefixtures("model")
NODES = ["assemble_context", "check_window", "compact", "retrieve_tools", "llm", "execute_tools", "persist_workflow"]


@pytest.fixture
async def thread(client: LangGraphClient) -> str:
    return str((await client.threads.create())["thread_id"])


def plain_run(server: LangGraphServer, thread: str, question: str, **more: Any) -> httpx.Response:
    """Ask by a request of ASCII alone, which any code point comes through."""
    body = json.dumps({"assistant_id": "agent", "input": asking(question)} | more)
    headers = {"content-type": "application/json"}
    return httpx.post(f"{server.url}/threads/{thread}/runs/wait", content=body, headers=headers, timeout=60)


async def test_studio_finds_the_agent_with_its_nodes_and_its_editable_context(client: LangGraphClient) -> None:
    found: Any = await client.assistants.search(graph_id="agent")
    schemas: Any = await client.assistants.get_schemas(found[0]["assistant_id"])
    drawing: Any = await client.assistants.get_graph(found[0]["assistant_id"])
    fields = schemas["context_schema"]["properties"]
    assert {"user_id", "model", "max_iterations", "knowledge_base_k", "timezone"} <= set(fields)
    assert all(field["description"] for field in fields.values())
    assert fields["user_id"] | {"type": "string", "default": "default"} == fields["user_id"]
    assert list(schemas["input_schema"]["properties"]) == ["messages"]
    assert [node["id"] for node in drawing["nodes"]] == ["__start__", *NODES, "__end__"]


async def test_a_stream_shows_each_step_and_each_token_once(
    client: LangGraphClient, thread: str, model: OpenAIServer
) -> None:
    answer = "The lighthouse was lit in 1871, and has been painted red since."
    model.play(call("get_current_time"), say(answer))
    steps, tokens = [], []
    modes: Any = ["updates", "messages-tuple"]
    async for part in client.runs.stream(thread, "agent", input=asking("When was it lit?"), stream_mode=modes):
        if part.event == "updates":
            steps += list(part.data)
        elif part.event == "messages" and part.data[0]["type"] != "tool":
            tokens.append(part.data[0]["content"])
    once = ["check_window", "retrieve_tools", "llm"]
    assert steps == ["assemble_context", *once, "execute_tools", *once, "persist_workflow"]
    pieces = [token for token in tokens if token]
    assert len(pieces) > 5
    assert "".join(pieces) == answer


async def test_the_words_of_an_internal_call_do_not_show(
    client: LangGraphClient, thread: str, model: OpenAIServer
) -> None:
    await ask(client, thread, "The harbour of Skerry Point has room for forty boats, tell me more. " * 5)
    model.play(call("summarize_and_store"), say("It is summarised."))
    question = asking("Summarize the conversation so far using your tool")
    parts = [part async for part in client.runs.stream(thread, "agent", input=question, stream_mode=["messages-tuple"])]
    said = [part.data[0] for part in parts if part.event == "messages"]
    assert model.internal
    assert "".join(one["content"] for one in said if one["type"] == "AIMessageChunk") == "It is summarised."


async def test_state_and_history_can_be_read(client: LangGraphClient, thread: str, model: OpenAIServer) -> None:
    model.play(say("One."), say("Two."))
    await ask(client, thread, "First?")
    await ask(client, thread, "Second?")
    state: Any = await client.threads.get_state(thread)
    assert dialogue(state["values"]) == [("human", "First?"), ("ai", "One."), ("human", "Second?"), ("ai", "Two.")]
    assert state["values"]["stop_reason"] == "answer"
    assert state["next"] == []
    history = await client.threads.get_history(thread, limit=100)
    assert len(history) >= 2 * len(["assemble_context", "check_window", "retrieve_tools", "llm", "persist_workflow"])
    listed = await client.threads.search(metadata={"graph_id": "agent"}, limit=100)
    assert thread in {one["thread_id"] for one in listed}


async def test_a_thread_goes_on_after_a_run_was_cancelled_while_the_model_spoke(
    client: LangGraphClient, thread: str, model: OpenAIServer
) -> None:
    model.play(say("Too late.", delay=30), say("Here I am."))
    run = await client.runs.create(thread, "agent", input=asking("Are you there?"))
    await until(lambda: model.main)
    await client.runs.cancel(thread, run["run_id"], wait=True)
    assert (await client.runs.get(thread, run["run_id"]))["status"] == "interrupted"
    state = await ask(client, thread, "And now?")
    assert dialogue(state)[-1] == ("ai", "Here I am.")
    assert "> Are you there?" in model.main[-1].segment("Conversation")


async def test_a_thread_goes_on_after_a_run_was_cancelled_while_a_tool_ran(
    client: LangGraphClient, thread: str, model: OpenAIServer, arxiv: ArxivServer
) -> None:
    arxiv.faults.delay = 30
    model.play(call("arxiv_search_candidates", {"query": "MemGPT"}), say("Never said."))
    run = await client.runs.create(thread, "agent", input=asking("Find MemGPT"))
    await until(lambda: arxiv.requests)
    await client.runs.cancel(thread, run["run_id"], wait=True)
    model.play(say("Let us begin anew."))
    state = await ask(client, thread, "Never mind.")
    assert dialogue(state) == [("human", "Find MemGPT"), ("human", "Never mind."), ("ai", "Let us begin anew.")]
    assert not [message for message in model.main[-1].messages if message["role"] in {"assistant", "tool"}]


async def test_two_runs_at_once_on_one_thread_are_served_one_after_the_other(
    client: LangGraphClient, thread: str, model: OpenAIServer
) -> None:
    model.play(say("Noted.", delay=1), say("Noted too."))
    one, two = await asyncio.gather(ask(client, thread, "Note ARIEL."), ask(client, thread, "Note OBERON."))
    assert sorted([one["stop_reason"], two["stop_reason"]]) == ["answer", "answer"]
    later = model.main[-1]
    assert later.segment("Conversation").count("Noted.") == 1
    state: Any = await client.threads.get_state(thread)
    assert [text for kind, text in dialogue(state["values"]) if kind == "ai"] == ["Noted.", "Noted too."]


async def test_a_second_run_is_refused_when_the_client_asks_for_that(
    client: LangGraphClient, thread: str, model: OpenAIServer
) -> None:
    go = threading.Event()

    def slowly(_: ChatRequest) -> Reply:
        go.wait()
        return say("Slowly.")

    model.play_by(slowly)
    run = await client.runs.create(thread, "agent", input=asking("Take your time."))
    with pytest.raises(ConflictError):
        await client.runs.create(thread, "agent", input=asking("Me first!"), multitask_strategy="reject")
    go.set()
    await client.runs.join(thread, run["run_id"])
    state: Any = await client.threads.get_state(thread)
    assert dialogue(state["values"]) == [("human", "Take your time."), ("ai", "Slowly.")]


def test_odd_characters_are_refused_or_come_through(
    langgraph: LangGraphServer, thread: str, model: OpenAIServer
) -> None:
    refused = plain_run(langgraph, thread, "half a \ud83d smile")
    assert refused.status_code == 422
    assert "JSON" in refused.json()["detail"]
    model.play(say("שלום 世界"))
    state = plain_run(langgraph, thread, "NUL \x00, שלום, 世界").json()
    assert dialogue(state)[-1] == ("ai", "שלום 世界")
    assert model.main[-1].question == "NUL , שלום, 世界"


async def test_a_question_of_a_megabyte_is_answered_and_kept_whole(
    client: LangGraphClient, thread: str, model: OpenAIServer
) -> None:
    question = "Where is the needle? " + "hay " * 250_000 + "needle."
    model.play(say("At the end."))
    state = await ask(client, thread, question)
    assert dialogue(state)[-1] == ("ai", "At the end.")
    assert model.main[-1].question.endswith("needle.")
    assert model.main[-1].tokens < state["context"]["window"]


@pytest.mark.parametrize("question", ["", "   \n"])
async def test_an_empty_question_gets_an_honest_answer(
    client: LangGraphClient, thread: str, question: str, model: OpenAIServer
) -> None:
    state = await ask(client, thread, question)
    assert state["stop_reason"] == "error"
    assert "empty" in dialogue(state)[-1][1]
    assert not model.main
    assert (await ask(client, thread, "Hello?"))["stop_reason"] == "answer"


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ({"userid": "ada"}, ["userid", "user_id"]),
        ({"max_iterations": "many"}, ["max_iterations", "integer"]),
        ({"user_id": None}, ["user_id", "string"]),
    ],
)
def test_a_context_that_cannot_be_used_is_refused_before_the_run(
    langgraph: LangGraphServer, thread: str, context: dict[str, Any], said: Iterable[str], model: OpenAIServer
) -> None:
    answer = plain_run(langgraph, thread, "Hello?", context=context)
    assert answer.status_code == 422
    assert all(word in answer.json()["detail"] for word in said)
    assert not model.requests


async def test_a_user_id_that_is_reserved_is_refused_with_the_reason(client: LangGraphClient, thread: str) -> None:
    state = await ask(client, thread, "Hello?", context={"user_id": "*"}, raise_error=False)
    assert state["__error__"]["error"] == "InputError"
    assert "reserved" in state["__error__"]["message"]


async def test_a_model_that_fails_is_told_without_the_key(
    client: LangGraphClient, thread: str, model: OpenAIServer
) -> None:
    model.play(Reply(status=401, error="Incorrect API key provided.", code="invalid_api_key"))
    state = await ask(client, thread, "Hello?")
    assert state["stop_reason"] == "error"
    assert "OPENAI_API_KEY" in dialogue(state)[-1][1]
    assert KEY not in json.dumps(state)
