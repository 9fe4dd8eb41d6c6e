"""What stands at the door of the server: tokens, hosts, pages. No body is read before it has decided."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.authentication import AuthCredentials, AuthenticationBackend, AuthenticationError, SimpleUser
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ricordo.common.settings import get_settings
from ricordo.server.door import STUDIO, Door

HOST = "127.0.0.1:2024"


class Tokens(AuthenticationBackend):
    """Lets in who has the token."""

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, SimpleUser]:
        if conn.headers.get("authorization") != "Bearer right":
            raise AuthenticationError("no token")
        return AuthCredentials(), SimpleUser("anna")


GUARD = Middleware(AuthenticationMiddleware, backend=Tokens())


class Inside:
    """What is behind the door: notes who came in, and reads what they brought."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.seen.append(scope["path"])
        if scope["type"] == "http":
            await receive()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})


async def knock(door: ASGIApp, path: str, *, kind: str = "http", method: str = "POST", **headers: str) -> Any:
    """Come to the door; returns the status, or for a socket its close code, and how often the body was read."""
    given = {"host": HOST} | {name.replace("_", "-"): value for name, value in headers.items()}
    sent: list[Message] = []
    reads = 0

    async def receive() -> Message:
        nonlocal reads
        reads += 1
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": kind,
        "path": path,
        "root_path": "",
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in given.items()],
        "query_string": b"",
    } | ({"method": method} if kind == "http" else {})
    await door(scope, receive, send)
    first = sent[0] if sent else {}
    return first.get("status") or first.get("code"), reads


@pytest.fixture
def inside() -> Inside:
    return Inside()


@pytest.mark.parametrize("guard", [None, GUARD], ids=["without auth", "with auth"])
@pytest.mark.parametrize(
    "path",
    ["/internal/truncate", "/internal/threads/1/raw", "/deploy", "/deploy/logs", "/profile", "/Internal", "/x"],
)
async def test_a_path_that_the_door_does_not_know_leads_nowhere(
    inside: Inside, guard: Middleware | None, path: str
) -> None:
    for authorization in ("", "Bearer right"):
        assert await knock(Door(inside, guard=guard), path, authorization=authorization) == (404, 0)
    assert inside.seen == []


@pytest.mark.parametrize("path", ["/threads", "/threads/search", "/runs/wait", "/store/items", "/mcp", "/a2a/agent"])
async def test_with_auth_no_body_is_read_without_a_token(inside: Inside, path: str) -> None:
    door = Door(inside, guard=GUARD)
    assert await knock(door, path) == (400, 0)
    assert await knock(door, path, authorization="Bearer wrong") == (400, 0)
    assert inside.seen == []
    assert await knock(door, path, authorization="Bearer right") == (200, 1)


@pytest.mark.parametrize("path", ["/info", "/docs", "/openapi.json", "/metrics"])
async def test_what_the_server_tells_of_itself_needs_a_token_too(inside: Inside, path: str) -> None:
    assert (await knock(Door(inside, guard=GUARD), path, method="GET"))[0] == 400
    assert (await knock(Door(inside, guard=GUARD), "/ok", method="GET"))[0] == 200


async def test_who_has_passed_the_servers_own_authentication_passes_once(inside: Inside) -> None:
    door = Door(inside, guard=GUARD)

    async def authenticated(scope: Scope, receive: Receive, send: Send) -> None:
        await door({**scope, "user": SimpleUser("anna")}, receive, send)

    assert await knock(authenticated, "/threads") == (200, 1)


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://localhost:3000", "https://smith.langchain.com.evil.example", "", "*"],
)
@pytest.mark.parametrize("kind", ["http", "websocket"])
async def test_no_other_page_than_studio_drives_the_server(inside: Inside, kind: str, origin: str) -> None:
    for method in ("POST", "GET", "OPTIONS"):
        refused = 403 if kind == "http" else 1008
        assert await knock(Door(inside), "/threads", kind=kind, method=method, origin=origin) == (refused, 0)
    assert inside.seen == []


@pytest.mark.parametrize("origin", [*STUDIO, f"http://{HOST}"])
async def test_studio_and_the_servers_own_pages_come_in(inside: Inside, origin: str) -> None:
    assert (await knock(Door(inside), "/threads", origin=origin))[0] == 200


async def test_origins_for_all_hold_only_where_a_token_is_asked_for(inside: Inside) -> None:
    assert (await knock(Door(inside, origins=["*"]), "/threads", origin="https://app.example"))[0] == 403
    door = Door(inside, origins=["*"], guard=GUARD)
    assert (await knock(door, "/threads", origin="https://app.example", authorization="Bearer right"))[0] == 200
    door = Door(inside, origins=[], origins_like=r"https://\w+\.example")
    assert (await knock(door, "/threads", origin="https://app.example"))[0] == 200
    assert (await knock(door, "/threads", origin="https://app.example.evil"))[0] == 403


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:2024", "127.0.0.1.evil.example", "localhost.evil", "", "[", "192.168.0.7:2024"],
)
async def test_a_name_that_leads_here_by_dns_alone_is_refused(inside: Inside, host: str) -> None:
    assert await knock(Door(inside), "/threads", host=host) == (403, 0)
    assert await knock(Door(inside), "/threads", host=host, origin=f"http://{host}") == (403, 0)


@pytest.mark.parametrize("host", ["localhost:8123", "LOCALHOST", "127.0.0.1", "[::1]:2024", "10.1.2.3:2024", "home"])
async def test_the_machines_own_names_and_those_that_are_set_are_answered(
    inside: Inside, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_HOSTS", "home, other")
    get_settings.cache_clear()
    assert (await knock(Door(inside, address="http://10.1.2.3:2024"), "/threads", host=host))[0] == 200


@given(path=st.text().map(lambda text: f"/{text}"))
async def test_of_any_path_only_known_ones_lead_on(path: str) -> None:
    inside = Inside()
    first = path.removeprefix("/").split("/")[0]
    known = {"", "ok", "info", "docs", "openapi.json", "metrics", "ui", ".well-known", "assistants", "threads"}
    status, _ = await knock(Door(inside), path)
    assert status == (200 if first in known | {"runs", "store", "mcp", "a2a"} else 404)


async def test_what_this_process_asks_itself_is_not_held_up(inside: Inside) -> None:
    door = Door(inside, guard=GUARD)

    async def loopback(scope: Scope, receive: Receive, send: Send) -> None:
        await door({**scope, "root_path": "/noauth"}, receive, send)

    assert (await knock(loopback, "/threads", host="api"))[0] == 200


@pytest.fixture(autouse=True)
def fresh_settings() -> Iterator[None]:
    os.environ.pop("RICORDO_HOSTS", None)
    yield
    get_settings.cache_clear()
