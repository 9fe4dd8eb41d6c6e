"""A process's open parts, on a database of the test's own, and servers for what lies outside."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from ricordo.common.settings import Settings, get_settings
from ricordo.graph.context import Context
from ricordo.stores.postgres.database import Database
from tests.support.stand_ins.arxiv_server import ArxivServer
from tests.support.stand_ins.tavily_server import TavilyServer

if TYPE_CHECKING:
    from langgraph.prebuilt import ToolRuntime

    from ricordo.graph.resources import Resources
    from ricordo.models.embeddings import Embedder

MakeRuntime = Callable[..., "ToolRuntime[Context, Any]"]


@pytest.fixture
def arxiv() -> Iterator[ArxivServer]:
    with ArxivServer() as server:
        yield server


@pytest.fixture
def tavily() -> Iterator[TavilyServer]:
    with TavilyServer() as server:
        yield server


@pytest.fixture
def settings(arxiv: ArxivServer, tavily: TavilyServer, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in (arxiv.settings() | tavily.settings()).items():
        monkeypatch.setenv(name, value)
    return get_settings()


@pytest.fixture
def parts(db: Database, embedder: "Embedder", settings: Settings) -> Iterator["Resources"]:
    from ricordo.graph import resources  # noqa: PLC0415 - slow to import
    from ricordo.stores.manager import MemoryManager  # noqa: PLC0415 - as above
    from ricordo.tools import toolbox  # noqa: PLC0415 - as above

    opened = resources.Resources(settings, db, embedder, MemoryManager(db, embedder), toolbox)
    resources._open.append(opened)
    yield opened
    resources._open.remove(opened)


@pytest.fixture
def runtime() -> MakeRuntime:
    """Makes what a tool is told of the run that calls it."""

    def make(user: str = "ada", thread: str = "t", **context: Any) -> "ToolRuntime[Context, Any]":
        from langgraph.prebuilt import ToolRuntime  # noqa: PLC0415 - slow to import
        from langgraph.runtime import ExecutionInfo  # noqa: PLC0415 - as above

        info = ExecutionInfo(thread_id=thread, task_id="1", checkpoint_id="1", checkpoint_ns="")
        return ToolRuntime(
            state={},
            context=Context(user_id=user, **context),
            config={"configurable": {"thread_id": thread}},
            stream_writer=lambda _: None,
            tool_call_id="call",
            store=None,
            execution_info=info,
        )

    return make
