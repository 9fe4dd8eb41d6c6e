"""One tool with what the toolbox knows about it."""

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from linecache import checkcache, getlines
from typing import Any, TypedDict

from langchain_core.tools import BaseTool
from pydantic import SecretStr

from ricordo.common.errors import ToolError
from ricordo.common.settings import Settings
from ricordo.common.text import clean
from ricordo.stores.toolbox.contained import runnable
from ricordo.stores.toolbox.parameters import unknown_arguments
from ricordo.stores.toolbox.schema import check_name, description_of, fingerprint, make_tool, openai_schema
from ricordo.stores.toolbox.text import ToolText, index_version

_COMMAND = re.compile(r"\bCommand\b")

Source = Callable[..., Any] | BaseTool
"""What can be registered."""


GROUPS = {
    "files": "Read, write, list, move and delete files and folders.",
    "database": "Query and change databases and tables.",
    "web": "Search the web and read pages.",
    "code": "Run code and shell commands, work on source code and repositories.",
    "communication": "Send and read mail, messages and calendars.",
    "search": "Find things in stored documents and catalogues.",
    "papers": "Find, fetch and save scientific papers.",
    "memory": "Remember, recall and forget facts about the user.",
    "context": "Look up what this conversation holds: summaries, tool outputs, earlier turns.",
    "time": "Dates, times and time zones.",
}
"""The groups that are known from the start, with what belongs in each."""


class ToolOptions(TypedDict, total=False):
    """What can be said of a tool at its registration."""

    group: str
    """The domain that it belongs to; a new one comes to be by being named. Default: none."""
    tags: str | Sequence[str]
    """Words that it may be found by."""
    examples: str | Sequence[str]
    """Phrases that a user would say when the tool fits."""
    pinned: bool
    """Whether the model sees it in every call."""
    side_effect: bool
    """Whether running it twice differs from running it once; true unless the tool says otherwise."""
    timeout: float | None
    """Longest run in seconds; None: the deployment's setting."""
    augment: bool
    """Whether a model may write about it for the search; the description stays what the chat model sees."""
    requires: str | None
    """The name of the setting without which it is neither offered nor found."""


@dataclass(frozen=True, eq=False)
class RegisteredTool:
    """A tool. Its LangChain form and its schema are made when they are first needed: they cost milliseconds."""

    name: str
    source: Source
    group: str = ""
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    pinned: bool = False
    side_effect: bool = True
    timeout: float | None = None
    augment: bool = False
    requires: str | None = None

    @classmethod
    def of(cls, source: Source, options: ToolOptions) -> "RegisteredTool":
        """Make it of what was registered.

        Raises:
            ToolError: The name is not one that providers take, or an option is not one, or no such setting exists.
        """
        name = check_name(source.name if isinstance(source, BaseTool) else getattr(source, "__name__", repr(source)))
        check_options(name, source, options)
        return cls(
            name,
            source,
            group=clean(options.get("group", "")),
            tags=_texts(options.get("tags", ())),
            examples=_texts(options.get("examples", ())),
            pinned=options.get("pinned", False),
            side_effect=options.get("side_effect", True),
            timeout=options.get("timeout"),
            augment=options.get("augment", False),
            requires=options.get("requires"),
        )

    @cached_property
    def tool(self) -> BaseTool:
        """The LangChain tool that runs.

        Raises:
            ToolError: No schema can be made of the function's signature.
        """
        return runnable(self.source) if isinstance(self.source, BaseTool) else make_tool(self.source, self.name)

    @cached_property
    def schema_json(self) -> str:
        """The function schema that the model sees, as JSON: always the same bytes.

        Raises:
            ToolError: No schema can be made of the tool.
        """
        return openai_schema(self.tool)

    @cached_property
    def content_hash(self) -> bytes:
        """Hash of all that the search text comes from."""
        return fingerprint(self.source, self.name, self.group, self.tags, self.examples, index_version())

    @property
    def description(self) -> str:
        """The description as it was written, whole; the tool's name in words where nobody wrote one."""
        return self.source.description if isinstance(self.source, BaseTool) else description_of(self.source)

    @property
    def documented(self) -> bool:
        """Whether somebody described the tool."""
        return bool(self.source.description if isinstance(self.source, BaseTool) else inspect.getdoc(self.source))

    def available(self, settings: Settings) -> bool:
        """Tell whether the setting that the tool requires is there."""
        value = getattr(settings, self.requires) if self.requires else True
        return bool(value.get_secret_value() if isinstance(value, SecretStr) else value)

    def unknown(self, arguments: Mapping[str, Any]) -> str:
        """Say which arguments the tool does not know, and which it does; nothing where it knows all of them."""
        return unknown_arguments(json.loads(self.schema_json)["function"]["parameters"], arguments)

    def text(self, more: Sequence[str] = ()) -> ToolText:
        """Return what a search looks at.

        Args:
            more: Phrases beside the examples.

        Raises:
            ToolError: No schema can be made of the tool.
        """
        parameters = json.loads(self.schema_json)["function"]["parameters"]
        return ToolText(self.name, self.tool.description, parameters, self.group, self.tags, (*self.examples, *more))


