"""The server's list of threads, and those that were begun elsewhere."""

import json
import logging
import re
from typing import Any
from uuid import UUID

from starlette.types import ASGIApp, Receive, Scope, Send

from ricordo.common.errors import DatabaseError
from ricordo.graph.resources import get_resources
from ricordo.server.bodies import read_body
from ricordo.server.door import from_inside
from ricordo.stores.thread_list import begun

GRAPH_ID = "agent"
"""The graph's name in langgraph.json, which is also what clients give as `assistant_id`."""

_THREADS = re.compile(r"/threads(?:/(?P<rest>.*)|$)")
_log = logging.getLogger(__name__)


class ThreadsFromElsewhere:
    """Makes the server know the threads that were begun in the command line or a notebook.

    Its list of threads is its own, beside the checkpoints that are shared. A thread is entered when the list is asked
    for, or when the thread itself is, with its user as `owner` in the metadata.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._known: set[UUID] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Enter what is asked for, then pass the request on."""
        if scope["type"] == "http" and not from_inside(scope) and (found := _THREADS.search(scope["path"])):
            asked, body = found["rest"] or "", b""
            if scope["method"] == "POST" and not asked:
                read, receive = await read_body(receive)
                body = read or b""
            thread_id = _uuid(asked.split("/")[0] or _thread_of(body))
            if asked in {"search", "count"} or (thread_id and thread_id not in self._known):
                await self._enter(thread_id)
            if scope["method"] == "DELETE" and thread_id:
                self._known.discard(thread_id)
        await self._app(scope, receive, send)

    async def _enter(self, thread_id: UUID | None) -> None:
        from langgraph_sdk import get_client  # noqa: PLC0415 - it finds the server only once that is up

        try:
            async with get_resources().db.as_owner() as conn:
                threads = await begun(conn, thread_id=thread_id)
        except DatabaseError as error:
            _log.warning("The threads begun elsewhere are not listed: %s", error)  # those of the server still are
            return
        client = get_client(api_key=None)
        for thread in threads:
            if thread["thread_id"] not in self._known:
                await client.threads.create(
                    thread_id=str(thread["thread_id"]),
                    graph_id=GRAPH_ID,
                    metadata={"owner": thread["user_id"], "name": thread["name"]},
                    if_exists="do_nothing",
                )
                self._known.add(thread["thread_id"])


def _thread_of(body: bytes) -> Any:
    """Return the id that a new thread is to have."""
    try:
        asked = json.loads(body or b"null")
    except ValueError:
        return None
    return asked.get("thread_id") if isinstance(asked, dict) else None


def _uuid(text: Any) -> UUID | None:
    try:
        return UUID(str(text))
    except ValueError:
        return None
