"""Other providers' real clients against a server on localhost that answers as theirs does."""

import asyncio
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from ricordo.common.errors import ContextOverflowError, ModelError, ToolsNotTakenError
from ricordo.common.settings import Settings
from ricordo.graph.model_call import asking
from ricordo.graph.model_call.asking import ask
from ricordo.models.chat import close_model, make_model, profile_window
from tests.support.stand_ins.local_server import LocalServer, Reply, Request

TOOL = {
    "type": "function",
    "function": {"name": "find", "description": "Find.", "parameters": {"type": "object", "properties": {}}},
}
ANTHROPIC, OLLAMA, MISTRAL = "anthropic:claude-x", "ollama:llama3", "mistralai:mistral-small"
SETTINGS = Settings(max_retries=0, request_timeout_seconds=60, context_window=16_000)


@dataclass
class Played(LocalServer):
    """Plays replies in their order, the last one for ever."""

    replies: list[Reply] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def answer(self, request: Request) -> Reply:  # noqa: ARG002 - it plays what it is told
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Played]:
    monkeypatch.setattr(asking, "_PAUSE", 0)
    with Played() as played:
        for name in ("ANTHROPIC_API_URL", "OLLAMA_HOST", "MISTRAL_BASE_URL"):
            os.environ[name] = played.url
        os.environ["ANTHROPIC_API_KEY"] = os.environ["MISTRAL_API_KEY"] = "of-the-tests"
        yield played


async def reply_of(server: Played, name: str, *replies: Reply, tools: tuple[Any, ...] = ()) -> AIMessage:
    server.replies = list(replies)
    model = make_model(name, SETTINGS)
    try:
        return await ask(model, name, [HumanMessage("# Question\nWell?")], list(tools))
    finally:
        await close_model(model)


def events(*data: dict[str, Any]) -> Reply:
    """A stream as Anthropic sends it."""
    lines = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in data]
    return Reply("".join(lines).encode(), "text/event-stream")


def claude(text: str, stop_reason: str = "end_turn", usage: int = 2000) -> Reply:
    start: dict[str, Any] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "claude",
        "stop_reason": None,
    }
    start |= {"stop_sequence": None, "usage": {"input_tokens": usage, "output_tokens": 1}}
    return events(
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop_reason, "stop_sequence": None},
            "usage": {"input_tokens": usage, "output_tokens": 9},
        },
        {"type": "message_stop"},
    )


def claude_fails(kind: str, message: str) -> Reply:
    start: dict[str, Any] = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "claude"}
    start |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 5, "output_tokens": 1}}
    return events(
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Half of"}},
        {"type": "error", "error": {"type": kind, "message": message}},
    )


def llama(*texts: str, done: str | None = "stop", **last: Any) -> Reply:
    """A stream as Ollama sends it: a JSON object a line."""
    lines: list[dict[str, Any]] = [
        {"model": "llama3", "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", "content": text}}
        for text in texts
    ]
    end = {"done": True, "done_reason": done, "prompt_eval_count": 2000, "eval_count": 9} if done else {}
    blank = {"model": "llama3", "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", "content": ""}}
    lines.append(last or (blank | end))
    return Reply("".join(f"{json.dumps(line)}\n" for line in lines).encode(), "application/x-ndjson")


def mistral(text: str, ending: str | None = "stop") -> Reply:
    pieces: list[dict[str, Any]] = [{"delta": {"role": "assistant", "content": text}, "finish_reason": None}]
    pieces.append({"delta": {"content": ""}, "finish_reason": ending})
    head = {"id": "m", "object": "chat.completion.chunk", "created": 1, "model": "mistral-small"}
    said = [json.dumps(head | {"choices": [{"index": 0, **piece}]}) for piece in pieces]
    return Reply("".join(f"data: {one}\n\n" for one in [*said, "[DONE]"]).encode(), "text/event-stream")


def refused(status: int, body: object) -> Reply:
    return Reply(json.dumps(body).encode(), "application/json", status)


@pytest.mark.parametrize(
    ("name", "reply"),
    [(ANTHROPIC, claude("All is well.")), (OLLAMA, llama("All is", " well.")), (MISTRAL, mistral("All is well."))],
    ids=["anthropic", "ollama", "mistral"],
)
async def test_an_answer_comes_whole_and_ends_well(server: Played, name: str, reply: Reply) -> None:
    answer = await reply_of(server, name, reply)
    assert (answer.text, answer.response_metadata["finish_reason"]) == ("All is well.", "stop")
    if answer.usage_metadata:
        assert answer.usage_metadata["input_tokens"] == 2000


@pytest.mark.parametrize(
    ("name", "reply", "ending"),
    [
        (ANTHROPIC, claude("Once upon", "max_tokens"), "length"),
        (ANTHROPIC, claude("", "refusal"), "refusal"),
        (OLLAMA, llama("Once upon", done="length"), "length"),
        (MISTRAL, mistral("Once upon", "length"), "length"),
        (MISTRAL, mistral("Once upon", "model_length"), "length"),
    ],
)
async def test_an_answer_that_was_cut_short_says_how(server: Played, name: str, reply: Reply, ending: str) -> None:
    assert (await reply_of(server, name, reply)).response_metadata["finish_reason"] == ending


