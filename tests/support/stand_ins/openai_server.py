"""A model server on localhost that speaks OpenAI's protocol: it plays a script and refuses what OpenAI refuses.

```python
with OpenAIServer() as openai:
    openai.play(call("get_current_time"), say("It is late."))
    ...  # with openai.settings() in the environment
    assert openai.main[0].question == "What time is it?"
```
"""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import numpy as np

from tests.support.stand_ins.openai_rules import Refused, check, parse
from tests.support.stand_ins.openai_script import ChatRequest, Reply, Script, plausible, say, text_of

KEY = "sk-of-the-tests-0123456789"
_PIECE = 8  # characters of a text in one piece of a stream


class OpenAIServer:
    """Serves `/v1/chat/completions`, `/v1/embeddings` and `/v1/models`."""

    def __init__(self, *, limit: int | None = None, models: tuple[str, ...] = (), dims: int = 64) -> None:
        """Prepare a server.

        Args:
            limit: Tokens of a prompt above which it is refused as too long; None: any length.
            models: Those that exist; none given: every name does.
            dims: Width of the embeddings.
        """
        self.limit, self.models, self.dims = limit, models, dims
        self.requests: list[ChatRequest] = []
        self.violations: list[str] = []
        """Rules that requests have broken; a test that does not expect any asserts that there are none."""
        self.refuses: Callable[[dict[str, Any]], str | None] = lambda _: None
        """Another server's rule: what it says of a request that it refuses."""
        self._main: list[Reply] | Script = []
        self._internal: Script = plausible
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self._http = _Quiet(("127.0.0.1", 0), type("Handler", (_Handler,), {"owner": self}))
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def settings(self) -> dict[str, str]:
        """The environment variables that lead here."""
        return {"OPENAI_BASE_URL": self.url, "OPENAI_API_KEY": KEY}

    def play(self, *replies: Reply) -> None:
        """Set the replies to the agent's own calls, used up in order; after them it says that it is done."""
        with self._lock:
            self._main = list(replies)

    def play_by(self, script: Script, internal: Script = plausible) -> None:
        """Set what replies to the agent's own calls, and to internal ones (summaries, extraction)."""
        with self._lock:
            self._main, self._internal = script, internal

    @property
    def main(self) -> list[ChatRequest]:
        """The agent's own calls."""
        return [request for request in self.requests if request.is_main]

    @property
    def internal(self) -> list[ChatRequest]:
        """Summaries, extraction, and the like."""
        return [request for request in self.requests if not request.is_main]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, body: dict[str, Any]) -> tuple[ChatRequest, Reply]:
        """Record a chat request and choose the reply to it.

        Raises:
            Refused: It breaks a rule.
        """
        check(body)
        with self._lock:
            request = ChatRequest(len(self.requests), body, _count(body))
            self.requests.append(request)
            if said := self.refuses(body):
                return request, Reply(status=400, error=said)
            if self.models and body["model"] not in self.models:
                missing = f"The model `{body['model']}` does not exist or you do not have access to it."
                return request, Reply(status=404, error=missing, code="model_not_found")
            if self.limit is not None and request.tokens > self.limit:
                message = (
                    f"This model's maximum context length is {self.limit} tokens. However, your messages resulted in "
                    f"{request.tokens} tokens. Please reduce the length of the messages."
                )
                return request, Reply(status=400, error=message, code="context_length_exceeded")
            script = self._main if request.is_main else self._internal
            if isinstance(script, list):
                return request, script.pop(0) if script else say("That is done.")
        return request, script(request)

    def embed(self, text: Any) -> list[float]:
        """Return a bag of hashed words as a unit vector: like texts are near each other."""
        vector = np.zeros(self.dims)
        for word in str(text).casefold().split():
            place = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest())
            vector[place % self.dims] += 1.0
        norm = float(np.linalg.norm(vector)) or 1.0
        return [float(value) for value in vector / norm]


