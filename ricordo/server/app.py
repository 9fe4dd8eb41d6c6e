"""What the LangGraph server opens and mounts beside the graph; langgraph.json names both parts."""

import asyncio
import importlib
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.middleware import Middleware

from ricordo.common.errors import ConfigurationError
from ricordo.common.settings import get_settings
from ricordo.graph.resources import get_resources, open_resources
from ricordo.graph.thread.checkpoints import checkpointer_of
from ricordo.server.bodies import CheckedBody
from ricordo.server.door import Door
from ricordo.server.state import forget_deleted, settle_state
from ricordo.server.threads import ThreadsFromElsewhere

if TYPE_CHECKING:
    from ricordo.graph.thread.saver import Saver


@asynccontextmanager
async def checkpointer() -> "AsyncIterator[Saver]":
    """Open the resources, and on their database the saver that CLI and notebooks use too.

    The server enters this before its workers begin, and leaves it after they have ended. The lifespan of `app` is the
    shorter one: runs that a crash has cut off are taken up again before it, and nodes still run after it.
    """
    async with open_resources(serves=True) as resources, checkpointer_of(resources.db) as saver:
        yield saver


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[None]:
    """Open the resources on servers that bring a checkpointer of their own; on LangGraph's, forget who was deleted."""
    async with AsyncExitStack() as stack:
        try:
            resources = get_resources()
        except ConfigurationError:
            resources = await stack.enter_async_context(open_resources(serves=True))
        if "langgraph_api" in sys.modules:
            resources.background.add(asyncio.create_task(forget_deleted(resources.db)))
        yield


def _make() -> Starlette:
    """Make the application for the server that is loading it."""
    middleware, kind = [Middleware(CheckedBody)], Starlette
    if "langgraph_api" in sys.modules:  # other servers have doors, and keep their threads, in ways of their own
        if "langgraph_runtime_inmem" in sys.modules:  # it has not read yet what it saved
            settle_state(get_settings().home, Path.cwd())
        middleware = [Door.of_langgraph(), *middleware, Middleware(ThreadsFromElsewhere)]
    elif "aegra_api" in sys.modules:  # it insists on a FastAPI, and brings it
        kind = importlib.import_module("fastapi").FastAPI
    return kind(lifespan=lifespan, middleware=middleware)


app = _make()
