"""Servers of OpenAI's protocol in their own ways, over real HTTP."""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from ricordo.common.errors import ModelError
from ricordo.common.settings import Settings
from ricordo.graph.exchange import sound_reply
from ricordo.graph.model_call.conversing import converse
from ricordo.models.chat import close_model, make_model
from ricordo.models.manners import Manners
from tests.support.harness import ScriptedChat
from tests.support.stand_ins.openai_script import Call, Reply, calls, say
from tests.support.stand_ins.openai_server import KEY, OpenAIServer

NAME = "openai:gpt-5-mini"
TOOL = {
    "type": "function",
    "function": {"name": "find", "description": "Find.", "parameters": {"type": "object", "properties": {}}},
}
CALLED = AIMessage("", tool_calls=[{"name": "find", "args": {"query": "tides"}, "id": "call_1", "type": "tool_call"}])
ASKED: list[AnyMessage] = [SystemMessage("Be brief."), HumanMessage("# Question\nWell?")]
WITH_RESULT: list[AnyMessage] = [*ASKED, CALLED, ToolMessage("High at six.", tool_call_id="call_1", name="find")]


@pytest.fixture
def openai() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server
        assert server.violations == []


async def reply_of(
    openai: OpenAIServer,
    *script: Reply,
    messages: list[AnyMessage] = ASKED,
    manners: Manners | None = None,
    name: str = NAME,
    **how: Any,
) -> AIMessage:
    openai.play_by(lambda _: replies.pop(0), lambda _: replies.pop(0))
    replies = list(script)
    model = make_model(name, Settings(openai_api_key=KEY, openai_base_url=openai.url, max_retries=0))
    try:
        reply = await converse(model, name, messages, [TOOL], manners or Manners(), **how)
    finally:
        await close_model(model)
    assert replies == []
    return reply


def deltas(*functions: Mapping[str, Any], call_id: str | None = "call_9") -> Reply:
    pieces = [{"tool_calls": [{"index": 0, "id": call_id, "function": dict(f)}]} for f in functions]
    return Reply(calls=(Call("find"),), deltas=({"role": "assistant", "content": None}, *pieces))


AS_THEY_COME = {
    "arguments as an object": deltas({"name": "find", "arguments": {"query": "tides"}}),
    "name and id in each delta": deltas(
        {"name": "find", "arguments": '{"query": '}, {"name": "find", "arguments": '"tides"}'}
    ),
    "arguments encoded twice": deltas({"name": "find", "arguments": json.dumps('{"query": "tides"}')}),
    "a namespace before the name": deltas({"name": "functions.find", "arguments": '{"query": "tides"}'}),
    "no index": Reply(
        calls=(Call("find"),),
        deltas=({"tool_calls": [{"id": "c1", "function": {"name": "find", "arguments": '{"query": "tides"}'}}]},),
    ),
}


@pytest.mark.parametrize("given", AS_THEY_COME.values(), ids=AS_THEY_COME)
async def test_the_call_that_was_meant_is_made(openai: OpenAIServer, given: Reply) -> None:
    reply = await reply_of(openai, given)
    assert [(c["name"], c["args"]) for c in reply.tool_calls] == [("find", {"query": "tides"})]
    assert reply.invalid_tool_calls == []


@pytest.mark.parametrize("arguments", [None, "", "null", {}])
async def test_a_call_without_arguments_in_any_form_is_made(openai: OpenAIServer, arguments: Any) -> None:
    reply = await reply_of(openai, deltas({"name": "find", "arguments": arguments}))
    assert [(c["name"], c["args"]) for c in reply.tool_calls] == [("find", {})]


async def test_an_id_that_an_earlier_step_had_becomes_another(openai: OpenAIServer) -> None:
    reply = await reply_of(openai, calls(Call("find", {}, "call_1")), messages=WITH_RESULT)
    assert reply.tool_calls[0]["id"] != "call_1"


async def test_an_id_of_a_message_that_is_there_becomes_another() -> None:
    model = ScriptedChat(script=[AIMessage("Fine.", id="same"), AIMessage("Fine.", id="same")])
    assert (await converse(model, "scripted", ASKED, [], Manners())).id == "same"
    assert (await converse(model, "scripted", ASKED, [], Manners(), taken={"same"})).id not in {"same", None}


WRITTEN = '<tool_call>{"name": "find", "arguments": {"query": "tides"}}</tool_call>'


async def test_a_call_written_as_text_is_taken_where_the_model_knows_no_other_way(openai: OpenAIServer) -> None:
    reply = await reply_of(openai, say(WRITTEN))
    assert (reply.text, reply.tool_calls[0]["args"]) == ("", {"query": "tides"})


async def test_a_model_that_can_call_is_asked_to_call_properly(openai: OpenAIServer) -> None:
    reply = await reply_of(openai, say(WRITTEN), say("High at six."), manners=Manners(calls=True))
    assert (reply.text, reply.tool_calls) == ("High at six.", [])
    assert "written into its text" in openai.requests[-1].messages[-1]["content"]


async def test_a_call_is_never_the_last_answer(openai: OpenAIServer) -> None:
    reply = await reply_of(openai, say(WRITTEN), say("High at six."), messages=WITH_RESULT, final=True)
    assert reply.text == "High at six."


async def test_the_last_call_of_a_turn_shows_the_tools_and_forbids_them(openai: OpenAIServer) -> None:
    await reply_of(openai, say("High at six."), messages=WITH_RESULT, final=True)
    body = openai.requests[-1].body
    assert (openai.requests[-1].tools, body["tool_choice"]) == (["find"], "none")


