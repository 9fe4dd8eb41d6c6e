"""What LangGraph's server makes of the graph beside its runs: assistants, MCP, A2A, and runs that are taken back."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient

from tests.support.langgraph_server import ROOT, LangGraphServer, asking, dialogue, until
from tests.support.stand_ins.openai_script import say
from tests.support.stand_ins.openai_server import OpenAIServer

pytestmark = pytest.mark.usefixtures("model")
DESCRIPTION = json.loads(Path(ROOT / "langgraph.json").read_text())["graphs"]["agent"]["description"]


def mcp(server: LangGraphServer, method: str, **params: Any) -> Any:
    headers = {"accept": "application/json, text/event-stream"}
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return httpx.post(f"{server.url}/mcp", json=asked, headers=headers, timeout=120).json()["result"]


def test_assistants_mcp_and_a2a_show_the_name_and_the_description(langgraph: LangGraphServer) -> None:
    (assistant,) = httpx.post(f"{langgraph.url}/assistants/search", json={"graph_id": "agent"}).json()
    assert (assistant["name"], assistant["description"]) == ("ricordo", DESCRIPTION)
    (tool,) = mcp(langgraph, "tools/list")["tools"]
    assert (tool["name"], tool["description"]) == ("ricordo", DESCRIPTION)
    where = f"{langgraph.url}/.well-known/agent-card.json?assistant_id={assistant['assistant_id']}"
    card = httpx.get(where).json()
    assert (card["name"], card["description"]) == ("ricordo", DESCRIPTION)


def test_a_call_by_mcp_returns_the_answer_without_the_window(langgraph: LangGraphServer, model: OpenAIServer) -> None:
    model.play(say("It is red."))
    result = mcp(langgraph, "tools/call", name="ricordo", arguments=asking("Which colour?"))
    (part,) = result["content"]
    assert "It is red." in part["text"]
    assert "'window': Window" not in part["text"]
    assert "Knowledge Base Memory" not in part["text"]


async def test_a_run_that_is_rolled_back_leaves_nothing_and_its_thread_goes_on(
    client: LangGraphClient, model: OpenAIServer
) -> None:
    thread = str((await client.threads.create())["thread_id"])
    model.play(say("Too late.", delay=30), say("Hello."), say("Again."))
    await client.runs.create(thread, "agent", input=asking("Forget this."))
    await until(lambda: model.main)
    second = await client.runs.create(thread, "agent", input=asking("Hi."), multitask_strategy="rollback")
    await client.runs.join(thread, second["run_id"])
    state: Any = await client.threads.get_state(thread)
    assert dialogue(state["values"]) == [("human", "Hi."), ("ai", "Hello.")]
    assert "Forget this." not in model.main[-1].window
