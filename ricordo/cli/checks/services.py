"""Servers elsewhere: the chat model's, arXiv, Tavily."""

import asyncio
import difflib
from urllib.parse import urlsplit

import httpx

from ricordo.cli.checks.check import Check
from ricordo.common.bodies import ACCEPTED, bounded
from ricordo.common.settings import Settings

SECONDS = 6
"""Longest wait for a server that is only looked at."""
_SERVER_ERROR = 500


async def check_chat_model(settings: Settings) -> Check:
    """Make the chat model, and ask its server for the list of models."""
    name = settings.chat_model
    if name == "offline":
        return Check(
            "chat model",
            "missing",
            "offline: it quotes what it has read and remembers",
            "For a chat model set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own.",
        )
    from ricordo.models.chat import make_model, profile_window
    from ricordo.models.providers import provider_of

    model = await asyncio.to_thread(make_model, name, settings)  # imports the provider's package
    window = settings.context_window or profile_window(model)
    known = f"{name}, a window of {window:,} tokens"
    _, provider = provider_of(name)
    headers, base = provider.authorization(), provider.base()
    if provider.title == "OpenAI":  # the settings have read its variables, from .env too
        base = settings.openai_base_url or base
        headers = (
            {"Authorization": f"Bearer {settings.openai_api_key.get_secret_value()}"} if settings.openai_api_key else {}
        )
    elif not provider.has_key():
        said = f"{known}; {provider.title} needs a key, and there is none"
        return Check("chat model", "broken", said, f"Set {provider.key}, in the environment or in .env.")
    if not base:
        return Check("chat model", "ok", f"{known}; whether its provider can be reached was not looked at")
    return await _ask_for_models(f"{base.rstrip('/')}{provider.models}", headers, name, known)


async def _ask_for_models(url: str, headers: dict[str, str], name: str, known: str) -> Check:
    from ricordo.models.providers import provider_of

    where, model = _host(url), name.partition(":")[2] or name
    owner, provider = provider_of(name)
    try:
        answer = await _get(url, headers)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        start = (
            "Start it by `ollama serve`, or check OLLAMA_HOST." if owner == "ollama" else f"Check {provider.address}."
        )
        return Check("chat model", "broken", f"{known}; {where} cannot be reached: {_said(error)}", start)
    if answer.status_code in {401, 403}:
        return Check("chat model", "broken", f"{known}; {where} refuses the key", f"Check {provider.key}.")
    if answer.is_error:  # many servers have no list of models
        return Check("chat model", "ok", f"{known}; {where} answers (no list of models: HTTP {answer.status_code})")
    names = _names(answer)
    if names and not {model, f"{model}:latest", f"models/{model}"} & {*names}:
        close = ", ".join(difflib.get_close_matches(model, names, 3) or names[:3])
        pull = f"Fetch it by `ollama pull {model}`, or set " if owner == "ollama" else ""
        return Check(
            "chat model", "broken", f"{known}; {where} does not know it", f"{pull}RICORDO_MODEL, such as {close}."
        )
    if owner == "ollama" and not names:
        said = f"{known}; {where} has no models yet"
        return Check("chat model", "broken", said, f"Fetch it by `ollama pull {model}`.")
    return Check("chat model", "ok", f"{known}; {where} answers")


def _names(answer: httpx.Response) -> list[str]:
    try:
        told = answer.json()
        listed = told.get("data") or told.get("models") or []
        return [str(each.get("id") or each["name"]) for each in listed]
    except (ValueError, TypeError, KeyError, AttributeError):
        return []


async def check_arxiv(settings: Settings) -> Check:
    """Send an empty search."""
    return await _reach("arXiv", f"{settings.arxiv_api_url}?max_results=1&search_query=all:memory", "papers")


async def check_tavily(settings: Settings) -> Check:
    """Look at its address, if there is a key."""
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
    hooks = bounded()
    async with httpx.AsyncClient(timeout=SECONDS, headers=ACCEPTED, event_hooks=hooks, follow_redirects=True) as client:
        return await client.get(url, headers=headers)


def _host(url: str) -> str:
    """Name a server without what an address may hold of secrets."""
    parts = urlsplit(url)
    return f"{parts.hostname or 'the server'}{f':{parts.port}' if parts.port else ''}"


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
