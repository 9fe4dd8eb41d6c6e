"""Search the web by Tavily, and keep what was found."""

import asyncio
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx

from ricordo.common.bodies import ACCEPTED, bounded
from ricordo.common.errors import ConfigurationError, DocumentError, InputError, ServiceError
from ricordo.common.secrets import without_login
from ricordo.common.settings import Settings
from ricordo.common.text import clean
from ricordo.graph import resources
from ricordo.graph.context import Context, user_of
from ricordo.readers.pages import Document, Page
from ricordo.stores.knowledge_base import KnowledgeBase
from ricordo.stores.toolbox.box import toolbox

if TYPE_CHECKING:
    from langgraph.prebuilt import ToolRuntime

_MOST_RESULTS = 20
"""What Tavily gives at most."""
_SNIPPET = 200
"""Characters of a result that are shown at once; all of it is stored."""


@toolbox.register_tool(
    group="web",
    tags=["internet", "news", "tavily", "online", "google", "notizie"],
    examples=[
        "search the web for",
        "search the web for hotels in Lisbon",
        "what is the latest news on",
        "look it up online",
        "who won yesterday",
        "cerca sul web",
        "quali sono le ultime notizie su",
        "guarda su internet",
    ],
    requires="tavily_api_key",
)
async def search_tavily(query: str, max_results: int = 5, *, runtime: "ToolRuntime[Context, Any]") -> str:
    """Search the web and store every result in the knowledge base.

    Asks Tavily, stores the text of each result with its title, address, score, the query and the time, and lists what
    was found. The full texts are then found by search_knowledge_base, in this and in later conversations.

    Args:
        query: What to look for, as one would type it into a search engine.
        max_results: How many results to take at most, from 1 to 20.
        runtime: Who asks.

    Returns:
        A JSON object: a note, and the results with title, url, score, a snippet, and whether each is stored.
    """
    query = clean(query).strip()
    if not query:
        raise InputError("The query is empty: say what to look for on the web.")
    parts = resources.get_resources()
    memory = parts.manager.for_user(user_of(runtime))
    found = await _search(parts.settings, query, max(1, min(max_results, _MOST_RESULTS)))
    if not found:
        return f"The web search found nothing for {query!r}. Try fewer or other words."
    shown = [await _store(memory.knowledge_base, memory.user_id, query, result) for result in found]
    note = "The full texts are in the knowledge base: search_knowledge_base finds them."
    return json.dumps({"note": note, "results": shown}, ensure_ascii=False, indent=1)


async def _search(settings: Settings, query: str, most: int) -> list[dict[str, Any]]:
    """Ask Tavily, within the total time for one request."""
    from tavily import AsyncTavilyClient, errors  # noqa: PLC0415 - only where there is a key

    if settings.tavily_api_key is None:
        raise ConfigurationError(
            "The web search needs a key: set TAVILY_API_KEY (https://tavily.com), then start again."
        )
    key, seconds = settings.tavily_api_key.get_secret_value(), settings.http_timeout_seconds
    try:
        async with (
            asyncio.timeout(seconds),
            httpx.AsyncClient(base_url=settings.tavily_base_url, headers=ACCEPTED, event_hooks=bounded()) as http,
            AsyncTavilyClient(key, client=http) as client,
        ):
            answer = await client.search(query, max_results=most, timeout=seconds)
    except (TimeoutError, errors.TimeoutError):
        raise ServiceError(
            f"Tavily did not answer in full within {seconds:g} s. Try again later, or answer without the web."
        ) from None
    except errors.InvalidAPIKeyError:
        raise ServiceError("Tavily refuses the key: check TAVILY_API_KEY. Answer without the web.", 401) from None
    except errors.UsageLimitExceededError:
        raise ServiceError(
            "Tavily's limit for this key is used up. Try again later, or answer without the web.", 429
        ) from None
    except (errors.ForbiddenError, errors.BadRequestError) as error:
        raise ServiceError(f"Tavily refuses the search ({error}). Put it in other words.") from None
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        raise ServiceError(f"Tavily answers {status}. Try again later, or answer without the web.", status) from None
    except (httpx.HTTPError, ValueError, AttributeError) as error:  # the last: its client takes any JSON for an object
        raise ServiceError(
            f"Tavily cannot be reached, or its answer cannot be read ({error}). Answer without the web."
        ) from None
    results = answer.get("results") if isinstance(answer, dict) else None
    return [result for result in results or [] if isinstance(result, dict) and result.get("url")]


async def _store(knowledge_base: KnowledgeBase, user_id: str, query: str, result: dict[str, Any]) -> dict[str, Any]:
    """Store one result under its address; return what the model sees of it."""
    url = without_login(clean(str(result["url"])))
    title = " ".join(clean(str(result.get("title") or url)).split())
    text = clean(str(result.get("raw_content") or result.get("content") or "")).strip()
    score = result.get("score")
    known = {
        "url": url,
        "score": round(score, 3) if isinstance(score, int | float) else None,
        "query": query,
        "searched_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    try:
        await knowledge_base.add_document(user_id, url, Document(title, "web", (Page(text),)), metadata=known)
        stored = True
    except DocumentError:  # the result has an address and a title, but no text
        stored = False
    snippet = " ".join(text.split())
    if len(snippet) > _SNIPPET:
        snippet = f"{snippet[: _SNIPPET - 1]}…"
    return {"title": title, "url": url, "score": known["score"], "snippet": snippet, "stored": stored}
