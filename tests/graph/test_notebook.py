"""What callers of the graph get beside the answer: events, use, traces, and nothing that is not theirs."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.ai import UsageMetadata

from ricordo.common.errors import InputError
from ricordo.graph.agent import graph
from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.database import Database
from tests.support.harness import Harness, calls, open_harness, says


@pytest.fixture
async def harness(db: Database, embedder: Embedder, tmp_path: Path) -> AsyncIterator[Harness]:
    async with open_harness(db, embedder, tmp_path) as opened:
        yield opened


class Heard(AsyncCallbackHandler):
    """Keeps what LangChain tells of a run."""

    def __init__(self) -> None:
        self.root: dict[str, Any] = {}
        self.retrievers: dict[str, dict[str, Any]] = {}
        self.found: list[Any] = []

    async def on_chain_start(self, serialized: Any, inputs: Any, **more: Any) -> None:
        del serialized, inputs
        self.root = self.root or more

    async def on_retriever_start(self, serialized: Any, query: str, **more: Any) -> None:
        del serialized
        self.retrievers[more["name"]] = {"query": query, **more}

    async def on_retriever_end(self, documents: Any, **more: Any) -> None:
        del more
        self.found += documents


def with_usage(message: AIMessage, into: int, out: int) -> AIMessage:
    use = UsageMetadata(input_tokens=into, output_tokens=out, total_tokens=into + out)
    return message.model_copy(update={"usage_metadata": use})


async def test_a_caller_s_callbacks_tags_and_metadata_reach_the_run_and_every_reading_of_memory(
    harness: Harness,
) -> None:
    heard = Heard()
    await harness.ask("Which colour has the lighthouse?", says("It is red."), user_id="ada")
    config: Any = {"callbacks": [heard], "tags": ["shop"], "metadata": {"ticket": 7}, "run_name": "desk"}
    await harness.ask("Sure?", says("Yes."), user_id="ada", config=config)
    assert heard.root["name"] == "desk"
    assert "shop" in heard.root["tags"]
    assert {"ticket": 7, "user_id": "ada"}.items() <= heard.root["metadata"].items()
    memories = {"Conversation", "Knowledge Base", "Workflow", "Entity", "Summary", "User"}
    assert set(heard.retrievers) == {f"{name} Memory" for name in memories}
    for run in heard.retrievers.values():
        assert run["query"] == "Sure?"
        assert {"ticket": 7, "user_id": "ada"}.items() <= run["metadata"].items()
        assert isinstance(run["parent_run_id"], UUID)
    assert "It is red." in [document.page_content for document in heard.found]


async def test_what_a_config_cannot_choose_is_refused_with_the_names_of_what_it_can(harness: Harness) -> None:
    with pytest.raises(InputError, match=r"'configurable, recursion_limit' .* callbacks, metadata, run_name, tags"):
        await harness.ask("Hello?", config={"configurable": {"thread_id": "x"}, "recursion_limit": 3})


async def test_the_use_of_all_calls_of_a_turn_is_in_the_answer_and_on_its_message(harness: Harness) -> None:
    calling = with_usage(calls(("get_current_time", {})), 100, 10)
    answer = await harness.ask("What time is it?", calling, with_usage(says("Noon."), 200, 5))
    assert answer.usage == {"input_tokens": 300, "output_tokens": 15, "total_tokens": 315}
    assert answer.as_dict()["usage"]["total_tokens"] == answer.usage["total_tokens"]
    again = await harness.ask("Sure?", says("Yes."))
    assert again.usage is None


async def served(harness: Harness, *replies: AIMessage) -> list[Any]:
    """Run the exported graph as a server does."""
    harness.model.script[:] = replies
    asked: Any = {"messages": [HumanMessage("What time is it?")]}
    modes: Any = ["values", "updates", "custom"]
    return [part async for part in graph.astream(asked, stream_mode=modes)]


async def test_a_server_sends_answers_calls_and_use_and_never_the_window(harness: Harness) -> None:
    parts = await served(harness, calls(("get_current_time", {})), with_usage(says("Noon."), 200, 5))
    told = {"messages", "stop_reason", "error", "iterations", "tool_calls", "compactions", "context", "usage"}
    values = [part for mode, part in parts if mode == "values"]
    assert set().union(*values) == told
    assert values[-1]["messages"][-1].text == "Noon."
    assert values[-1]["messages"][-1].usage_metadata["total_tokens"] == values[-1]["usage"]["total_tokens"]
    updates = [update for mode, part in parts if mode == "updates" for update in part.values() if update]
    assert set().union(*updates) <= told
    assert set(graph.get_output_jsonschema()["properties"]) == told


async def test_the_custom_stream_tells_what_the_command_line_shows(harness: Harness) -> None:
    parts = await served(harness, calls(("get_current_time", {})), says("Noon."))
    told = [part for mode, part in parts if mode == "custom"]
    assert [part["type"] for part in told if part["type"] != "window_filled"] == ["tool_started", "tool_ended", "ended"]
    started, ended, last = (part for part in told if part["type"] != "window_filled")
    assert started["name"] == ended["name"] == "get_current_time"
    assert ended["status"] == "success"
    assert last == {"type": "ended", "answer": "Noon.", "stop_reason": "answer"}
    filled = next(part for part in told if part["type"] == "window_filled")
    assert 0 < filled["percent"] < 100
    assert filled["tokens"] < filled["window"]
