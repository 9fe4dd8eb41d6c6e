"""Ricordo: an agent that remembers, stays inside its context window, and picks the right tool out of thousands.

This is the front door, and all that is public: what is not in `__all__` may change without notice. A name is imported
when it is first asked for; importing `ricordo` itself does nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ricordo.common import errors
    from ricordo.common.errors import RicordoError
    from ricordo.common.settings import Settings
    from ricordo.graph.notebook import (
        Agent,
        Answer,
        Event,
        Restarted,
        Token,
        ToolEnded,
        ToolStarted,
        WindowCompacted,
        WindowFilled,
        call_agent,
        open_agent,
    )
    from ricordo.stores.manager import MemoryManager
    from ricordo.stores.toolbox.box import register_tool, toolbox

__all__ = [
    "Agent",
    "Answer",
    "Event",
    "MemoryManager",
    "Restarted",
    "RicordoError",
    "Settings",
    "Token",
    "ToolEnded",
    "ToolStarted",
    "WindowCompacted",
    "WindowFilled",
    "call_agent",
    "errors",
    "open_agent",
    "register_tool",
    "toolbox",
]

_ROOMS = {
    "MemoryManager": "ricordo.stores.manager",
    "RicordoError": "ricordo.common.errors",
    "Settings": "ricordo.common.settings",
    "register_tool": "ricordo.stores.toolbox.box",
    "toolbox": "ricordo.stores.toolbox.box",
}
_DEFAULT_ROOM = "ricordo.graph.notebook"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'ricordo' has no attribute '{name}'")
    if name == "errors":
        return import_module("ricordo.common.errors")
    return getattr(import_module(_ROOMS.get(name, _DEFAULT_ROOM)), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
