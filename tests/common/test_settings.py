import os
from pathlib import Path

import pytest

from ricordo.common.errors import ConfigurationError
from ricordo.common.settings import get_settings


def test_settings_come_from_the_environment() -> None:
    os.environ["RICORDO_CONTEXT_WINDOW"] = "9000"
    os.environ["OPENAI_API_KEY"] = "sk-secret"
    settings = get_settings()
    assert settings.context_window == 9000
    assert "sk-secret" not in repr(settings)


def test_settings_come_from_a_file() -> None:
    Path(".env").write_text("RICORDO_MAX_ITERATIONS=3\nRICORDO_MODEL=\nSOMEBODY_ELSES=1\n")
    settings = get_settings()
    assert (settings.max_iterations, settings.model) == (3, None)


def test_an_empty_variable_switches_off_what_the_file_says() -> None:
    Path(".env").write_text("OPENAI_API_KEY=sk-file\nRICORDO_MODEL=openai:x\nRICORDO_KEEP_TURNS=5\n")
    assert get_settings().chat_model == "openai:x"
    get_settings.cache_clear()
    os.environ["OPENAI_API_KEY"] = os.environ["RICORDO_MODEL"] = os.environ["KEEP_TURNS"] = ""
    assert (get_settings().chat_model, get_settings().keep_turns) == ("offline", 5)


@pytest.mark.parametrize(("name", "value"), [("RICORDO_MAX_ITERATIONS", "many"), ("RICORDO_COMPACT_TO", "0.9")])
def test_a_malformed_setting_is_named(name: str, value: str) -> None:
    os.environ[name] = value
    with pytest.raises(ConfigurationError, match=name):
        get_settings()


def test_the_servers_own_variables_are_not_taken_for_ours() -> None:
    os.environ["DATABASE_URI"] = os.environ["POSTGRES_URI"] = "postgresql://elsewhere/db"
    assert get_settings().database_url is None


def test_a_file_that_is_not_utf_8_is_named() -> None:
    Path(".env").write_bytes(b"\xff\xfe=bad\n")
    with pytest.raises(ConfigurationError, match=r"\.env is not in UTF-8"):
        get_settings()


@pytest.mark.parametrize("address", ["localhost:1/v1", "http://localhost:abc/v1", "ftp://x", "http://x y/", "http://"])
def test_an_address_that_is_none_is_named(address: str) -> None:
    os.environ["OPENAI_BASE_URL"] = address
    with pytest.raises(ConfigurationError, match=r"used: OPENAI_BASE_URL: it is no address"):
        get_settings()


def test_options_of_the_model_are_a_json_object() -> None:
    Path(".env").write_text('RICORDO_MODEL_OPTIONS={"temperature": 0.2}\n')
    assert get_settings().model_options == {"temperature": 0.2}


@pytest.mark.parametrize("value", ["temperature=1", "[1]", "7"])
def test_options_that_are_none_are_told_with_an_example(value: str) -> None:
    os.environ["RICORDO_MODEL_OPTIONS"] = value
    with pytest.raises(ConfigurationError, match="RICORDO_MODEL_OPTIONS: it is no JSON"):
        get_settings()


def test_allowed_hosts_are_read_with_and_without_a_port() -> None:
    os.environ["RICORDO_ALLOWED_HOSTS"] = "Wiki.Example.org, 10.0.0.7:8080,[::1]:80,"
    assert get_settings().allowed_hosts == {("wiki.example.org", None), ("10.0.0.7", 8080), ("::1", 80)}


@pytest.mark.parametrize("value", ["http://wiki", "a b", "wiki:port", "ada@wiki", "/wiki", ":80"])
def test_an_allowed_host_that_is_none_is_named(value: str) -> None:
    os.environ["RICORDO_ALLOWED_HOSTS"] = value
    with pytest.raises(ConfigurationError, match="RICORDO_ALLOWED_HOSTS"):
        get_settings()
