"""Asking over real HTTP, streaming; the server is the tests' own."""

from collections.abc import Iterator

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from ricordo.common.errors import ContextOverflowError, ModelError
from ricordo.common.settings import Settings
from ricordo.graph.model_call.asking import ask
from ricordo.models.chat import close_model, make_model
from tests.support.stand_ins.openai_script import Reply, call, say
from tests.support.stand_ins.openai_server import KEY, OpenAIServer

NAME = "openai:gpt-5-mini"
TOOL = {
    "type": "function",
    "function": {"name": "find", "description": "Find.", "parameters": {"type": "object", "properties": {}}},
}


@pytest.fixture
def openai() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server
        assert server.violations == []


async def reply_of(openai: OpenAIServer, *script: Reply, retries: int = 2) -> AIMessage:
    openai.play(*script)
    model = make_model(NAME, Settings(openai_api_key=KEY, openai_base_url=openai.url, max_retries=retries))
    try:
        return await ask(model, NAME, [HumanMessage("# Question\nWell?")], [TOOL])
    finally:
        await close_model(model)


async def test_a_reply_comes_whole_with_its_usage(openai: OpenAIServer) -> None:
    reply = await reply_of(openai, say("All is well.", usage=(123, 4)))
    assert reply.text == "All is well."
    assert reply.usage_metadata
    assert reply.usage_metadata["input_tokens"] == 123


async def test_tool_calls_come_with_their_arguments(openai: OpenAIServer) -> None:
    reply = await reply_of(openai, call("find", {"query": "città 漢字"}))
    assert [(c["name"], c["args"]) for c in reply.tool_calls] == [("find", {"query": "città 漢字"})]


@pytest.mark.parametrize("broken", ["{query: tides]", '{"query": "tides", "k', '["tides"]', '"tides"', "{} {}"])
async def test_arguments_that_are_no_object_are_an_invalid_call(openai: OpenAIServer, broken: str) -> None:
    reply = await reply_of(openai, call("find", broken))
    assert reply.tool_calls == [], "LangChain would mend them to fewer arguments than were meant"
    assert [(c["name"], c["args"]) for c in reply.invalid_tool_calls] == [("find", broken)]


async def test_a_call_without_arguments_is_valid(openai: OpenAIServer) -> None:
    assert (await reply_of(openai, call("find", ""))).tool_calls[0]["args"] == {}


async def test_a_stream_that_breaks_off_is_asked_for_again(openai: OpenAIServer) -> None:
    reply = await reply_of(openai, say("This will be cut off here.", cut=2), say("Whole."))
    assert reply.text == "Whole."
    assert len(openai.requests) == 2


async def test_a_stream_that_always_breaks_off_is_an_error(openai: OpenAIServer) -> None:
    with pytest.raises(ModelError, match="failed"):
        await reply_of(openai, *[say("This will be cut off here.", cut=2)] * 9)
    assert len(openai.requests) == 3


async def test_a_rate_limit_is_waited_for(openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float, *_: object) -> None:
        slept.append(seconds)

    monkeypatch.setattr("openai._base_client.anyio.sleep", sleep)
    limited = Reply(status=429, error="Rate limit reached.", code="rate_limit_exceeded", headers={"retry-after": "1"})
    assert (await reply_of(openai, limited, say("Here."))).text == "Here."
    assert len(openai.requests) == 2
    assert slept == [1]


async def test_an_endless_rate_limit_ends_in_words(openai: OpenAIServer) -> None:
    limited = Reply(status=429, error="Rate limit reached.", code="rate_limit_exceeded", headers={"retry-after": "0"})
    with pytest.raises(ModelError, match=r"429.*quota"):
        await reply_of(openai, *[limited] * 9)
    assert len(openai.requests) == 3


async def test_a_failing_server_is_tried_again(openai: OpenAIServer) -> None:
    assert (await reply_of(openai, Reply(status=500, error="Sorry."), say("Here."))).text == "Here."


async def test_a_wrong_key_is_said_without_showing_it(openai: OpenAIServer) -> None:
    with pytest.raises(ModelError, match="OPENAI_API_KEY") as caught:
        await reply_of(openai, Reply(status=401, error="Incorrect API key provided.", code="invalid_api_key"))
    assert KEY not in str(caught.value)


async def test_a_prompt_too_long_is_told_apart(openai: OpenAIServer) -> None:
    too_long = Reply(status=400, error="Input tokens exceed the configured limit.", code="context_length_exceeded")
    with pytest.raises(ContextOverflowError):
        await reply_of(openai, too_long)


async def test_a_server_that_is_not_there_is_an_error_with_advice() -> None:
    model = make_model(NAME, Settings(openai_base_url="http://127.0.0.1:9/v1", max_retries=0))
    with pytest.raises(ModelError, match="OPENAI_BASE_URL"):
        await ask(model, NAME, [HumanMessage("Well?")], [])
    await close_model(model)
