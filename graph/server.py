"""What the LangGraph server opens and mounts beside the graph; langgraph.json names both parts."""

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.middleware import Middleware

from graph.checkpoints import open_checkpointer
from graph.errors import ConfigurationError
from graph.resources import get_resources, open_resources
from graph.server_door import CheckedContext, ThreadsFromElsewhere

if TYPE_CHECKING:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver


@asynccontextmanager
async def checkpointer() -> "AsyncIterator[AsyncPostgresSaver]":
    """Open the resources, and on their database the saver that CLI and notebooks use too.

    The server enters this before its workers begin, and leaves it after they have ended. The lifespan of `app` is the
    shorter one: runs that a crash has cut off are taken up again before it, and nodes still run after it.
    """
    async with open_resources() as resources, open_checkpointer(resources.db.dsn) as saver:
        yield saver


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[None]:
    """Open the resources on servers that bring a checkpointer of their own."""
    async with AsyncExitStack() as stack:
        try:
            get_resources()
        except ConfigurationError:
            await stack.enter_async_context(open_resources())
        yield


_middleware = [Middleware(CheckedContext)]
if "langgraph_api" in sys.modules:  # other servers keep their threads in a way of their own
    _middleware.append(Middleware(ThreadsFromElsewhere))

try:  # Aegra insists on a FastAPI and brings it; the LangGraph server does not
    from fastapi import FastAPI as App
except ImportError:
    App = Starlette

app = App(lifespan=lifespan, middleware=_middleware)
