"""The toolbox as the agent has it, for the commands that look at it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from ricordo.common.settings import Settings
    from ricordo.stores.manager import MemoryManager
    from ricordo.stores.toolbox.box import RegisteredTool, Toolbox
    from ricordo.tools.mcp import ServerState


@dataclass(frozen=True)
class Parts:
    """What these commands look at."""

    settings: "Settings"
    memory: "MemoryManager"
    toolbox: "Toolbox"
    servers: "list[ServerState]"

    def describe(self, tool: "RegisteredTool", hidden: set[str]) -> dict[str, Any]:
        """Return what the list tells of a tool."""
        why = ""
        if tool.name in hidden:
            if self.toolbox.disabled(tool.name):
                why = "disabled"
            else:
                why = f"needs {_variable(tool.requires)}" if tool.requires else "cannot be used"
        notes = [self.toolbox.notices.get(tool.name), None if tool.documented else "no docstring"]
        return {
            "name": tool.name,
            "group": tool.group,
            "tags": list(tool.tags),
            "pinned": tool.pinned,
            "side_effect": tool.side_effect,
            "requires": _variable(tool.requires) if tool.requires else None,
            "hidden": why or None,
            "notes": [note for note in notes if note],
        }


@asynccontextmanager
async def open_toolbox(*, synced: bool = True) -> "AsyncIterator[Parts]":
    """Open the toolbox as the agent has it: shipped tools, the user's own, and those of MCP servers."""
    import asyncio

    from ricordo import tools  # noqa: F401 - registers the shipped tools
    from ricordo.cli.parts.progress import progress
    from ricordo.cli.parts.stores import open_memory
    from ricordo.common.settings import get_settings
    from ricordo.stores.toolbox.box import toolbox
    from ricordo.tools.mcp import mcp_tools
    from ricordo.tools.own import load_own_tools

    settings = get_settings()
    await asyncio.to_thread(load_own_tools, settings.tools)
    async with open_memory(None) as memory, mcp_tools(settings, toolbox) as servers:
        if synced:
            with progress() as advance:
                await toolbox.sync(memory.db, memory.embedder, progress=advance)
        yield Parts(settings, memory, toolbox, servers)


def _variable(setting: str) -> str:
    """Return the environment variable of a setting."""
    from pydantic import AliasChoices

    from ricordo.common.settings import Settings

    alias = Settings.model_fields[setting].validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"RICORDO_{setting.upper()}"


def chosen_model(settings: "Settings") -> "BaseChatModel":
    """Make the chat model that the settings name.

    Raises:
        ConfigurationError: There is none.
    """
    from ricordo.common.errors import ConfigurationError
    from ricordo.models.chat import OFFLINE, make_model

    if settings.chat_model == OFFLINE:
        raise ConfigurationError(
            "--augment needs a chat model, and none is set. Set OPENAI_API_KEY, or OPENAI_BASE_URL and RICORDO_MODEL."
        )
    return make_model(settings.chat_model, settings)
