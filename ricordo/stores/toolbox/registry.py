"""The list of tools: how one joins and leaves it, what may be called, and what is wrong with it."""

import difflib
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, Unpack, overload

from ricordo.common.errors import ToolError
from ricordo.common.settings import Settings
from ricordo.stores.toolbox.registered_tool import GROUPS, RegisteredTool, Source, ToolOptions, check_same

F = TypeVar("F", bound=Source)
_log = logging.getLogger(__name__)


class Registry:
    """The single list of tools, with their life cycle; registration at any time."""

    def __init__(self) -> None:
        self.groups = dict(GROUPS)
        """Groups with what belongs in each."""
        self.notices: dict[str, str] = {}
        """What is wrong with a tool or a server, by its name; for `ricordo doctor` and `ricordo tools list`."""
        self._tools: dict[str, RegisteredTool] = {}
        self._demanding: set[str] = set()
        self._disabled: set[str] = set()
        self._failed: set[str] = set()
        self._version = 0
        """Grows with every change: what was made of the tools before is of no use any more."""

    @overload
    def register_tool(self, source: F, /, **options: Unpack[ToolOptions]) -> F: ...
    @overload
    def register_tool(self, source: None = None, /, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    def register_tool(self, source: F | None = None, /, **options: Unpack[ToolOptions]) -> F | Callable[[F], F]:
        """Register a function, sync or async, or a LangChain tool; return it as it was.

        Works bare (`@toolbox.register_tool`), with options, and as a plain call on a tool object. A function that is
        registered again, because its module was reloaded or its notebook cell rerun, takes the place of the old one.

        Args:
            source: The function or tool, where this is not used with options as a decorator.
            options: See `ToolOptions`.

        Raises:
            ToolError: Another tool has that name, the name is not one that providers take, or no such setting exists.
        """

        def register(given: F) -> F:
            self._add(given, options)
            return given

        return register if source is None else register(source)

    def _add(self, source: Source, options: ToolOptions) -> None:
        tool = RegisteredTool.of(source, options)
        if tool.name in self._tools:
            check_same(tool.name, self._tools[tool.name].source, source)
        self._tools[tool.name] = tool
        self._forget(tool.name)
        if tool.requires:
            self._demanding.add(tool.name)
        if tool.group:
            self.groups.setdefault(tool.group, "")

    def _forget(self, name: str) -> None:
        self._failed.discard(name)
        self._demanding.discard(name)
        self.notices.pop(name, None)
        self._version += 1

    def remove(self, name: str) -> None:
        """Take a tool out; nothing happens when there is none of that name."""
        self._tools.pop(name, None)
        self._forget(name)

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[RegisteredTool]:
        return iter(list(self._tools.values()))

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def get(self, name: str) -> RegisteredTool:
        """Return the tool of that name.

        Raises:
            ToolError: There is none; the message is fit for the model and names the closest ones.
        """
        if name not in self._tools:
            close = difflib.get_close_matches(name, set(self._tools) - self._disabled - self._failed, n=3)
            hint = f" Did you mean {', '.join(close)}?" if close else ""
            raise ToolError(
                f"There is no tool called {name!r}.{hint} `ricordo tools list` shows all, read_toolbox finds one."
            )
        return self._tools[name]

    def schema(self, name: str) -> dict[str, Any]:
        """Return the OpenAI function schema of a tool, always the same bytes.

        Raises:
            ToolError: There is no such tool, or no schema can be made of it.
        """
        schema: dict[str, Any] = json.loads(self.get(name).schema_json)
        return schema

    def hidden(self, settings: Settings) -> set[str]:
        """Return the tools that are neither offered nor found: disabled, broken, or without the setting they need."""
        unavailable = {name for name in self._demanding if not self._tools[name].available(settings)}
        return unavailable | self._disabled | self._failed

    def leave_out(self, name: str, why: str) -> None:
        """Neither offer nor find a tool until it is registered anew, since it cannot be used as it is."""
        _log.warning("%s", why)
        self._failed.add(name)
        self.notices[name] = why
        self._version += 1

    def disabled(self, name: str) -> bool:
        """Tell whether a tool was set aside."""
        return name in self._disabled
