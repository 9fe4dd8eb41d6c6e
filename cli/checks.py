"""What `ricordo doctor` looks at, each check for itself and all at once."""

import asyncio
import difflib
import os
import platform
import shutil
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx
from dotenv import dotenv_values

from cli.tool_checks import check_mcp
from graph.embeddings import Embedder, open_embedder
from graph.errors import ConfigurationError, RicordoError
from graph.settings import Settings, get_settings
from stores.connection import describe
from stores.database import Database, open_database

_SECONDS = 6
"""Longest wait for a server that is only looked at."""
_OPENAI = "https://api.openai.com/v1"
_LEAST_FREE = 500 * 2**20
_SERVER_ERROR = 500


@dataclass(frozen=True)
class Check:
    """What was found."""

    name: str
    status: Literal["ok", "missing", "broken"]
    """`missing`: something that one can do without; `broken`: something that one cannot."""
    detail: str
    advice: str = ""


def run_checks() -> dict[str, "asyncio.Task[Check]"]:
    """Start all checks; without sound settings only those that need none."""
    found: dict[str, Callable[[], Awaitable[Check]]] = {"system": _system, "settings": _settings}
    try:
        settings = get_settings()
    except ConfigurationError:
        pass  # `_settings` tells
    else:
        memory = asyncio.ensure_future(_Memory(settings).look())
        found |= {
            "home": lambda: _home(settings),
            "database": lambda: _part(memory, "database"),
            "embeddings": lambda: _part(memory, "embeddings"),
            "chat model": lambda: _chat_model(settings),
            "arXiv": lambda: _arxiv(settings),
            "Tavily": lambda: _tavily(settings),
            **({"MCP": lambda: check_mcp(settings)} if settings.mcp_file else {}),
        }
    found["Studio"] = _studio
    return {name: asyncio.ensure_future(_safely(name, check)) for name, check in found.items()}


async def _safely(name: str, check: Callable[[], Awaitable[Check]]) -> Check:
    try:
        return await check()
    except RicordoError as error:
        return Check(name, "broken", str(error))


async def _part(memory: "asyncio.Future[dict[str, Check]]", name: str) -> Check:
    return (await asyncio.shield(memory))[name]


async def _system() -> Check:
    detail = f"Ricordo {metadata.version('ricordo')}, Python {platform.python_version()}, {platform.platform()}"
    if sys.version_info >= (3, 15):
        return Check(
            "system", "missing", detail, "Some packages have no build for this Python yet; 3.11 to 3.14 are safe."
        )
    return Check("system", "ok", detail)


async def _settings() -> Check:
    source = f"environment and {_here('.env')}" if _is_here(".env") else "environment (no .env file here)"
    get_settings()
    known = {
        f"RICORDO_{name.upper()}" for name, field in Settings.model_fields.items() if field.validation_alias is None
    } | {"RICORDO_TOKENS"}  # of graph/auth_example.py
    given = {*os.environ, *dotenv_values(".env")} if _is_here(".env") else set(os.environ)
    unknown = sorted(name for name in given if name.startswith("RICORDO_") and name not in known)
    if not unknown:
        return Check("settings", "ok", source)
    close = [(name, difflib.get_close_matches(name, known, 1)) for name in unknown]
    hints = [f"{name}{f' (do you mean {match[0]}?)' if match else ''}" for name, match in close]
    return Check("settings", "missing", source, f"There is no setting {', '.join(hints)}; .env.example lists them.")


def _here(name: str) -> Path:
    return Path(name).resolve()


def _is_here(name: str) -> bool:
    return _here(name).is_file()


async def _home(settings: Settings) -> Check:
    home = settings.home
    try:
        await asyncio.to_thread(home.mkdir, parents=True, exist_ok=True)
    except OSError as error:
        return _home_broken(settings, f"{home} cannot be made: {error.strerror}")
    if not os.access(home, os.W_OK | os.X_OK):
        return _home_broken(settings, f"{home} cannot be written to")
    free = shutil.disk_usage(home).free
    detail = f"{home}, {free / 2**30:.1f} GB free"
    return (
        Check("home", "missing", detail, "Make room on this disk.")
        if free < _LEAST_FREE
        else Check("home", "ok", detail)
    )


def _home_broken(settings: Settings, detail: str) -> Check:
    needed = settings.database_url is None  # elsewhere only the chat's history is kept there
    return Check(
        "home",
        "broken" if needed else "missing",
        detail,
        "Set RICORDO_HOME to a folder of yours, or RICORDO_DATABASE_URL to a PostgreSQL of your own.",
    )


