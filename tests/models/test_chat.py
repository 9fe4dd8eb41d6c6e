from typing import Any

import pytest
from langchain_core import exceptions as provider

from ricordo.common.errors import ConfigurationError, ContextOverflowError, ModelError
from ricordo.common.settings import Settings
from ricordo.models.chat import make_model, profile_window, structured
from ricordo.models.provider_errors import raise_ours


def test_the_offline_model_answers_when_nothing_is_configured() -> None:
    assert Settings().chat_model == "offline"


def test_a_key_or_a_server_of_ones_own_brings_the_default_model() -> None:
    assert Settings(openai_api_key="sk-x").chat_model == "openai:gpt-5-mini"
    assert Settings(openai_base_url="http://127.0.0.1:1/v1").chat_model == "openai:gpt-5-mini"


def test_the_window_comes_from_the_models_profile() -> None:
    settings = Settings(openai_api_key="sk-x")
    assert profile_window(make_model("openai:gpt-5-mini", settings)) == 272_000
    assert profile_window(make_model("openai:somebody/model", settings)) == 32_000


@pytest.mark.parametrize("name", ["nonsense", "nobody:model", "anthropic:claude-x", "openai:without-a-key"])
def test_a_model_that_cannot_be_made_is_named_with_the_way_out(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"RICORDO_MODEL.*offline"):
        make_model(name, Settings())


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (provider.ModelAuthenticationError("Incorrect API key"), "OPENAI_API_KEY"),
        (provider.ModelNotFoundError("no such model"), "RICORDO_MODEL"),
        (provider.ModelRateLimitError("429"), "rate limit"),
        (provider.ModelConnectionError("refused"), "OPENAI_BASE_URL"),
        (TimeoutError("silent"), "in time"),
    ],
)
def test_a_providers_error_says_what_to_do(error: Exception, advice: str) -> None:
    with pytest.raises(ModelError, match=advice) as caught:
        raise_ours("openai:gpt-5-mini", error)
    assert str(error) in str(caught.value)


def test_a_prompt_too_long_is_told_apart() -> None:
    with pytest.raises(ContextOverflowError):
        raise_ours("m", provider.ContextOverflowError("too long"))


def test_a_wrapped_model_has_its_window_and_replies_by_a_schema() -> None:
    wrapped = make_model("openai:gpt-5-mini", Settings(openai_api_key="sk-x")).bind(user="ada").with_retry()
    assert profile_window(wrapped) == 272_000
    assert structured(wrapped, {"title": "Found", "description": "What was found.", "type": "object", "properties": {}})


def test_a_name_without_a_provider_gets_the_provider_that_it_tells() -> None:
    made: Any = make_model("gpt-5-mini", Settings(openai_api_key="sk-x", request_timeout_seconds=7))
    assert made.stream_chunk_timeout == 7
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        make_model("gpt-5", Settings())


def test_a_client_that_cannot_be_built_is_told_with_its_own_key() -> None:
    with pytest.raises(ConfigurationError, match=r"Set AZURE_OPENAI_API_KEY.*RICORDO_MODEL"):
        make_model("azure_openai:gpt-5", Settings())
