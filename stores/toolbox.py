"""The toolbox: all tools of the process, the few that fit a step, and how a name becomes a call.

```python
from stores.toolbox import toolbox

@toolbox.register_tool(group="papers", tags=["arxiv"], examples=["get me the paper on ..."], side_effect=False)
async def find_paper(query: str) -> str: ...
```
"""

import difflib
import inspect
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from linecache import checkcache, getlines
from typing import Any, TypeVar, overload

from langchain_core.tools import BaseTool
from pydantic import SecretStr

from graph.embeddings import Embedder
from graph.errors import ToolError
from graph.settings import Settings, get_settings
from stores.lexical import terms
from stores.tool_index import IndexedTool, ToolIndex
from stores.tool_schema import check_name, fingerprint, make_tool, openai_schema
from stores.tool_text import ToolText

F = TypeVar("F", bound="Callable[..., Any] | BaseTool")

GROUPS = {
    "general": "Everything that has no group of its own.",
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


@dataclass(frozen=True)
class ToolHit:
    """A tool that a search found."""

    name: str
    description: str
    score: float
    """Fused, 0 to 1, comparable within one list."""
    group: str


@dataclass(frozen=True, eq=False)
class RegisteredTool:
    """A tool with what the toolbox knows about it. The LangChain tool and its schema are made when first needed."""

    name: str
    source: Callable[..., Any] | BaseTool
    group: str = "general"
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    pinned: bool = False
    side_effect: bool = True
    """Whether running it twice differs from running it once; tools that do not say so are taken to have one."""
    timeout: float | None = None
    """Longest run in seconds; None: the deployment's setting."""
    augment: bool = False
    """Whether a model may rewrite its description for the search."""
    requires: str | None = None
    """The setting without which the tool is never offered."""

    @cached_property
    def tool(self) -> BaseTool:
        """The LangChain tool that runs.

        Raises:
            ToolError: No schema can be made of the function's signature.
        """
        return self.source if isinstance(self.source, BaseTool) else make_tool(self.source, self.name)

    @cached_property
    def schema_json(self) -> str:
        """The function schema that the model sees, as JSON: always the same bytes.

        Raises:
            ToolError: No schema can be made of the tool.
        """
        return openai_schema(self.tool)

    @cached_property
    def content_hash(self) -> bytes:
        """Hash of all that the schema and the search text come from."""
        return fingerprint(self.source, self.name, self.group, self.tags, self.examples, self.augment)

    @property
    def documented(self) -> bool:
        """Whether somebody described the tool; else its description is made from its name."""
        return bool(self.source.description if isinstance(self.source, BaseTool) else inspect.getdoc(self.source))

    def available(self, settings: Settings) -> bool:
        """Tell whether the setting that the tool requires is there."""
        value = getattr(settings, self.requires) if self.requires else True
        return bool(value.get_secret_value() if isinstance(value, SecretStr) else value)

    def text(self) -> ToolText:
        """Return what a search looks at."""
        function = json.loads(self.schema_json)["function"]
        return ToolText(self.name, self.tool.description, function["parameters"], self.group, self.tags, self.examples)


class Toolbox:
    """The single list of tools, with their life cycle."""

    def __init__(self) -> None:
        self._tools: dict[str, RegisteredTool] = {}
        self._groups = dict(GROUPS)
        self._index: ToolIndex | None = None
        self._embedder: Embedder | None = None

    @overload
    def register_tool(self, source: F, /) -> F: ...
    @overload
    def register_tool(
        self,
        source: F,
        /,
        *,
        group: str = ...,
        tags: Sequence[str] = ...,
        examples: Sequence[str] = ...,
        pinned: bool = ...,
        side_effect: bool = ...,
        timeout: float | None = ...,
        augment: bool = ...,
        requires: str | None = ...,
    ) -> F: ...
    @overload
    def register_tool(
        self,
        source: None = None,
        /,
        *,
        group: str = ...,
        tags: Sequence[str] = ...,
        examples: Sequence[str] = ...,
        pinned: bool = ...,
        side_effect: bool = ...,
        timeout: float | None = ...,
        augment: bool = ...,
        requires: str | None = ...,
    ) -> Callable[[F], F]: ...
    def register_tool(
        self,
        source: F | None = None,
        /,
        *,
        group: str = "general",
        tags: Sequence[str] = (),
        examples: Sequence[str] = (),
        pinned: bool = False,
        side_effect: bool = True,
        timeout: float | None = None,
        augment: bool = False,
        requires: str | None = None,
    ) -> F | Callable[[F], F]:
        """Register a function, sync or async, or a LangChain tool; return it as it was.

        Works bare (`@toolbox.register_tool`), with options, and as a plain call on a tool object.

        Args:
            source: The function or tool, where this is not used with options as a decorator.
            group: The domain that the tool belongs to; a new one comes to be by being named.
            tags: Words that it may be found by.
            examples: Phrases that a user would say when the tool fits.
            pinned: Whether the model sees it in every call.
            side_effect: Whether running it twice differs from running it once.
            timeout: Longest run in seconds; None: the deployment's setting.
            augment: Whether a model may rewrite its description for the search.
            requires: The name of the setting without which the tool is never offered.

        Raises:
            ToolError: Another tool has that name, the name is not one that providers take, or no such setting exists.
        """

        def register(given: F) -> F:
            name = given.name if isinstance(given, BaseTool) else given.__name__
            if requires is not None and requires not in Settings.model_fields:
                raise ToolError(f"The tool {name!r} requires the setting {requires!r}, and there is no such setting.")
            self._add(
                RegisteredTool(
                    check_name(name),
                    given,
                    group,
                    tuple(tags),
                    tuple(examples),
                    pinned,
                    side_effect,
                    timeout,
                    augment,
                    requires,
                )
            )
            return given

        return register if source is None else register(source)

    def _add(self, tool: RegisteredTool) -> None:
        other = self._tools.get(tool.name)
        if other is not None and not _same_origin(other.source, tool.source):
            raise ToolError(
                f"Two tools are called {tool.name!r}: {_origin(other.source)} and {_origin(tool.source)}. "
                "Rename one of them."
            )
        self._tools[tool.name] = tool
        self._index = None
        self._groups.setdefault(tool.group, "")

    def add_group(self, name: str, description: str) -> None:
        """Describe a group of tools, for the routing of searches."""
        self._groups[name] = description

    def remove(self, name: str) -> None:
        """Take a tool out; nothing happens when there is none of that name."""
        self._tools.pop(name, None)
        self._index = None

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
        try:
            return self._tools[name]
        except KeyError:
            close = difflib.get_close_matches(name, self._tools, n=3)
            hint = f" Did you mean {', '.join(close)}?" if close else ""
            raise ToolError(
                f"There is no tool called {name!r}.{hint} Call read_toolbox with what you want to do to find a tool."
            ) from None

    def schema(self, name: str) -> dict[str, Any]:
        """Return the OpenAI function schema of a tool, always the same bytes.

        Raises:
            ToolError: There is no such tool, or no schema can be made of it.
        """
        schema: dict[str, Any] = json.loads(self.get(name).schema_json)
        return schema

    def hidden(self, settings: Settings) -> set[str]:
        """Return the names that are neither offered nor found: their setting is missing."""
        return {tool.name for tool in self._tools.values() if not tool.available(settings)}

    async def search(
        self,
        query: str | Sequence[str],
        k: int,
        exclude: Collection[str] = (),
        *,
        settings: Settings | None = None,
    ) -> list[ToolHit]:
        """Return the k tools that fit a request best, best first.

        Args:
            query: What is to be done; several texts are looked for at once, and each tool counts by its best.
            k: How many tools to return at most.
            exclude: Names to leave out.
            settings: Tells which tools are available; None: the process's settings.
        """
        texts = [query] if isinstance(query, str) else query
        index = self._lexical()
        out = set(exclude) | self.hidden(settings or get_settings())
        best: dict[str, float] = {}
        for text in texts:
            embedding = await self._embedder.query(text) if self._embedder and index.embedded else None
            for name, score in index.search(terms(text), embedding, k, out):
                best[name] = max(score, best.get(name, 0.0))
        ranked = sorted(best.items(), key=lambda pair: -pair[1])[:k]
        return [ToolHit(n, self._tools[n].tool.description, s, self._tools[n].group) for n, s in ranked]

    def _lexical(self) -> ToolIndex:
        if self._index is None:
            self._index = ToolIndex([IndexedTool(t.name, t.group, terms(t.text().passage())) for t in self])
        return self._index

    async def sync(self, db: Any, embedder: Any) -> None:
        """Bring the catalogue in the database up to date."""
        self._embedder = embedder


def _origin(source: Callable[..., Any] | BaseTool) -> str:
    if isinstance(source, BaseTool):
        return f"a {type(source).__name__} ({source.description[:60]!r})"
    return f"{source.__module__}.{source.__qualname__}"


def _same_origin(old: Callable[..., Any] | BaseTool, new: Callable[..., Any] | BaseTool) -> bool:
    """Tell whether a registration is the same function again: its module was reloaded, or a cell run again."""
    if old is new:
        return True
    if isinstance(old, BaseTool) or isinstance(new, BaseTool) or _origin(old) != _origin(new):
        return False
    before, after = (inspect.unwrap(source).__code__ for source in (old, new))
    if before.co_filename != after.co_filename or before.co_firstlineno == after.co_firstlineno:
        return "<locals>" not in new.__qualname__ or before.co_filename == after.co_filename
    checkcache(after.co_filename)  # one file, two places: either it was edited, or it defines the name twice
    defined = re.findall(
        rf"^\s*(?:async\s+)?def\s+{re.escape(new.__name__)}\b", "".join(getlines(after.co_filename)), re.MULTILINE
    )
    return len(defined) == 1


toolbox = Toolbox()
"""The process's own toolbox; importing the package `tools` registers the shipped tools in it."""