def knows_no_system_role(body: dict[str, Any]) -> str | None:
    return "System role not supported" if body["messages"][0]["role"] == "system" else None


def knows_no_stream_options(body: dict[str, Any]) -> str | None:
    return "Unrecognized request argument supplied: stream_options" if "stream_options" in body else None


def knows_no_tool_choice(body: dict[str, Any]) -> str | None:
    return "tool_choice: extra fields not permitted" if "tool_choice" in body else None


def wants_no_user_after_a_tool(body: dict[str, Any]) -> str | None:
    roles = [message["role"] for message in body["messages"]]
    after = any(a == "tool" and b == "user" for a, b in pairwise(roles))
    return "Unexpected role 'user' after role 'tool'" if after else None


def wants_tools_beside_calls(body: dict[str, Any]) -> str | None:
    calls_there = any(message.get("tool_calls") for message in body["messages"])
    return "Requests with tool calls must define tools" if calls_there and not body.get("tools") else None


@pytest.mark.parametrize(
    "rule",
    [
        knows_no_system_role,
        knows_no_stream_options,
        knows_no_tool_choice,
        wants_no_user_after_a_tool,
        wants_tools_beside_calls,
    ],
)
@pytest.mark.parametrize("final", [False, True])
async def test_each_servers_rules_are_kept_also_in_the_last_call_and_after_an_empty_reply(
    openai: OpenAIServer, rule: Callable[[dict[str, Any]], str | None], *, final: bool
) -> None:
    openai.refuses = rule
    manners = Manners()
    reply = await reply_of(openai, say(""), say("High at six."), messages=WITH_RESULT, manners=manners, final=final)
    assert reply.text == "High at six."
    before = len(openai.requests)
    await reply_of(openai, say("Fine."), messages=WITH_RESULT, manners=manners, final=final)
    assert len(openai.requests) == before + 1, "what was refused once is not sent again"
    assert "Be brief." in str(openai.requests[-1].messages[0]["content"])


async def test_another_refusal_is_told(openai: OpenAIServer) -> None:
    openai.refuses = lambda _: "This account is closed."
    with pytest.raises(ModelError, match="This account is closed"):
        await reply_of(openai)
    assert len(openai.requests) == 1


async def test_without_tools_calls_and_results_are_told_in_words(openai: OpenAIServer) -> None:
    openai.play(say("Fine."))
    model = make_model(NAME, Settings(openai_api_key=KEY, openai_base_url=openai.url))
    await converse(model, NAME, WITH_RESULT, [], Manners())
    await close_model(model)
    sent = openai.requests[-1].messages
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "user"]
    assert 'find(query="tides")' in sent[2]["content"]
    assert "> High at six." in sent[3]["content"]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_thinking_beside_the_content_goes_back_with_its_calls(openai: OpenAIServer, field: str) -> None:
    thought = Reply(
        calls=(Call("find"),),
        deltas=(
            {"role": "assistant", field: "I must "},
            {field: "look."},
            {"tool_calls": [{"index": 0, "id": "c7", "function": {"name": "find", "arguments": "{}"}}]},
        ),
    )
    reply = await reply_of(openai, thought)
    assert reply.text == ""
    await reply_of(openai, say("Fine."), messages=[*ASKED, reply, ToolMessage("Six.", tool_call_id="c7")])
    assert openai.requests[-1].messages[2][field] == "I must look."


async def test_thinking_in_the_text_is_no_answer_and_goes_back_with_calls_alone(openai: OpenAIServer) -> None:
    assert (await reply_of(openai, say("<think>Hm.</think>\n\nFine."))).text == "Fine."
    assert (await reply_of(openai, say("Hm, hm.\n</think>\n\nFine."))).text == "Fine."
    thought = calls(Call("find", {}, "c8"), text="<think>Hm.</think>Let me see.")
    reply = await reply_of(openai, thought)
    assert reply.text == "Let me see."
    await reply_of(openai, say("Fine."), messages=[*ASKED, reply, ToolMessage("Six.", tool_call_id="c8")])
    assert openai.requests[-1].messages[2]["content"] == "<think>Hm.</think>Let me see."


def test_reasoning_items_of_the_responses_api_go_back_before_their_call() -> None:
    options = {"use_responses_api": True}
    settings = Settings(openai_api_key=KEY, model=NAME, model_options=options)
    model: Any = make_model(NAME, settings)
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    said = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "find", "arguments": "{}"}
    made = [{"name": "find", "args": {}, "id": "c1", "type": "tool_call"}]
    reply = sound_reply(AIMessage([item | {"index": 0}, said | {"index": 1}], tool_calls=made), ["find"])
    sent = model._get_request_payload([*ASKED, reply, ToolMessage("Six.", tool_call_id="c1")])["input"]
    assert sent[2] == item
    assert [one.get("type") for one in sent[3:]] == ["function_call", "function_call_output"]


def test_options_of_the_model_are_set() -> None:
    settings = Settings.model_validate(
        {"openai_api_key": KEY, "model": NAME, "model_options": '{"stream_usage": false, "reasoning_effort": "low"}'}
    )
    model: Any = make_model(NAME, settings)
    assert (model.stream_usage, model.reasoning_effort) == (False, "low")
    assert make_model("openai:gpt-5", settings).stream_usage, "another model has its own"  # type: ignore[attr-defined]