def _count(body: dict[str, Any]) -> int:
    import bpe_openai  # noqa: PLC0415 - its tables are slow to load

    texts = [text_of(message) + json.dumps(message.get("tool_calls") or "") for message in body["messages"]]
    texts.append(json.dumps(body.get("tools") or ""))
    encode = bpe_openai.get_encoding("o200k_base").encode_ordinary
    return sum(len(encode(text[at : at + 20_000])) for text in texts for at in range(0, len(text), 20_000))


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients that hang up or are killed are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    owner: OpenAIServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if not self.path.endswith("/models"):
            return self._refuse(404, f"Invalid URL (GET {self.path})")
        names = self.owner.models or ("gpt-5-mini",)
        return self._send({"object": "list", "data": [{"id": name, "object": "model"} for name in names]})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("authorization") != f"Bearer {KEY}":
            return self._refuse(401, "Incorrect API key provided.", "invalid_api_key")
        try:
            body = parse(raw)
            if self.path.endswith("/embeddings"):
                return self._embeddings(body)
            if self.path.endswith("/chat/completions"):
                return self._chat(*self.owner.answer(body))
        except Refused as rule:
            self.owner.violations.append(str(rule))
            return self._refuse(400, str(rule))
        return self._refuse(404, f"Invalid URL (POST {self.path})")

    def _embeddings(self, body: dict[str, Any]) -> None:
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        if not texts or not all(texts):
            raise Refused("'input' cannot be empty")
        data = [{"object": "embedding", "index": i, "embedding": self.owner.embed(t)} for i, t in enumerate(texts)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        self._send({"object": "list", "data": data, "model": body["model"], "usage": usage})

    def _chat(self, request: ChatRequest, reply: Reply) -> None:
        self.owner.closing.wait(reply.delay)
        if reply.body is not None:
            return self._send_raw(reply.body.encode(), reply.status, dict(reply.headers))
        if reply.status != 200:
            return self._refuse(reply.status, reply.error, reply.code, dict(reply.headers), **reply.about)
        head = {"id": f"chatcmpl-{request.number}", "created": int(time.time()), "model": request.body["model"]}
        if request.streams:
            return self._stream(request, reply, head | {"object": "chat.completion.chunk"})
        message: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if reply.calls:
            message["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                for c in reply.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
        body = {"object": "chat.completion", "choices": [choice], "usage": _usage(request, reply)}
        return self._send(head | body, cut=reply.cut)

    def _stream(self, request: ChatRequest, reply: Reply, head: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        usage = bool((request.body.get("stream_options") or {}).get("include_usage"))
        pieces: list[dict[str, Any]] = [
            {"choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in _deltas(reply)
        ]
        pieces.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish_reason}]})
        if reply.repeats_usage:
            pieces = [piece | {"usage": _usage(request, reply)} for piece in pieces]
        elif usage:
            pieces.append({"choices": [], "usage": _usage(request, reply)})
        if reply.event is not None:
            pieces[reply.cut or 0 :] = [{"error": dict(reply.event)}]
        for number, piece in enumerate(pieces):
            if (number == reply.cut and reply.event is None) or (
                number and reply.drip and self.owner.closing.wait(reply.drip)
            ):
                self.close_connection = True
                return
            self._chunk(f"data: {json.dumps(piece if 'error' in piece else head | piece)}\n\n")
        self._chunk("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, text: str) -> None:
        raw = text.encode()
        self.wfile.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
        self.wfile.flush()

    def _refuse(
        self, status: int, message: str, code: str | None = None, headers: dict[str, str] | None = None, **about: Any
    ) -> None:
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": code, **about}
        self._send({"error": error}, status, headers or {})

    def _send(
        self, body: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None, cut: int | None = None
    ) -> None:
        self._send_raw(json.dumps(body).encode(), status, headers, cut)

    def _send_raw(
        self, raw: bytes, status: int = 200, headers: dict[str, str] | None = None, cut: int | None = None
    ) -> None:
        self.send_response(status)
        known = {"content-type": "application/json", "content-length": str(len(raw))}
        for name, value in (known | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw[:cut])
        self.close_connection = self.close_connection or cut is not None


def _deltas(reply: Reply) -> Iterator[dict[str, Any]]:
    """Take a reply to pieces, as a stream brings them: a call's name first, its arguments bit by bit."""
    if reply.deltas:
        yield from map(dict, reply.deltas)
        return
    yield {"role": "assistant", "content": None if reply.calls and not reply.text else ""}
    for at in range(0, len(reply.text), _PIECE):
        yield {"content": reply.text[at : at + _PIECE]}
    for index, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}
        for at in range(0, len(call.arguments), _PIECE):
            yield {"tool_calls": [{"index": index, "function": {"arguments": call.arguments[at : at + _PIECE]}}]}


def _usage(request: ChatRequest, reply: Reply) -> dict[str, int]:
    said = len(reply.text + "".join(c.arguments for c in reply.calls)) // 4 + 1
    prompt, completion = reply.usage or (request.tokens, said)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
