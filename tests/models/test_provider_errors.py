"""Errors of many kinds in our words; the advice is for the provider that was chosen."""

import json
from typing import Any

import httpx
import pytest
from langchain_core import exceptions as provider

from ricordo.common.errors import ContextOverflowError, ModelError, ToolsNotTakenError
from ricordo.models.provider_errors import passes, raise_ours


class AnsweredError(Exception):
    """An HTTP status with a body, as most clients raise it."""

    def __init__(self, status: int | None, message: str, **error: Any) -> None:
        super().__init__(message)
        self.status_code = status
        self.body = {"error": {"message": message, **error}}


@pytest.mark.parametrize(
    ("model", "error", "advice"),
    [
        ("openai:gpt-5-mini", provider.ModelAuthenticationError("Incorrect API key"), "check OPENAI_API_KEY"),
        ("anthropic:claude-x", provider.ModelAuthenticationError("invalid x-api-key"), "check ANTHROPIC_API_KEY"),
        ("mistralai:small", AnsweredError(401, "Unauthorized"), "check MISTRAL_API_KEY"),
        ("somebody:model", AnsweredError(401, "Unauthorized"), "check the provider's own key"),
        ("openrouter:a/b", AnsweredError(402, "Insufficient credits"), "no credit"),
        (
            "openai:gpt-5-mini",
            AnsweredError(429, "You exceeded your current quota", code="insufficient_quota"),
            "no credit",
        ),
        ("anthropic:claude-x", AnsweredError(403, "Not allowed"), "may not use this model"),
        (
            "openai:gpt-6",
            provider.ModelNotFoundError("no such model"),
            "RICORDO_MODEL and the network and OPENAI_BASE_URL",
        ),
        ("ollama:llama9", AnsweredError(404, "model 'llama9' not found"), "`ollama pull llama9`"),
        ("ollama:llama3", ConnectionError("Failed to connect"), "`ollama serve`"),
        ("anthropic:claude-x", provider.ModelConnectionError("refused"), "ANTHROPIC_API_URL"),
        ("somebody:model", httpx.ConnectError("refused"), "check the network"),
        ("openai:gpt-5-mini", AnsweredError(409, "Conflict"), "in a moment"),
        ("openai:gpt-5-mini", AnsweredError(422, "Unprocessable"), "the form of this request"),
        ("openai:gpt-5-mini", AnsweredError(400, "Bad parameter"), "does not take this"),
        ("anthropic:claude-x", AnsweredError(200, "Overloaded", type="overloaded_error"), "try again later"),
        ("openai:gpt-5-mini", AnsweredError(503, "Overloaded"), "server failed"),
        ("openai:gpt-5-mini", TimeoutError("silent"), "in time"),
        (
            "openai:gpt-5-mini",
            AnsweredError(400, "<html><title>400 Bad</title><p>nginx</html>"),
            "a web page and no chat model",
        ),
        ("somebody:model", RuntimeError("odd"), "Ask again"),
        ("somebody:model", TypeError("got an unexpected keyword argument 'heat'"), "check RICORDO_MODEL_OPTIONS"),
        ("openai:gpt-5-mini", json.JSONDecodeError("Expecting value", "", 0), "its answer is no JSON"),
    ],
)
def test_the_advice_fits_the_kind_of_error_and_the_provider(model: str, error: Exception, advice: str) -> None:
    with pytest.raises(ModelError) as caught:
        raise_ours(model, error)
    assert advice in str(caught.value)
    assert "OPENAI" not in str(caught.value) or model.startswith("openai:")
    assert "<" not in str(caught.value)


def test_an_error_keeps_the_providers_words() -> None:
    with pytest.raises(ModelError, match="the moon is in the way"):
        raise_ours("m", RuntimeError("the moon\nis in the way"))


def test_an_error_that_is_a_body_is_told_in_its_words() -> None:
    with pytest.raises(ModelError, match=r"failed: The moon is in the way\. Ask again"):
        raise_ours("m", ValueError({"message": "The moon is in the way.", "code": "moon"}))


def test_what_caused_an_error_without_a_kind_tells_its_kind() -> None:
    try:
        try:
            raise AnsweredError(401, "Unauthorized")  # noqa: TRY301 - as a wrapper of a client does
        except AnsweredError as cause:
            raise RuntimeError("all retries failed") from cause
    except RuntimeError as error:
        with pytest.raises(ModelError, match="MISTRAL_API_KEY"):
            raise_ours("mistralai:small", error)


def test_a_prompt_too_long_comes_with_its_window() -> None:
    with pytest.raises(ContextOverflowError) as caught:
        raise_ours("m", AnsweredError(400, "the request exceeds the available context size", n_ctx=2048))
    assert caught.value.window == 2048


@pytest.mark.parametrize(
    "words",
    [
        "registry.ollama.ai/library/gemma:latest does not support tools",
        "No endpoints found that support tool use.",
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    ],
)
def test_a_model_without_tools_is_told_apart_where_tools_were_offered(words: str) -> None:
    with pytest.raises(ToolsNotTakenError):
        raise_ours("m", AnsweredError(400, words), tools=True)
    with pytest.raises(ModelError) as caught:
        raise_ours("m", AnsweredError(400, words))
    assert not isinstance(caught.value, ToolsNotTakenError)


@pytest.mark.parametrize(
    ("error", "may"),
    [
        (AnsweredError(None, "disconnected", code=502), True),
        (AnsweredError(200, "Overloaded", type="overloaded_error"), True),
        (RuntimeError("?"), True),
        (AnsweredError(None, "no credit", code=402), False),
        (AnsweredError(None, "bad", type="invalid_request_error"), False),
        (provider.ModelAuthenticationError("no"), False),
    ],
)
def test_only_what_may_pass_is_tried_again(error: Exception, may: bool) -> None:  # noqa: FBT001 - the expected value
    assert passes(error) is may
