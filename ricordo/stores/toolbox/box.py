"""The toolbox: all tools of the process, the few that fit a step, and how a name becomes a call."""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ricordo.common.errors import EmbeddingError, ToolError
from ricordo.common.settings import Settings, get_settings
from ricordo.models.embeddings import Embedder, light_embedder
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.units import Query
from ricordo.stores.toolbox import catalogue as tool_catalogue
from ricordo.stores.toolbox.augment import augmented
from ricordo.stores.toolbox.catalogue import Changes, Progress, Row
from ricordo.stores.toolbox.index import IndexedTool, Request, ToolIndex, request
from ricordo.stores.toolbox.narrow import outside
from ricordo.stores.toolbox.registered_tool import GROUPS, RegisteredTool, ToolHit
from ricordo.stores.toolbox.registry import Registry

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

__all__ = ["GROUPS", "RegisteredTool", "ToolHit", "Toolbox", "toolbox"]

_log = logging.getLogger(__name__)

_STEPS = 10
"""In how many steps searches see what is being embedded: an index of thousands takes a while to make."""


@dataclass(frozen=True)
class Known:
    """What is known of the tools before they are synchronised."""

    rows: Mapping[str, Row]
    """The catalogue, by name."""
    by_content: Mapping[bytes, IndexedTool]
    """Tools as the process or the catalogue has them, by their content hashes."""
    stale: frozenset[str]
    """Names of the tools that are not in the catalogue as they are now."""


class Toolbox(Registry):
    """The list of tools as the database knows it and a search finds them. One event loop at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.searched_by: dict[str, str] = {}
        """What a model wrote about tools, by their names."""
        self.kept_groups: set[str] = set()
        """Groups whose tools stay in the catalogue although they are not registered: their server is down."""
        self._indexed: dict[str, IndexedTool] = {}
        self._index: ToolIndex | None = None
        self._index_version = 0
        self._embedder: Embedder | None = None

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
        if self._index is None or self._index_version != self._version:
            self._take(*self._build())
        assert self._index is not None  # noqa: S101 - it has just been taken
        return self._index

    async def show(self) -> None:
        """Let searches see what is known now; the index is made beside the event loop, and they go on meanwhile."""
        self._take(*await asyncio.to_thread(self._build))

    def _build(self) -> tuple[int, dict[str, IndexedTool], ToolIndex]:
        """Make the index of the tools as they are; return their version and what had to be indexed by words too."""
        version, tools = self._version, list(self)
        stale = self._stale(tools, self._indexed)
        words = {tool.name: tool_catalogue.indexed(tool.text(), tool.content_hash) for tool in stale}
        known = self._indexed | words
        shown = [known[tool.name] for tool in tools if tool.name in known and tool.name not in self._failed]
        return version, words, ToolIndex(shown)

    def _take(self, version: int, words: dict[str, IndexedTool], index: ToolIndex) -> None:
        self._indexed |= words
        self._index, self._index_version = index, version

    def _stale(
        self, tools: Sequence[RegisteredTool], indexed: Mapping[str, IndexedTool], *, embedded: bool = False
    ) -> list[RegisteredTool]:
        """Return the tools that are not indexed as they are now (or not embedded), without those that cannot be."""
        stale = []
        for tool in tools:
            known = indexed.get(tool.name)
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
                stale.append(tool)
        return stale

    async def read(self, db: Database, embedder: Embedder) -> Known:
        """Take over what the catalogue in the database knows of the tools.

        Raises:
            DatabaseError: The database cannot be reached.
        """
        rows = await tool_catalogue.load(db, embedder.model_id)
        known = {row.indexed.content_hash: row.indexed for row in rows.values() if not row.augmented}
        if self._embedder is None or self._embedder.model_id != embedder.model_id:
            self._indexed = {}
        # Another database was synchronised before: what was made for it need not be made again.
        for tool in self._indexed.values():
            if tool.vector is not None or tool.content_hash not in known:
                known[tool.content_hash] = tool
        stored = {name: row.indexed for name, row in rows.items()}
        self._embedder = embedder
        self._indexed = {name: tool for name, tool in self._indexed.items() if name in self} | stored
        self._disabled = {name for name, row in rows.items() if not row.enabled}
        self.searched_by = {name: row.augmented for name, row in rows.items() if row.augmented}
        stale = await asyncio.to_thread(self._stale, list(self), stored, embedded=True)
        return Known(rows, known, frozenset(tool.name for tool in stale))

    async def sync(
        self,
        db: Database,
        embedder: Embedder,
        known: Known | None = None,
        *,
        model: "BaseChatModel | None" = None,
        everything: bool = False,
        progress: Progress | None = None,
    ) -> Changes:
        """Bring the catalogue in the database up to date, by content: only what changed is indexed and embedded again.

        Searches see what is done in a few steps, while the rest is being done.

        Args:
            db: The database.
            embedder: The embedding model.
            known: What `read` has returned; None: it is read.
            model: Writes about the tools that ask for it (`augment=True`); None: what was written before is used.
            everything: Whether the model writes about all tools.
            progress: Told of tools that are being indexed and written about.

        Raises:
            DatabaseError: The database cannot be reached.
        """
        known = known or await self.read(db, embedder)
        rows = known.rows
        usable = [tool for tool in self if tool.name not in self._failed]
        written: dict[str, bool] = {}
        unseen = 0
        async for entries in augmented(usable, rows, known.stale, model, everything=everything, progress=progress):
            told = progress if not written else None
            async for batch in tool_catalogue.store(db, embedder, entries, known.by_content, told):
                self._indexed |= batch
                unseen += len(batch)
                if unseen * _STEPS >= len(usable):
                    await self.show()
                    unseen = 0
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
        await self.show()
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
