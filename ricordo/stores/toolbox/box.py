"""The toolbox: all tools of the process, the few that fit a step, and how a name becomes a call."""

import asyncio
import difflib
import json
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from ricordo.common.errors import EmbeddingError, ToolError
from ricordo.common.settings import Settings, get_settings
from ricordo.models.embeddings import Embedder, light_embedder
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.units import Query
from ricordo.stores.toolbox import catalogue as tool_catalogue
from ricordo.stores.toolbox.augment import augmented
from ricordo.stores.toolbox.catalogue import Changes, Progress
from ricordo.stores.toolbox.index import IndexedTool, Request, ToolIndex, request
from ricordo.stores.toolbox.narrow import outside
from ricordo.stores.toolbox.registered_tool import GROUPS, RegisteredTool, Source, ToolHit, ToolOptions, check_same

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

__all__ = ["GROUPS", "RegisteredTool", "ToolHit", "Toolbox", "toolbox"]

F = TypeVar("F", bound=Source)
_log = logging.getLogger(__name__)


class Toolbox:
    """The single list of tools, with their life cycle. One event loop at a time; registration at any time."""

    def __init__(self) -> None:
        self.groups = dict(GROUPS)
        """Groups with what belongs in each."""
        self.notices: dict[str, str] = {}
        """What is wrong with a tool or a server, by its name; for `ricordo doctor` and `ricordo tools list`."""
        self.searched_by: dict[str, str] = {}
        """What a model wrote about tools, by their names."""
        self.kept_groups: set[str] = set()
        """Groups whose tools stay in the catalogue although they are not registered: their server is down."""
        self._tools: dict[str, RegisteredTool] = {}
        self._demanding: set[str] = set()
        self._disabled: set[str] = set()
        self._failed: set[str] = set()
        self._indexed: dict[str, IndexedTool] = {}
        self._index: ToolIndex | None = None
        self._embedder: Embedder | None = None

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
        self._index = None

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
        self._index = None

    def disabled(self, name: str) -> bool:
        """Tell whether a tool was set aside."""
        return name in self._disabled

    async def set_enabled(self, db: Database, name: str, *, enabled: bool) -> None:
        """Set a tool aside for the whole deployment, or take it back; other processes see it at their next start.

        Raises:
            ToolError: There is no such tool.
            DatabaseError: The database cannot be reached.
        """
        if not await tool_catalogue.set_enabled(db, name, enabled=enabled):
            self.get(name)
            raise ToolError(f"The tool {name!r} is not in the catalogue yet. Run `ricordo tools sync`, then try again.")
        (self._disabled.discard if enabled else self._disabled.add)(name)

    async def search(
        self,
        query: str | Query | Sequence[str | Query],
        k: int,
        exclude: Collection[str] = (),
        *,
        also: Sequence[str] = (),
        group: str | None = None,
        tags: Collection[str] = (),
        settings: Settings | None = None,
        embedder: Embedder | None = None,
    ) -> list[ToolHit]:
        """Return the k tools that fit a request best, best first.

        Args:
            query: What is to be done; several texts are looked for at once, and each tool counts by its best.
            k: How many tools to return at most.
            exclude: Names to leave out.
            also: More texts, without the deployment's embedding model, which takes more time than all the rest.
            group: Only tools of this group.
            tags: Only tools with one of these tags, in whatever case.
            settings: Tells which tools are available; None: the process's settings.
            embedder: Embeds the query; None: the one of the last synchronisation, which may have been closed since.

        Raises:
            ToolError: There is no such group, or no tool has such a tag; the message names those that there are.
        """
        others = outside(list(self), group, tags)
        index = self._ready()
        queries = [query] if isinstance(query, str | Query) else query
        by = embedder or self._embedder
        if not (by and self._embedder and index.embedded and by.model_id == self._embedder.model_id):
            by = None  # its vectors are of another space
        requests = [await self._request(q, index, by) for q in queries]
        requests += [await self._request(text, index) for text in also]
        out = {*exclude, *others, *self.hidden(settings or get_settings())}
        return [
            ToolHit(name, self._tools[name].description, score, self._tools[name].group)
            for name, score in index.search(requests, k, out)
        ]

    async def _request(self, query: str | Query, index: ToolIndex, by: Embedder | None = None) -> Request:
        text, embedding = (query, None) if isinstance(query, str) else (query.text, query.embedding)
        light = light_embedder().query if index.lightly_embedded else None
        try:
            return await request(text, by.query if by else None, light, embedding)
        except EmbeddingError as error:
            _log.warning("Tools are looked for by less than usual: %s", error)
            return await (self._request(query, index) if by else request(text, embedding=embedding))

    def _ready(self) -> ToolIndex:
        """Return the index; tools that are new since the last synchronisation are found by words alone."""
        if self._index is None:
            for name in self._stale():
                tool = self._tools[name]
                self._indexed[name] = tool_catalogue.indexed(tool.text(), tool.content_hash)
            self._index = ToolIndex([self._indexed[tool.name] for tool in self if tool.name not in self._failed])
        return self._index

    def _stale(self, *, embedded: bool = False) -> set[str]:
        """Return the tools that are not indexed as they are now (or not embedded), without those that cannot be."""
        stale = set()
        for tool in self:
            known = self._indexed.get(tool.name)
            whole = known is not None and known.vector is not None and known.light is not None
            if tool.name in self._failed:  # it has been said once
                continue
            if known and known.content_hash == tool.content_hash and (whole or not embedded):
                continue
            try:
                tool.schema_json  # noqa: B018 - made here, where it may fail
            except ToolError as error:
                self.leave_out(tool.name, str(error))
            else:
                stale.add(tool.name)
        return stale

    async def sync(
        self,
        db: Database,
        embedder: Embedder,
        *,
        model: "BaseChatModel | None" = None,
        everything: bool = False,
        progress: Progress | None = None,
    ) -> Changes:
        """Bring the catalogue in the database up to date, by content: only what changed is indexed and embedded again.

        Args:
            db: The database.
            embedder: The embedding model.
            model: Writes about the tools that ask for it (`augment=True`); None: what was written before is used.
            everything: Whether the model writes about all tools.
            progress: Told of tools that are being indexed and written about.

        Raises:
            DatabaseError: The database cannot be reached.
        """
        rows = await tool_catalogue.load(db, embedder.model_id)
        same = self._embedder is not None and self._embedder.model_id == embedder.model_id
        # Another database was synchronised before: what was embedded for it need not be embedded again.
        known = {row.indexed.content_hash: row.indexed for row in rows.values() if not row.augmented}
        known |= {tool.content_hash: tool for tool in self._indexed.values() if same}
        self._embedder = embedder
        self._indexed = {name: row.indexed for name, row in rows.items()}
        self._disabled = {name for name, row in rows.items() if not row.enabled}
        self.searched_by = {name: row.augmented for name, row in rows.items() if row.augmented}
        stale = await asyncio.to_thread(self._stale, embedded=True)
        usable = [tool for tool in self if tool.name not in self._failed]
        written: dict[str, bool] = {}
        async for entries in augmented(usable, rows, stale, model, everything=everything, progress=progress):
            self._indexed |= await tool_catalogue.store(db, embedder, entries, known, progress if not written else None)
            written |= {entry.tool.name: bool(entry.augmented) for entry in entries}
            for entry in entries:
                self.searched_by.pop(entry.tool.name, None)
                if entry.augmented:
                    self.searched_by[entry.tool.name] = entry.augmented
        # What was paid for, or set aside by hand, outlives a start without the tool, as from another folder.
        by_hand = {name for name, row in rows.items() if row.augmented or not row.enabled}
        kept = by_hand | {name for name, row in rows.items() if row.indexed.group in self.kept_groups}
        gone = rows.keys() - kept - self._tools.keys()
        await tool_catalogue.remove(db, gone)
        self._index = None
        await asyncio.to_thread(self._ready)
        return Changes(
            added=tuple(sorted(written.keys() - rows.keys())),
            changed=tuple(sorted(written.keys() & rows.keys())),
            removed=tuple(sorted(gone)),
            unchanged=len(self) - len(written) - len(self._failed),
            unwritten=tuple(
                tool.name
                for tool in usable
                if model is not None and (tool.augment or everything) and tool.name not in self.searched_by
            ),
            failed={name: self.notices.get(name, "") for name in self._failed},
        )


toolbox = Toolbox()
"""The process's own toolbox; importing `ricordo.tools` registers the shipped tools in it."""

register_tool = toolbox.register_tool
