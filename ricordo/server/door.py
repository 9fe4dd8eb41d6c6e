"""Who comes in: to known paths, from known hosts and pages, and by a token where `auth` is set."""

import importlib
import os
import re
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ricordo.common.settings import get_settings

STUDIO = ("https://smith.langchain.com", "https://eu.smith.langchain.com")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_KNOWN = frozenset(
    {"", "ok", "info", "docs", "openapi.json", "metrics", "ui", ".well-known"}
    | {"assistants", "threads", "runs", "store", "mcp", "a2a"}
)
"""First parts of paths. What else LangGraph's server has, now or later, is not passed on: `/internal`, `/deploy`."""
_HEALTH = frozenset({"", "ok"})


def from_inside(scope: Scope) -> bool:
    """Tell whether a request comes from this process, or is none; no client can set the root path."""
    root = str(scope.get("root_path", ""))
    return scope["type"] not in {"http", "websocket"} or root == "/noauth" or root.startswith("/noauth/")


class Door:
    """Refuses what does not come from whom the deployment knows, before any body is read.

    A browser sends requests to any server that it can reach, this one on the loopback included, in the name of whatever
    page is open. It says which page (`Origin`), and whose name led it here (`Host`).
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        guard: Middleware | None = None,
        origins: Collection[str] = STUDIO,
        origins_like: str | None = None,
        address: str = "",
    ) -> None:
        """Stand before an application.

        Args:
            app: What is behind the door.
            guard: The server's authentication, if the deployment has set `auth`.
            origins: Of the pages that may send requests; `*` for all counts with a guard alone.
            origins_like: A pattern of more of them.
            address: The server's own, as it was started.
        """
        self._app = app
        self._guarded = guard.cls(app, *guard.args, **guard.kwargs) if guard else None
        self._origins = set(STUDIO) if "*" in origins and guard is None else set(origins)
        self._origins_like = re.compile(origins_like) if origins_like else None
        self._own = urlsplit(address).hostname

    @classmethod
    def of_langgraph(cls) -> Middleware:
        """Make the door of LangGraph's server, by what its configuration says of `auth` and `cors`."""
        config: Any = importlib.import_module("langgraph_api.config")
        guard: Any = importlib.import_module("langgraph_api.auth.middleware").auth_middleware
        cors = config.CORS_CONFIG or {"allow_origins": list(config.CORS_ALLOW_ORIGINS)}
        return Middleware(
            cls,
            guard=guard if config.LANGGRAPH_AUTH else None,
            origins=cors.get("allow_origins") or (),
            origins_like=cors.get("allow_origin_regex"),
            address=os.environ.get("LANGGRAPH_API_URL", ""),  # with a tunnel, the tunnel's
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 401, 403 or 404."""
        if from_inside(scope):
            await self._app(scope, receive, send)
            return
        place = _first_part(scope)
        if refused := self._unknown(scope, place):
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008, "reason": "refused"})
            else:
                status, detail = refused
                await JSONResponse({"detail": detail}, status)(scope, receive, send)
            return
        # Some of the server's paths come here without having passed its authentication; a preflight has no token.
        passes = "user" in scope or place in _HEALTH or scope.get("method") == "OPTIONS"
        inside = self._app if passes or self._guarded is None else self._guarded
        await inside(scope, receive, send)

    def _unknown(self, scope: Scope, place: str) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        if place not in _KNOWN:
            return 404, "There is nothing at this address."
        if self._guarded is None and not self._is_ours(headers.get("host", "")):
            return 403, (
                "This server has no users and answers to the machine it runs on alone; the request names another "
                "host. Name the host in RICORDO_HOSTS, or better set `auth` in langgraph.json."
            )
        origin = headers.get("origin")
        if origin is None or self._is_known(origin, headers.get("host", "")):
            return None
        return 403, (
            "Pages of this origin may not use the server. Name the origin in http.cors.allow_origins of langgraph.json."
        )

    def _is_ours(self, host: str) -> bool:
        named = _hostname(host)
        more = {each.strip().lower() for each in get_settings().hosts.split(",") if each.strip()}
        return named is not None and (named in _LOOPBACK or named == self._own or named in more)

    def _is_known(self, origin: str, host: str) -> bool:
        own = origin in {f"http://{host}", f"https://{host}"}  # the pages that the server itself shows, such as /docs
        like = self._origins_like is not None and self._origins_like.fullmatch(origin) is not None
        return own or like or origin in self._origins or "*" in self._origins


def _first_part(scope: Scope) -> str:
    root, path = str(scope.get("root_path", "")), str(scope["path"])
    inner = path[len(root) :] if root and path.startswith(f"{root}/") else path
    return inner.removeprefix("/").split("/", 1)[0]


def _hostname(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None
