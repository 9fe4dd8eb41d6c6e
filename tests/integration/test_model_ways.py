"""Models that think, call and refuse in ways of their own, through the whole turn and over real HTTP."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from ricordo.common.settings import Settings
from ricordo.graph.notebook import Agent, Answer, Token, open_agent
from tests.support.stand_ins.openai_script import Call, Reply, call, calls, say
from tests.support.stand_ins.openai_server import KEY, OpenAIServer

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVyb24="}, "filename": "heron.png"}


@pytest.fixture
async def agent(dsn: str, openai_server: OpenAIServer) -> AsyncIterator[Agent]:
    own = {"database_url": dsn, "openai_base_url": openai_server.url, "openai_api_key": KEY, "model": "openai:some-7b"}
    async with open_agent(Settings.model_validate(own)) as agent:
        yield agent


async def heard(agent: Agent, question: str) -> tuple[str, str]:
    """Return what is streamed of a turn, and its answer."""
    events = [event async for event in agent.stream(question, "t")]
    answer = next(event for event in events if isinstance(event, Answer))
    return "".join(event.text for event in events if isinstance(event, Token)), answer.answer


@pytest.mark.parametrize("thought", ["<think>Hush, a secret.</think>\n\n", "Hush, a secret.\n</think>\n\n"])
async def test_thinking_in_the_text_is_neither_shown_nor_streamed_nor_stored(
    thought: str, agent: Agent, openai_server: OpenAIServer
) -> None:
    openai_server.play(
        calls(Call("get_current_time", {}), text=f"{thought}Let me look."), say(f"{thought}It is late."), say("Yes.")
    )
    streamed, answer = await heard(agent, "What time is it?")
    assert (streamed, answer) == ("Let me look.It is late.", "It is late.")
    await heard(agent, "Sure?")
    assert "secret" not in openai_server.main[-1].window


async def test_a_call_written_as_text_is_run_and_not_shown(agent: Agent, openai_server: OpenAIServer) -> None:
    written = '<tool_call>{"name": "get_current_time", "arguments": {"detailed": false}}</tool_call>'
    openai_server.play(say(written), say("It is late."))
    assert await heard(agent, "What time is it?") == ("It is late.", "It is late.")
    assert "UTC" in openai_server.main[-1].results[0]


async def test_an_answer_in_json_is_an_answer(agent: Agent, openai_server: OpenAIServer) -> None:
    openai_server.play(say('{"name": "Ada", "age": 36}'))
    assert await heard(agent, "Who?") == ('{"name": "Ada", "age": 36}',) * 2


async def test_calls_of_two_steps_under_one_id_keep_both_results(agent: Agent, openai_server: OpenAIServer) -> None:
    openai_server.play(*[calls(Call("get_current_time", {}, id="call_0"))] * 2, say("Late."))
    await heard(agent, "What time is it?")
    assert len(openai_server.main[-1].results) == 2
    assert openai_server.violations == []


async def test_a_server_that_refuses_pictures_is_asked_without_them_and_the_user_is_told(
    agent: Agent, openai_server: OpenAIServer
) -> None:
    def refuses(body: dict[str, Any]) -> str | None:
        return "This model does not support image input" if "image_url" in str(body["messages"]) else None

    openai_server.refuses = refuses
    openai_server.play(say("I cannot see it."))
    answer = await agent.ask([{"type": "text", "text": "Which bird?"}, PICTURE], "t")
    assert answer.answer.startswith("I cannot see it.\n\n(Not seen by the model")
    assert "heron.png" in answer.answer
    assert "left out" in openai_server.main[-1].window


async def test_the_turn_is_answered_at_its_limit_by_a_server_that_wants_tools_beside_calls(
    agent: Agent, openai_server: OpenAIServer
) -> None:
    def refuses(body: dict[str, Any]) -> str | None:
        if any(message.get("tool_calls") for message in body["messages"]) and not body.get("tools"):
            return "Requests which include tool calls must define tools"
        roles = [message["role"] for message in body["messages"]]
        return "Unexpected role 'user' after role 'tool'" if roles[-2:] == ["tool", "user"] else None

    openai_server.refuses = refuses
    openai_server.play(call("get_current_time"), Reply(text="Late, as far as I know."))
    answer = await agent.ask("What time is it?", "t", max_iterations=1)
    assert (answer.stop_reason, answer.answer.split("\n")[0]) == ("max_iterations", "Late, as far as I know.")
    assert openai_server.main[-1].body["tool_choice"] == "none"
