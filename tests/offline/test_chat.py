import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage

from ricordo.common.sentences import sentences
from ricordo.models.embedding_models import Vectors
from ricordo.models.embeddings import Embedder
from ricordo.offline.chat import OfflineChat
from ricordo.offline.phrases import NOTICES
from ricordo.tools import toolbox
from tests.support.offline_desk import SHIPPED, Desk, chunk, summary

HARBOUR = (chunk("harbour.md", "The harbour exports herring. The lighthouse was lit for the first time in 1871."),)
_FIND = "arxiv_search_candidates"


@pytest.fixture
def desk(embedder: Embedder) -> Desk:
    return Desk(embedder)


_WILD = st.one_of(
    st.text(max_size=80),
    st.sampled_from(["save it", "## User Memory\n[1] id=x", "[1] user · now\n> hi", "prima", "the", "my first"]),
)


def fits(arguments: dict[str, Any], schema: dict[str, Any]) -> bool:
    kinds = {"string": str, "integer": int, "boolean": bool}
    known = schema["properties"]
    typed = all(isinstance(value, kinds[known[name]["type"]]) for name, value in arguments.items())
    return typed and set(schema.get("required", [])) <= set(arguments)


@given(question=_WILD, told=_WILD, stored=_WILD, listed=_WILD)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_takes_anything_and_says_only_what_it_was_given(
    embedder: Embedder, question: str, told: str, stored: str, listed: str
) -> None:
    desk = Desk(embedder, {"Knowledge Base": (chunk("a.md, page 3", stored),), "Summary": (summary(listed),)})
    desk.talk = [("user", told), ("assistant", stored)]
    desk.tools = [*desk.tools, toolbox.schema("expand_summary")]
    reply = asyncio.run(desk.ask(question))
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in desk.tools}
    for call in reply.calls:
        assert fits(call["args"], schemas[call["name"]])
    given_text = " ".join("\n".join([reply.window, *reply.results]).split())
    for line in reply.text.splitlines():
        if line.startswith('- "'):
            assert line[3 : line.rindex('" [')].removesuffix(" …") in given_text
    assert reply.text.endswith(tuple(notices[kind] for notices in NOTICES.values() for kind in ("offline", "talk")))


def _messages(desk: Desk, question: str) -> list[Any]:
    return [SystemMessage("You are Ricordo."), HumanMessage(desk.window(question))]


async def test_an_answer_streams_word_by_word_with_its_usage(desk: Desk) -> None:
    desk.memory["Knowledge Base"] = HARBOUR
    messages = _messages(desk, "When was the lighthouse lit?")
    parts = [part async for part in desk.model().astream(messages)]
    assert len(parts) > 10
    whole = parts[0]
    for part in parts[1:]:
        whole += part
    assert isinstance(whole, AIMessageChunk)
    assert whole.usage_metadata
    assert whole.usage_metadata["input_tokens"] > 100
    once = await desk.model().ainvoke(messages)
    assert once.text == whole.text
    assert once.usage_metadata == whole.usage_metadata
    assert whole.response_metadata["model_name"] == "offline"


async def test_a_tool_call_streams_as_chunks_with_whole_json(desk: Desk) -> None:
    bound = desk.model().bind_tools(list(desk.tools))
    chunks = [part async for part in bound.astream(_messages(desk, "Can you get me the paper MemGPT"))]
    calls = [piece for part in chunks if isinstance(part, AIMessageChunk) for piece in part.tool_call_chunks]
    assert [(piece["name"], json.loads(piece["args"] or "")) for piece in calls] == [(_FIND, {"query": "MemGPT"})]


def test_it_works_without_an_event_loop(desk: Desk) -> None:
    messages = _messages(desk, "hello")
    assert desk.model().invoke(messages).text == NOTICES["en"]["talk"]
    assert "".join(part.text for part in desk.model().stream(messages)) == NOTICES["en"]["talk"]


async def test_it_works_synchronously_inside_a_loop(desk: Desk) -> None:
    assert desk.model().invoke(_messages(desk, "hello")).text == NOTICES["en"]["talk"]


async def test_a_forced_tool_is_called(desk: Desk) -> None:
    bound = desk.model().bind_tools(list(desk.tools), tool_choice=_FIND)
    reply = await bound.ainvoke(_messages(desk, "hello Voyager"))
    assert [call["name"] for call in reply.tool_calls] == [_FIND]


async def test_it_answers_without_a_window_too(embedder: Embedder) -> None:
    model = OfflineChat(embedder=embedder)
    assert (await model.ainvoke("hello")).text == NOTICES["en"]["talk"]
    earlier = [
        AIMessage("", tool_calls=[{"name": "t", "args": {}, "id": "1"}]),
        ToolMessage("42", tool_call_id="1", name="t"),
    ]
    assert (await model.ainvoke([HumanMessage("How much?"), *earlier])).text.startswith("From t:\n> 42")


async def test_a_megabyte_of_question_is_taken_in_stride(desk: Desk) -> None:
    await desk.ask("hello")
    reply = await desk.ask("Summarize the conversation so far using your tool. " + "word " * 200_000)
    assert len(reply.calls) <= 1


async def test_what_a_decision_needs_is_embedded_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.memory["Knowledge Base"] = HARBOUR * 9
    bound = desk.model().bind_tools([toolbox.schema(name) for name in SHIPPED])
    question = "Which paper says the most about lighthouses"
    messages = _messages(desk, question)
    await bound.ainvoke(messages)
    embedded: list[str] = []
    passages = desk.embedder.passages

    async def counted(texts: Sequence[str]) -> Vectors:
        embedded.extend(texts)
        return await passages(texts)

    monkeypatch.setattr(desk.embedder, "passages", counted)
    await bound.ainvoke(messages)
    assert set(embedded) == {question, *sentences(HARBOUR[0].text)}
