"""What happens to requests before the LangGraph server sees them."""

import json
import logging
import re
from dataclasses import fields
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter, ValidationError
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ricordo.common.errors import DatabaseError
from ricordo.graph.context import Context
from ricordo.graph.resources import get_resources
from ricordo.stores.thread_list import begun

GRAPH_ID = "agent"
"""The graph's name in langgraph.json, which is also what clients give as `assistant_id`."""

_WITH_CONTEXT = re.compile(r"/(threads|runs|assistants)\b")
_THREADS = re.compile(r"/threads(?:/(?P<rest>.*)|$)")
_context = TypeAdapter(Context)
_log = logging.getLogger(__name__)


def _from_inside(scope: Scope) -> bool:
    """Tell whether a request comes from this process; no client can set the root path."""
    return scope["type"] != "http" or str(scope.get("root_path", "")).startswith("/noauth")


async def _body(receive: Receive) -> tuple[bytes, Receive]:
    """Read a request's body, and give back a way to read it again."""
    parts: list[bytes] = []
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            break
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    body = b"".join(parts)
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return body, again


class CheckedContext:
    """Refuses a run whose context has a field that does not exist, or a value of another type.

    The server would drop an unknown field without a word: a misspelt `user_id` would then write into the memory of the
    default user.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 422."""
        if not _from_inside(scope) and scope["method"] in {"POST", "PATCH"} and _WITH_CONTEXT.search(scope["path"]):
            body, receive = await _body(receive)
            if problem := _wrong_context(body):
                await JSONResponse({"detail": problem}, 422)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _wrong_context(body: bytes) -> str | None:
    """Say what is wrong with the context of a request, if anything."""
    if b'"context"' not in body:
        return None
    try:
        asked = json.loads(body)
    except ValueError:
        return None  # the server's own answer tells more
    for one in asked if isinstance(asked, list) else [asked]:
        given: Any = one.get("context") if isinstance(one, dict) else None
        if not isinstance(given, dict):
            continue
        known = [f.name for f in fields(Context)]
        if unknown := sorted(given.keys() - set(known)):
            return (
                f"There is no option '{', '.join(unknown)}' in context. The options of a run are: {', '.join(known)}."
            )
        try:
            _context.validate_json(json.dumps(given), strict=True)
        except ValidationError as error:
            wrong = "; ".join(f"{e['loc'][0]}: {e['msg']}" for e in error.errors(include_url=False))
            return f"The context cannot be used: {wrong}."
    return None


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
        if not _from_inside(scope) and (found := _THREADS.search(scope["path"])):
            asked, body = found["rest"] or "", b""
            if scope["method"] == "POST" and not asked:
                body, receive = await _body(receive)
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
