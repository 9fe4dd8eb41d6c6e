"""What `ricordo doctor` looks at, each check for itself and all at once."""

import asyncio
from collections.abc import Awaitable, Callable

from ricordo.cli.checks.check import Check
from ricordo.cli.checks.machine import check_home, check_settings, check_studio, check_system
from ricordo.cli.checks.mcp import check_mcp
from ricordo.cli.checks.memory import check_memory
from ricordo.cli.checks.services import check_arxiv, check_chat_model, check_tavily
from ricordo.common.errors import ConfigurationError, RicordoError
from ricordo.common.settings import get_settings


def run_checks() -> dict[str, "asyncio.Task[Check]"]:
    """Start all checks; without sound settings only those that need none."""
    found: dict[str, Callable[[], Awaitable[Check]]] = {"system": check_system, "settings": check_settings}
    try:
        settings = get_settings()
    except ConfigurationError:
        pass  # `check_settings` tells
    else:
        memory = asyncio.ensure_future(check_memory(settings))
        found |= {
            "home": lambda: check_home(settings),
            "database": lambda: _part(memory, "database"),
            "embeddings": lambda: _part(memory, "embeddings"),
            "chat model": lambda: check_chat_model(settings),
            "arXiv": lambda: check_arxiv(settings),
            "Tavily": lambda: check_tavily(settings),
            **({"MCP": lambda: check_mcp(settings)} if settings.mcp_file else {}),
        }
    found["Studio"] = check_studio
    return {name: asyncio.ensure_future(_safely(name, check)) for name, check in found.items()}


async def _safely(name: str, check: Callable[[], Awaitable[Check]]) -> Check:
    try:
        return await check()
    except RicordoError as error:
        return Check(name, "broken", str(error))


async def _part(memory: "asyncio.Future[dict[str, Check]]", name: str) -> Check:
    return (await asyncio.shield(memory))[name]
