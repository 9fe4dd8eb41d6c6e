"""What the doctor finds out about the chosen chat model."""

import json
import os

import pytest

from ricordo.cli.checks.services import check_chat_model
from ricordo.common.errors import ConfigurationError
from ricordo.common.settings import Settings
from tests.support.stand_ins.local_server import LocalServer, Reply, Request


class Models(LocalServer):
    """Lists models as Ollama and Anthropic do."""

    def answer(self, request: Request) -> Reply:
        if request.path == "/api/tags":
            return Reply(json.dumps({"models": [{"name": "llama3:latest"}]}).encode(), "application/json")
        if request.headers.get("x-api-key") != "right":
            return Reply(b"{}", "application/json", 401)
        return Reply(json.dumps({"data": [{"id": "claude-x"}]}).encode(), "application/json")


@pytest.mark.parametrize(
    ("name", "key", "status", "told"),
    [
        ("ollama:llama3", "", "ok", "answers"),
        ("ollama:qwen9", "", "broken", "`ollama pull qwen9`"),
        ("anthropic:claude-x", "right", "ok", "answers"),
        ("anthropic:claude-9", "right", "broken", "such as claude-x"),
        ("anthropic:claude-x", "wrong", "broken", "Check ANTHROPIC_API_KEY"),
    ],
)
async def test_the_chosen_providers_own_list_of_models_is_asked(name: str, key: str, status: str, told: str) -> None:
    with Models() as server:
        os.environ.update(OLLAMA_HOST=server.url, ANTHROPIC_API_URL=server.url, ANTHROPIC_API_KEY=key)
        found = await check_chat_model(Settings(model=name))
    assert found.status == status, found
    assert told in f"{found.detail} {found.advice}"
    assert "OPENAI" not in found.advice


async def test_a_key_that_is_missing_is_told_by_its_own_name() -> None:
    with pytest.raises(ConfigurationError, match="Set ANTHROPIC_API_KEY"):
        await check_chat_model(Settings(model="anthropic:claude-x"))


async def test_ollama_that_is_not_there_is_told_with_how_to_start_it() -> None:
    os.environ["OLLAMA_HOST"] = "127.0.0.1:9"
    found = await check_chat_model(Settings(model="ollama:llama3"))
    assert (found.status, "ollama serve" in found.advice) == ("broken", True)