@pytest.mark.parametrize(
    ("name", "half", "whole"),
    [
        (ANTHROPIC, claude_fails("overloaded_error", "Overloaded"), claude("Whole.")),
        (OLLAMA, llama("Half of", error="llama runner has terminated"), llama("Whole.")),
        (OLLAMA, llama("Half of", done=None), llama("Whole.")),
    ],
    ids=["anthropic", "ollama", "ollama breaks off"],
)
async def test_a_half_answer_is_dropped_and_asked_for_again(
    server: Played, name: str, half: Reply, whole: Reply
) -> None:
    assert (await reply_of(server, name, half, whole)).text == "Whole."


@pytest.mark.parametrize(
    ("name", "reply", "told"),
    [
        (
            ANTHROPIC,
            refused(401, {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}),
            "invalid x-api-key.*ANTHROPIC_API_KEY",
        ),
        (
            ANTHROPIC,
            refused(404, {"type": "error", "error": {"type": "not_found_error", "message": "model: claude-9"}}),
            "claude-9.*ANTHROPIC_API_URL",
        ),
        (ANTHROPIC, claude_fails("overloaded_error", "Overloaded"), "Overloaded.*try again later"),
        (OLLAMA, refused(404, {"error": "model 'llama3' not found"}), "not found.*ollama pull llama3"),
        (OLLAMA, refused(500, {"error": "out of memory"}), "out of memory.*server failed"),
        (MISTRAL, refused(401, {"message": "Unauthorized"}), "Unauthorized.*MISTRAL_API_KEY"),
        (MISTRAL, refused(422, {"detail": [{"msg": "Extra inputs"}]}), "Extra inputs.*the form of this request"),
    ],
)
async def test_an_error_is_told_in_the_providers_words_with_advice_for_it(
    server: Played, name: str, reply: Reply, told: str
) -> None:
    with pytest.raises(ModelError, match=told) as caught:
        await reply_of(server, name, reply)
    assert "OPENAI" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "reply", "window"),
    [
        (
            ANTHROPIC,
            refused(
                400,
                {
                    "type": "error",
                    "error": {
                        "type": "invalid_request_error",
                        "message": "prompt is too long: 9100 tokens > 8192 maximum",
                    },
                },
            ),
            8192,
        ),
        (
            ANTHROPIC,
            refused(
                413,
                {
                    "type": "error",
                    "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"},
                },
            ),
            None,
        ),
        (OLLAMA, refused(500, {"error": "input length exceeds maximum context length"}), None),
        (OLLAMA, refused(400, {"error": "the prompt exceeds the available context size (8192 tokens)"}), 8192),
        (
            MISTRAL,
            refused(
                400, {"message": "Prompt contains 9100 tokens, too large for model with 8192 maximum context length"}
            ),
            8192,
        ),
    ],
)
async def test_a_prompt_too_long_is_told_apart(server: Played, name: str, reply: Reply, window: int | None) -> None:
    with pytest.raises(ContextOverflowError) as caught:
        await reply_of(server, name, reply)
    assert caught.value.window == window


async def test_a_model_without_tools_is_told_apart(server: Played) -> None:
    words = "registry.ollama.ai/library/gemma:latest does not support tools"
    with pytest.raises(ToolsNotTakenError):
        await reply_of(server, OLLAMA, refused(400, {"error": words}), tools=(TOOL,))


async def test_ollama_is_told_the_window_and_the_time_limit(server: Played) -> None:
    await reply_of(server, OLLAMA, llama("Yes."))
    sent = json.loads(server.requests[0].body)
    assert sent["options"]["num_ctx"] == 16_000
    model: Any = make_model(OLLAMA, SETTINGS)
    assert model._async_client._client.timeout.read == 60
    assert profile_window(model) == 16_000
    assert profile_window(make_model(OLLAMA, Settings())) == 32_000, "nobody has said how much it shall hold"
    await close_model(model)


@pytest.mark.usefixtures("server")
async def test_the_other_clients_are_told_the_time_limit() -> None:
    claude_model: Any = make_model(ANTHROPIC, SETTINGS)
    mistral_model: Any = make_model(MISTRAL, SETTINGS)
    assert round(claude_model.default_request_timeout) == 60
    assert mistral_model.timeout == 60
    await close_model(mistral_model)


async def test_ollama_that_is_not_there_is_said_with_how_to_start_it() -> None:
    os.environ["OLLAMA_HOST"] = "http://127.0.0.1:9"
    model = make_model(OLLAMA, SETTINGS)
    with pytest.raises(ModelError, match="ollama serve"):
        await ask(model, OLLAMA, [HumanMessage("Well?")], [])
    await close_model(model)


@pytest.mark.parametrize("name", [ANTHROPIC, MISTRAL])
def test_a_key_that_is_missing_is_named_before_anything_is_asked(name: str) -> None:
    with pytest.raises(Exception, match=f"{name.partition(':')[0][:7].upper()}.*RICORDO_MODEL"):
        make_model(name, Settings())


def test_a_second_event_loop_gets_connections_of_its_own(server: Played) -> None:
    for name, reply in ((ANTHROPIC, claude("Yes.")), (OLLAMA, llama("Yes.")), (MISTRAL, mistral("Yes."))):
        for _ in range(2):
            assert asyncio.run(reply_of(server, name, reply)).text == "Yes."