@dataclass(frozen=True)
class ToolHit:
    """A tool that a search found."""

    name: str
    description: str
    score: float
    """Fused, 0 to 1, comparable within one list."""
    group: str


def _texts(given: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(map(clean, [given] if isinstance(given, str) else given))


def check_options(name: str, source: Source, options: ToolOptions) -> None:
    """Check what is said of a tool at its registration.

    Raises:
        ToolError: It is a class or returns a Command, an option is unknown, or the setting that it requires is.
    """
    if isinstance(source, type):
        raise ToolError(f"{name!r} is a class. Register a function, or a LangChain tool.")
    if _COMMAND.search(_returned(source)):
        raise ToolError(
            f"The tool {name!r} returns a Command, which steers a graph of its author's and not this one. Register one "
            "that returns its result."
        )
    if unknown := sorted(options.keys() - ToolOptions.__annotations__.keys()):
        known = ", ".join(sorted(ToolOptions.__annotations__))
        raise ToolError(f"The tool {name!r} has an unknown option: {', '.join(unknown)}. There are {known}.")
    timeout = options.get("timeout")
    if timeout is not None and not (isinstance(timeout, int | float) and timeout > 0):
        raise ToolError(f"The tool {name!r} has timeout={timeout!r}. It is a number of seconds above 0, or None.")
    for given in (options.get("tags", ()), options.get("examples", ())):
        if not isinstance(given, str) and not all(isinstance(each, str) for each in given):
            raise ToolError(f"The tool {name!r} has {given!r} among its tags or examples. They are texts.")
    requires = options.get("requires")
    if requires is not None and requires not in Settings.model_fields:
        raise ToolError(f"The tool {name!r} requires the setting {requires!r}, and there is no such setting.")


def _returned(source: Source) -> str:
    """Return what a tool says that it returns."""
    function = source
    if isinstance(source, BaseTool):
        function = getattr(source, "coroutine", None) or getattr(source, "func", None) or type(source)._run  # noqa: SLF001 - what a subclass is to define
    return str(getattr(function, "__annotations__", {}).get("return", ""))


def _origin(source: Source) -> str:
    """Tell where a tool comes from."""
    if isinstance(source, BaseTool):
        return f"a {type(source).__name__} ({source.description[:60]!r})"
    return f"{source.__module__}.{source.__qualname__}"


def check_same(name: str, old: Source, new: Source) -> None:
    """Check that a second registration of a name is that of the same tool.

    Raises:
        ToolError: It is another tool.
    """
    if not _same_origin(old, new):
        raise ToolError(f"Two tools are called {name!r}: {_origin(old)} and {_origin(new)}. Rename one of them.")


def _same_origin(old: Source, new: Source) -> bool:
    """Tell whether a registration is the same function again: its module was reloaded, or a notebook's cell rerun."""
    if old is new:
        return True
    if isinstance(old, BaseTool) or isinstance(new, BaseTool) or _origin(old) != _origin(new):
        return False
    before, after = (getattr(inspect.unwrap(source), "__code__", None) for source in (old, new))
    if before is None or after is None:
        return False
    if before.co_filename != after.co_filename:
        return "<locals>" not in new.__qualname__
    if before.co_firstlineno == after.co_firstlineno:
        return True
    checkcache(after.co_filename)  # one file, two places: either it was edited, or it defines the name twice
    text = "".join(getlines(after.co_filename))
    return len(re.findall(rf"^\s*(?:async\s+)?def\s+{re.escape(new.__name__)}\b", text, re.MULTILINE)) == 1
