"""A model server that has a bad day, over real HTTP: the turn goes on where it can, and is honest where it cannot."""

from collections.abc import AsyncIterator

import pytest

from ricordo.common.settings import Settings
from ricordo.graph.notebook import Agent, Restarted, Token, open_agent
from tests.support.stand_ins.openai_script import Call, Reply, broken_server, call, calls, rate_limited, say
from tests.support.stand_ins.openai_server import KEY, OpenAIServer


@pytest.fixture
async def agent(dsn: str, openai_server: OpenAIServer) -> AsyncIterator[Agent]:
    own = {"database_url": dsn, "openai_base_url": openai_server.url, "openai_api_key": KEY}
    async with open_agent(Settings.model_validate(own)) as agent:
        yield agent


@pytest.fixture
async def impatient(dsn: str, openai_server: OpenAIServer) -> AsyncIterator[Agent]:
    """The agent that waits for the model for three seconds."""
    own = {"database_url": dsn, "openai_base_url": openai_server.url, "openai_api_key": KEY}
    async with open_agent(Settings.model_validate(own | {"request_timeout_seconds": 3})) as agent:
        yield agent


@pytest.mark.parametrize(
    "fault",
    [
        rate_limited(),
        broken_server(),
        broken_server(503),
        say("Half of this is lost on its way.", cut=3),
        say(""),
        call("get_current_time", '{"detailed": tr'),
    ],
    ids=["429", "500", "503", "cut", "empty", "broken arguments"],
)
async def test_a_fault_that_passes_is_survived(fault: Reply, agent: Agent, openai_server: OpenAIServer) -> None:
    openai_server.play(fault, say("Here is the answer."))
    answer = await agent.ask("Are you well?")
    assert (answer.stop_reason, answer.answer) == ("answer", "Here is the answer.")
    assert len(openai_server.main) == 2
    assert {request.question for request in openai_server.main} == {"Are you well?"}


async def test_an_answer_that_comes_too_late_is_asked_for_again(impatient: Agent, openai_server: OpenAIServer) -> None:
    openai_server.play(say("The whole of this comes too late.", delay=60), say("Here is the answer."))
    assert (await impatient.ask("Are you well?")).answer == "Here is the answer."


async def test_several_calls_at_once_are_all_answered(agent: Agent, openai_server: OpenAIServer) -> None:
    wanted = [Call("get_current_time", {"detailed": True}), Call("get_current_time", "{"), Call("no_such_tool")]
    openai_server.play(calls(*wanted), say("Done."))
    answer = await agent.ask("What time is it?")
    assert [one["status"] for one in answer.tool_calls] == ["success", "error", "error"]
    assert len(openai_server.main[-1].results) == 3


async def test_words_come_as_the_model_says_them(agent: Agent, openai_server: OpenAIServer) -> None:
    openai_server.play(say("one two three four five six seven", drip=0.01))
    tokens = [event.text async for event in agent.stream("Count!") if isinstance(event, Token)]
    assert len(tokens) > 3
    assert "".join(tokens) == "one two three four five six seven"


async def test_a_key_that_is_refused_is_said_and_the_question_kept(agent: Agent, openai_server: OpenAIServer) -> None:
    openai_server.play(Reply(status=401, error="Incorrect API key provided.", code="invalid_api_key"), say("Welcome."))
    answer = await agent.ask("Let me in.")
    assert answer.stop_reason == "error"
    assert "OPENAI_API_KEY" in answer.answer
    await agent.ask("And now?")
    assert "> Let me in." in openai_server.main[-1].segment("Conversation")


async def test_half_an_answer_before_an_error_is_void_and_the_next_one_counts(
    agent: Agent, openai_server: OpenAIServer
) -> None:
    overloaded = {"message": "Provider disconnected", "code": 502}
    openai_server.play(say("Half of this is lost on its way.", event=overloaded, cut=3), say("Here is the answer."))
    events = [event async for event in agent.stream("Are you well?")]
    begun_anew = next(i for i, event in enumerate(events) if isinstance(event, Restarted))
    said = "".join(event.text for event in events[begun_anew:] if isinstance(event, Token))
    assert said == events[-1].answer == "Here is the answer."  # type: ignore[union-attr]
    stored = await agent.resources.manager.for_user("default").read_conversational_memory("1")
    assert [one.text for one in stored] == ["Are you well?", "Here is the answer."]


@pytest.mark.parametrize(
    ("refusal", "window"),
    [
        (Reply(status=400, error="Input tokens exceed the configured limit of 9000 tokens."), 9_000),
        (say("", event={"message": "Your input exceeds the window.", "code": "context_length_exceeded"}), None),
        (Reply(status=429, error="Request too large: Limit 3500, Requested 5200.", code="rate_limit_exceeded"), None),
        (Reply(status=400, error="It exceeds the available context size.", about={"n_ctx": 9_000}), 9_000),
        (Reply(status=413, error="Please reduce the length of the messages.", code="request_too_large"), None),
    ],
    ids=["400", "in the stream", "tokens per minute", "llama.cpp", "413"],
)
async def test_a_prompt_too_long_in_any_wording_is_shortened_and_the_next_turn_works(
    dsn: str, openai_server: OpenAIServer, refusal: Reply, window: int | None
) -> None:
    own = {"database_url": dsn, "openai_base_url": openai_server.url, "openai_api_key": KEY, "max_retries": 0}
    async with open_agent(Settings.model_validate(own | {"model": "openai:a/model"})) as agent:
        for n in range(2):
            openai_server.play(say("Noted."))
            await agent.ask(f"Log {n}: " + "the tide was fair and the sea was calm " * 120)
        openai_server.play(refusal, say("It fits."))
        answer = await agent.ask("What happened?")
        assert (answer.stop_reason, answer.answer) == ("answer", "It fits.")
        assert answer.compactions
        assert window is None or answer.context["window"] == window
        openai_server.play(say("It still fits."))
        assert (await agent.ask("And then?")).answer == "It still fits."


async def test_errors_inside_of_every_stream_end_the_turn_and_are_no_bug(
    agent: Agent, openai_server: OpenAIServer
) -> None:
    openai_server.play(*[say("Half.", event={"message": "Provider disconnected", "code": 502}, cut=2)] * 9)
    answer = await agent.ask("Are you well?")
    assert answer.stop_reason == "error"
    assert "Provider disconnected" in answer.answer
    assert "Half." not in answer.answer
