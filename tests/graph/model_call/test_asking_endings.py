"""How replies end over real HTTP: errors inside of streams, answers cut short, models that do not stream."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from ricordo.common.errors import ContextOverflowError, ModelError, ToolsNotTakenError
from ricordo.common.settings import Settings
from ricordo.graph.model_call import asking
from ricordo.graph.model_call.asking import ask
from ricordo.models.chat import close_model, make_model
from tests.support.stand_ins.openai_script import Reply, call, say
from tests.support.stand_ins.openai_server import KEY, OpenAIServer

NAME = "openai:a/model"
TOOL = {
    "type": "function",
    "function": {"name": "find", "description": "Find.", "parameters": {"type": "object", "properties": {}}},
}
ASKED = [HumanMessage("# Question\nWell?")]
OVERLOADED = {"message": "Provider disconnected", "code": 502}


@pytest.fixture
def openai(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setattr(asking, "_PAUSE", 0)
    with OpenAIServer() as server:
        yield server
        assert server.violations == []


async def reply_of(openai: OpenAIServer, *script: Reply, tools: Any = (TOOL,), **changed: Any) -> AIMessage:
    openai.play(*script)
    made = make_model(NAME, Settings(openai_api_key=KEY, openai_base_url=openai.url, max_retries=0))
    try:
        return await ask(made.model_copy(update=changed), NAME, ASKED, list(tools))
    finally:
        await close_model(made)


@pytest.mark.parametrize("cut", [0, 3], ids=["at once", "after half"])
async def test_an_error_inside_the_stream_drops_the_half_and_asks_again(openai: OpenAIServer, cut: int) -> None:
    reply = await reply_of(openai, say("Half of this answer.", event=OVERLOADED, cut=cut), say("Whole."))
    assert reply.text == "Whole."
    assert len(openai.requests) == 2


async def test_errors_inside_of_every_stream_are_told_in_the_providers_words(openai: OpenAIServer) -> None:
    with pytest.raises(ModelError, match=r"Provider disconnected.*try again later"):
        await reply_of(openai, *[say("Half.", event=OVERLOADED, cut=2)] * 9)
    assert len(openai.requests) == 3


@pytest.mark.parametrize("event", [OVERLOADED, {"message": "It broke."}])
async def test_a_server_that_streams_is_asked_for_a_stream_after_an_error_too(
    openai: OpenAIServer, event: dict[str, Any]
) -> None:
    assert (await reply_of(openai, say("", event=event), say("Whole."))).text == "Whole."
    assert [request.streams for request in openai.requests] == [True, True]


async def test_an_error_that_does_not_pass_is_not_asked_for_again(openai: OpenAIServer) -> None:
    with pytest.raises(ModelError, match=r"Insufficient credits.*no credit"):
        await reply_of(openai, *[say("", event={"message": "Insufficient credits", "code": 402})] * 9)
    assert len(openai.requests) == 1


@pytest.mark.parametrize(
    ("status", "advice"),
    [(402, "no credit"), (409, "in a moment"), (422, "the form of this request"), (400, "does not take this")],
)
async def test_every_status_ends_in_words_with_its_own_advice(openai: OpenAIServer, status: int, advice: str) -> None:
    with pytest.raises(ModelError, match=f"Not so.*{advice}"):
        await reply_of(openai, Reply(status=status, error="Not so"))


async def test_a_web_page_in_place_of_an_answer_is_said_to_be_one(openai: OpenAIServer) -> None:
    page = "<html><head><title>400 Bad Request</title></head><body>nginx</body></html>"
    with pytest.raises(ModelError, match=r"400 Bad Request nginx.*a web page and no chat model") as caught:
        await reply_of(openai, Reply(status=400, body=page, headers={"content-type": "text/html"}))
    assert "<" not in str(caught.value)


async def test_an_error_sent_as_an_answer_is_told_in_its_words(openai: OpenAIServer) -> None:
    body = json.dumps({"error": {"message": "The engine is asleep", "code": 503}})
    with pytest.raises(ModelError, match=r"The engine is asleep.*server failed"):
        await reply_of(openai, *[Reply(body=body)] * 9)


@pytest.mark.parametrize(
    "event",
    [
        {"message": "Your input exceeds the context window of this model.", "code": "context_length_exceeded"},
        {"message": "prompt is too long: 9100 tokens > 8192 maximum", "code": 400},
    ],
)
async def test_too_long_is_told_apart_inside_of_a_stream(openai: OpenAIServer, event: dict[str, Any]) -> None:
    with pytest.raises(ContextOverflowError) as caught:
        await reply_of(openai, say("", event=event))
    assert caught.value.window in {None, 8192}
    assert len(openai.requests) == 1


async def test_a_stream_that_does_not_say_how_it_ended_is_asked_for_again(openai: OpenAIServer) -> None:
    reply = await reply_of(openai, say("Half of it, and th", ends=None), say("Whole."))
    assert (reply.text, reply.response_metadata["finish_reason"]) == ("Whole.", "stop")


async def test_one_that_never_says_so_is_marked(openai: OpenAIServer) -> None:
    reply = await reply_of(openai, *[say("Half of it, and th", ends=None)] * 9)
    assert (reply.text, reply.response_metadata["finish_reason"]) == ("Half of it, and th", "unfinished")
    assert len(openai.requests) == 3


async def test_a_reply_that_ends_in_an_error_is_asked_for_again(openai: OpenAIServer) -> None:
    assert (await reply_of(openai, say("Half of", ends="error"), say("Whole."))).text == "Whole."
    with pytest.raises(ModelError, match="in the middle of its reply"):
        await reply_of(openai, *[say("Half of", ends="error")] * 9)


@pytest.mark.parametrize("ending", ["length", "content_filter"])
async def test_a_reply_that_was_cut_short_says_so(openai: OpenAIServer, ending: str) -> None:
    reply = await reply_of(openai, say("Once upon a", ends=ending))
    assert (reply.text, reply.response_metadata["finish_reason"]) == ("Once upon a", ending)


async def test_a_filter_that_leaves_nothing_is_no_empty_reply(openai: OpenAIServer) -> None:
    reply = await reply_of(openai, say("", ends="content_filter"))
    assert reply.response_metadata["finish_reason"] == "content_filter"
    assert len(openai.requests) == 1


@pytest.mark.parametrize("still", [False, True])
async def test_a_refusal_is_told_in_its_words_and_not_asked_for_again(openai: OpenAIServer, still: bool) -> None:  # noqa: FBT001 - a parameter
    message = {"role": "assistant", "content": None, "refusal": "I cannot help."}
    whole = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    pieces = Reply(deltas=({"role": "assistant", "refusal": None}, {"refusal": "I cannot "}, {"refusal": "help."}))
    reply = await reply_of(
        openai, Reply(body=whole) if still else pieces, **({"disable_streaming": True} if still else {})
    )
    assert (reply.text, reply.response_metadata["finish_reason"]) == ("I cannot help.", "refusal")
    assert len(openai.requests) == 1


@pytest.mark.parametrize("ends", ["length", None])
@pytest.mark.parametrize("arguments", ["", '{"query": "ti'])
async def test_a_call_that_was_cut_off_is_not_made_with_less_than_was_meant(
    openai: OpenAIServer, ends: str | None, arguments: str
) -> None:
    reply = await reply_of(openai, *[call("find", arguments, ends=ends)] * 3)
    assert reply.tool_calls == []
    assert "cut off" in str(reply.invalid_tool_calls[0]["error"])


async def test_a_model_that_thinks_until_its_limit_is_said_to(openai: OpenAIServer) -> None:
    with pytest.raises(ModelError, match="thought until its limit"):
        await reply_of(openai, *[say("", ends="length")] * 2)


async def test_use_in_every_piece_is_not_added_up(openai: OpenAIServer) -> None:
    reply = await reply_of(openai, say("Many pieces make one answer.", usage=(2000, 9), repeats_usage=True))
    assert reply.usage_metadata
    assert (reply.usage_metadata["input_tokens"], reply.usage_metadata["output_tokens"]) == (2000, 9)


@pytest.mark.parametrize(
    "still", [{"disable_streaming": True}, {"disable_streaming": "tool_calling"}, {"streaming": False}]
)
async def test_a_model_that_does_not_stream_answers_and_calls_tools(openai: OpenAIServer, still: Any) -> None:
    assert (await reply_of(openai, say("At once."), **still)).text == "At once."
    reply = await reply_of(openai, call("find", {"query": "tides"}), **still)
    assert reply.tool_calls[0]["args"] == {"query": "tides"}
    assert not any(request.streams for request in openai.requests)


async def test_a_server_that_knows_no_stream_is_asked_for_its_answer_at_once(openai: OpenAIServer) -> None:
    whole = {"role": "assistant", "content": "At once."}
    choice = {"index": 0, "message": whole, "finish_reason": "stop"}
    body = json.dumps({"id": "1", "object": "chat.completion", "model": "m", "created": 1, "choices": [choice]})
    assert (await reply_of(openai, *[Reply(body=body)] * 2)).text == "At once."


class Whole(BaseChatModel):
    """A model by `_generate` alone, without tools."""

    @property
    def _llm_type(self) -> str:
        return "whole"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - the same
        **_: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(f"{len(messages)} read."))])


async def test_a_model_by_generate_alone_answers_and_one_without_tools_is_told_apart() -> None:
    assert (await ask(Whole(), "whole", ASKED, [])).text == "1 read."
    with pytest.raises(ToolsNotTakenError, match="takes no tools"):
        await ask(Whole(), "whole", ASKED, [TOOL])


async def test_a_wrapped_model_takes_tools_and_keeps_its_wrappers(openai: OpenAIServer) -> None:
    openai.play(call("find", {}))
    made = make_model(NAME, Settings(openai_api_key=KEY, openai_base_url=openai.url))
    reply = await ask(made.bind(user="ada").with_retry(), NAME, ASKED, [TOOL])
    await close_model(made)
    assert [one["name"] for one in reply.tool_calls] == ["find"]
    assert openai.requests[0].body["user"] == "ada"


class Silly(BaseChatModel):
    """A model that fails as no other does."""

    error: Any = None

    @property
    def _llm_type(self) -> str:
        return "silly"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise self.error


@pytest.mark.parametrize("error", [KeyError("choices"), AssertionError(), ExceptionGroup("all", [OSError("gone")])])
async def test_whatever_a_client_raises_is_a_model_error(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(asking, "_PAUSE", 0)
    with pytest.raises(ModelError, match="The chat model silly failed"):
        await ask(Silly(error=error), "silly", ASKED, [])
