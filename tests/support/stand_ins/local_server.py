"""A small HTTP server on localhost with the faults that servers have; each test starts its own."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    body: bytes
    content_type: str = "text/plain"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Faults:
    """What goes wrong with every answer, to be set at any time."""

    statuses: list[int] = field(default_factory=list)
    """Refusals, one an answer, the last one for ever; 0 stands for a good answer."""
    delay: float = 0.0
    """Seconds before the first byte."""
    drip: float = 0.0
    """Seconds between two bytes of the body."""
    cut: int | None = None
    """Bytes of the body after which the connection breaks off."""
    instead: Reply | None = None
    """Is sent whatever was asked for."""


class LocalServer:
    """Answers with what `answer` returns, faults permitting; `requests` has all that was asked."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.requests: list[Request] = []
        self._closing = threading.Event()
        self._http = _Quiet(("127.0.0.1", 0), type("Handler", (_Handler,), {"owner": self}))
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def answer(self, request: Request) -> Reply:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def reply_to(self, request: Request) -> Reply:
        self.requests.append(request)
        self._closing.wait(self.faults.delay)
        statuses = self.faults.statuses
        status = (statuses.pop(0) if len(statuses) > 1 else statuses[0]) if statuses else 0
        if status:
            return Reply(b"Come back later.", status=status)
        return self.faults.instead or self.answer(request)

    def pause(self, seconds: float) -> bool:
        """Wait; tell whether the server is being closed."""
        return self._closing.wait(seconds)


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients that hang up are what these tests are about."""


class _Handler(BaseHTTPRequestHandler):
    owner: LocalServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._send(self.owner.reply_to(Request(self.command, unquote(url.path), query, headers, body)))

    do_POST = do_GET  # noqa: N815 - http.server's own names

    def _send(self, reply: Reply) -> None:
        faults = self.owner.faults
        self.send_response(reply.status)
        for name, value in {"content-type": reply.content_type, "content-length": str(len(reply.body))}.items():
            if value:
                self.send_header(name, value)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        body = reply.body if faults.cut is None else reply.body[: faults.cut]
        if faults.drip:
            for at in range(len(body)):
                if self.owner.pause(faults.drip):
                    break
                self.wfile.write(body[at : at + 1])
        else:
            self.wfile.write(body)
        self.close_connection = self.close_connection or faults.cut is not None
