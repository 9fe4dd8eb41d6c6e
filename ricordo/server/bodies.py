"""What a request brings: a body of JSON, not too long, whose runs ask for no more than they may."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ricordo.common.settings import get_settings
from ricordo.graph.context import Context
from ricordo.graph.limits import beyond
from ricordo.server.door import from_inside

_WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_AT_ONCE = 2**18
"""Bytes that are parsed without leaving the event loop."""
_context = TypeAdapter(Context)
_options = {field.name for field in fields(Context)}


async def read_body(receive: Receive, most: int | None = None) -> tuple[bytes | None, Receive]:
    """Read a request's body, and give back a way to read it again; None if it has more bytes than it may."""
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            break
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if most is not None and size > most:
            return None, receive
        more = message.get("more_body", False)
    body = b"".join(parts)
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return body, again


class CheckedBody:
    """Refuses a body that is too long or no JSON, and a run that asks for what does not exist or is not allowed.

    The server would drop an unknown option without a word: a misspelt `user_id` would then write into the memory of the
    default user. It takes JSON of any content type, and a page of any origin may send `text/plain`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 413, 415 or 422."""
        if scope["type"] == "http" and not from_inside(scope) and scope["method"] in _WITH_BODY:
            headers, most = Headers(scope=scope), int(get_settings().max_body_mb * 2**20)
            declared = headers.get("content-length", "")
            body = None
            if not (declared.isdigit() and int(declared) > most):
                body, receive = await read_body(receive, most)
            if body is None:
                problem = f"A request may have {most:,} bytes; this one has more. RICORDO_MAX_BODY_MB sets the limit."
                await JSONResponse({"detail": problem}, 413)(scope, receive, send)
                return
            if body and not _is_json(headers.get("content-type", "")):
                problem = "The server takes JSON alone: send the header 'Content-Type: application/json'."
                await JSONResponse({"detail": problem}, 415)(scope, receive, send)
                return
            wrong = asyncio.to_thread(wrong_body, body) if len(body) > _AT_ONCE else None
            if said := (await wrong if wrong else wrong_body(body)):
                await JSONResponse({"detail": said}, 422)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _is_json(content_type: str) -> bool:
    kind = content_type.split(";", 1)[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


def wrong_body(body: bytes) -> str | None:
    """Say what is wrong with the body of a request, if anything."""
    if not body:
        return None
    try:
        asked = orjson.loads(body)  # as the server does: what one of them reads, the other reads the same
    except orjson.JSONDecodeError as error:
        return f"The body is no JSON that can be read: {error}."
    for given, is_context in _contexts(asked):
        if said := _wrong_context(given, strict=is_context):
            return said
    return None


def _contexts(asked: Any) -> Iterator[tuple[Mapping[str, Any], bool]]:
    """Find what is said of runs, and whether it is a context, which has options alone.

    `configurable` is the older place for the same, with ids of the server's own among them.
    """
    for one in asked if isinstance(asked, list) else [asked]:
        if not isinstance(one, dict):
            continue
        if isinstance(given := one.get("context"), dict):
            yield given, True
        config = one.get("config")
        if isinstance(config, dict) and isinstance(given := config.get("configurable"), dict):
            yield given, False
        if isinstance(command := one.get("params"), dict):  # of a command on a thread
            yield from _contexts(command)


def _wrong_context(given: Mapping[str, Any], *, strict: bool) -> str | None:
    unknown = sorted(given.keys() - _options)
    if strict and unknown:
        return f"There is no option '{', '.join(unknown)}' in context. The options of a run are: {_known()}."
    chosen = {name: value for name, value in given.items() if name in _options}
    if nested := [name for name, value in chosen.items() if isinstance(value, dict | list)]:
        return f"The context cannot be used: {', '.join(nested)} is no single value."
    try:
        context = _context.validate_json(orjson.dumps(chosen), strict=True)
    except ValidationError as error:
        wrong = "; ".join(f"{e['loc'][0]}: {e['msg']}" for e in error.errors(include_url=False))
        return f"The context cannot be used: {wrong}."
    return beyond(context, get_settings(), serves=True)


def _known() -> str:
    return ", ".join(field.name for field in fields(Context))