class _Memory:
    """The database and the embedding model, which must fit each other."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def look(self) -> dict[str, Check]:
        embedder, embeddings = await self._embeddings()
        try:
            async with open_database(self._settings) as db:
                database, stored = await self._database(db)
        except RicordoError as error:
            return {"database": Check("database", "broken", str(error)), "embeddings": embeddings}
        if embedder and embeddings.status == "ok" and stored and stored != (embedder.model_id, embedder.dims):
            model, dims = stored
            embeddings = Check(
                "embeddings",
                "broken",
                f"the database holds vectors of {model} ({dims} dimensions), and {embedder.model_id} is chosen",
                "Set RICORDO_EMBEDDINGS back, or use another database.",
            )
        return {"database": database, "embeddings": embeddings}

    async def _embeddings(self) -> tuple[Embedder | None, Check]:
        settings = self._settings
        try:
            embedder = open_embedder(
                settings.embeddings,
                api_key=settings.openai_api_key,
                base_url=settings.openai_base_url,
                timeout=_SECONDS,
                max_retries=0,
            )
            began = time.perf_counter()
            await embedder.query("Does it load?")
            loaded = time.perf_counter()
            await embedder.query("And how quick is it?")
            query = time.perf_counter() - loaded
        except RicordoError as error:
            return None, Check("embeddings", "broken", str(error))
        detail = (
            f"{embedder.model_id}, {embedder.dims} dimensions; first use {loaded - began:.1f} s, "
            f"a question {1000 * query:.0f} ms"
        )
        return embedder, Check("embeddings", "ok", detail)

    async def _database(self, db: Database) -> tuple[Check, tuple[str, int] | None]:
        async with db.as_owner() as conn:
            row = await _one(
                conn,
                "SELECT current_setting('server_version') AS server, current_user AS owner, "
                "(SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector, "
                "(SELECT count(*) FROM ricordo_migrations) AS migrations, "
                "pg_size_pretty(pg_database_size(current_database())) AS size",
            )
        async with db.transaction("doctor") as conn:
            app = await _one(
                conn, "SELECT current_user AS role, rolbypassrls AS bypass FROM pg_roles WHERE rolname = current_user"
            )
            space = await _one(conn, "SELECT model, dims FROM embedding_space")
        where = "embedded" if self._settings.database_url is None else describe(db.dsn)
        detail = (
            f"{where}: PostgreSQL {row['server']}, pgvector {row['vector']}, {row['migrations']} migrations, "
            f"{row['size']}; owner {row['owner']}, works as {app['role']}"
        )
        stored = (space["model"], space["dims"]) if space else None
        if app["bypass"]:
            advice = f"{app['role']} passes by row-level security: ALTER ROLE {app['role']} NOBYPASSRLS."
            return Check("database", "broken", detail, advice), stored
        return Check("database", "ok", detail), stored


async def _one(conn: Any, query: str) -> dict[str, Any]:
    row: dict[str, Any] = await (await conn.execute(query)).fetchone() or {}
    return row


async def _chat_model(settings: Settings) -> Check:
    name = settings.chat_model
    if name == "offline":
        return Check(
            "chat model",
            "missing",
            "offline: it quotes what it has read and remembers",
            "For a chat model set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own.",
        )
    from graph.models import make_model, profile_window

    model = await asyncio.to_thread(make_model, name, settings)  # imports the provider's package
    window = settings.context_window or profile_window(model)
    known = f"{name}, a window of {window:,} tokens"
    if not name.startswith("openai:"):
        return Check("chat model", "ok", f"{known}; whether its provider can be reached was not looked at")
    return await _ask_for_models(settings, name.partition(":")[2], known)


async def _ask_for_models(settings: Settings, model: str, known: str) -> Check:
    base = (settings.openai_base_url or _OPENAI).rstrip("/")
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else "none"
    where = _host(base)
    try:
        answer = await _get(f"{base}/models", {"Authorization": f"Bearer {key}"})
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        advice = "Check the network and OPENAI_BASE_URL."
        return Check("chat model", "broken", f"{known}; {where} cannot be reached: {_said(error)}", advice)
    if answer.status_code in {401, 403}:
        return Check("chat model", "broken", f"{known}; {where} refuses the key", "Check OPENAI_API_KEY.")
    if answer.is_error:  # many servers have no list of models
        return Check("chat model", "ok", f"{known}; {where} answers (no list of models: HTTP {answer.status_code})")
    if (names := _names(answer)) and model not in names:
        close = ", ".join(difflib.get_close_matches(model, names, 3) or names[:3])
        return Check("chat model", "broken", f"{known}; {where} does not know it", f"RICORDO_MODEL, such as {close}.")
    return Check("chat model", "ok", f"{known}; {where} answers")


def _names(answer: httpx.Response) -> list[str]:
    try:
        return [str(each["id"]) for each in answer.json()["data"]]
    except (ValueError, TypeError, KeyError):
        return []


async def _arxiv(settings: Settings) -> Check:
    return await _reach("arXiv", f"{settings.arxiv_api_url}?max_results=1&search_query=all:memory", "papers")


async def _tavily(settings: Settings) -> Check:
    if settings.tavily_api_key is None:
        return Check("Tavily", "missing", "no key, so the web is not searched", "Set TAVILY_API_KEY if you want it.")
    return await _reach("Tavily", settings.tavily_base_url, "the web")


async def _reach(name: str, url: str, what: str) -> Check:
    try:
        answer = await _get(url)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        said = f"{_host(url)} cannot be reached: {_said(error)}"
        return Check(name, "missing", said, f"Without it, {what} cannot be searched; check the network.")
    if answer.status_code >= _SERVER_ERROR:
        return Check(name, "missing", f"{_host(url)} answers HTTP {answer.status_code}", "Try again later.")
    return Check(name, "ok", f"{_host(url)} answers")


async def _get(url: str, headers: dict[str, str] | None = None) -> httpx.Response:
    async with httpx.AsyncClient(timeout=_SECONDS, follow_redirects=True) as client:
        return await client.get(url, headers=headers)


def _host(url: str) -> str:
    """Name a server without what an address may hold of secrets."""
    parts = urlsplit(url)
    return f"{parts.hostname or 'the server'}{f':{parts.port}' if parts.port else ''}"


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


async def _studio() -> Check:
    if find_spec("langgraph_cli") is None or find_spec("langgraph_api") is None:
        return Check("Studio", "missing", "the LangGraph server is not installed", "make setup installs it.")
    where = "" if _is_here("langgraph.json") else " in the project's folder"
    return Check("Studio", "ok", f"langgraph-cli {metadata.version('langgraph-cli')}; make dev{where} serves the graph")
