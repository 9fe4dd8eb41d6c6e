"""What the OpenAI server of the tests is asked, and what it replies."""

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

_HEADINGS = "Conversation|Knowledge Base|Workflow|Entity|Summary|User"
_WORDS = 24


@dataclass(frozen=True)
class Call:
    """A tool call; arguments that are a string go out as they are, broken or not."""

    name: str
    args: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = field(default_factory=lambda: f"call_{uuid4().hex[:24]}")

    @property
    def arguments(self) -> str:
        return self.args if isinstance(self.args, str) else json.dumps(self.args)


@dataclass(frozen=True)
class Reply:
    """One reply of the model, and what goes wrong with it."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    deltas: tuple[Mapping[str, Any], ...] = ()
    """Pieces of the stream as they are, in place of text and calls."""
    status: int = 200
    error: str = ""
    code: str | None = None
    """OpenAI's name of the error."""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds before the first byte."""
    drip: float = 0.0
    """Seconds between two pieces of a stream."""
    cut: int | None = None
    """Pieces of the stream (or bytes of a whole body) after which the connection breaks off."""
    usage: tuple[int, int] | None = None
    """Prompt and completion tokens that are reported; None: as counted."""

    ends: str | None = ""
    """The finish reason; empty: as it is meant; None: none is sent."""
    event: Mapping[str, Any] | None = None
    """An error that takes the place of the piece at `cut` of the stream, or of its first, and ends it."""
    repeats_usage: bool = False
    """The use is reported in every piece of the stream."""
    body: str | None = None
    """What is sent in place of all else, as a web page or JSON."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """More in the body of an error."""

    @property
    def finish_reason(self) -> str | None:
        return ("tool_calls" if self.calls else "stop") if self.ends == "" else self.ends


def say(text: str, **faults: Any) -> Reply:
    """An answer."""
    return Reply(text, **faults)


def call(name: str, args: Mapping[str, Any] | str | None = None, **faults: Any) -> Reply:
    """One tool call."""
    return Reply(calls=(Call(name, args if args is not None else {}),), **faults)


def calls(*wanted: Call, text: str = "", **faults: Any) -> Reply:
    """Several tool calls at once."""
    return Reply(text, calls=wanted, **faults)


def rate_limited(retry_after: float = 0.0) -> Reply:
    """429 as OpenAI gives it."""
    headers = {"retry-after": f"{retry_after:g}", "retry-after-ms": f"{retry_after * 1000:.0f}"}
    return Reply(status=429, error="Rate limit reached for requests.", code="rate_limit_exceeded", headers=headers)


def broken_server(status: int = 500) -> Reply:
    """A failure on the provider's side; the client is told to come back at once."""
    return Reply(status=status, error="The server had an error.", headers={"retry-after-ms": "1"})


def too_long(limit: int = 8_000, sent: int = 9_000) -> Reply:
    """The refusal of a prompt that does not fit."""
    message = (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in {sent} tokens."
    )
    return Reply(status=400, error=message, code="context_length_exceeded")


class ChatRequest:
    """A chat request, with what tests want to know of it."""

    def __init__(self, number: int, body: dict[str, Any], tokens: int) -> None:
        self.number = number
        self.body = body
        self.tokens = tokens
        self.at = time.monotonic()

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body["messages"])

    @property
    def streams(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def tools(self) -> list[str]:
        """Names of the offered tools, in their order."""
        return [tool["function"]["name"] for tool in self.body.get("tools") or []]

    @property
    def window(self) -> str:
        """The agent's window: the latest user message that begins with the question; empty for an internal call."""
        users = [text_of(m) for m in self.messages if m["role"] == "user"]
        return next((text for text in reversed(users) if text.startswith("# Question")), "")

    @property
    def is_main(self) -> bool:
        """Whether it is the agent's own call, and no summary or extraction."""
        return bool(self.window)

    @property
    def question(self) -> str:
        return re.split(r"(?m)^## ", self.window, maxsplit=1)[0].removeprefix("# Question\n").strip()

    def segment(self, name: str) -> str:
        """The text of a segment, such as "Knowledge Base"."""
        found = re.search(rf"(?ms)^## {name} Memory\n(.*?)(?=^## (?:{_HEADINGS}) Memory\n|\Z)", self.window)
        return found[1].strip() if found else ""

    @property
    def results(self) -> list[str]:
        """What the tools of this turn have returned so far."""
        return [text_of(m) for m in self.messages if m["role"] == "tool"]


Script = Callable[[ChatRequest], Reply]


def text_of(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content or "")


def plausible(request: ChatRequest) -> Reply:
    """The reply to a call that no test cares about: what was asked for, in the words of what was sent."""
    source = "\n".join(text_of(m) for m in request.messages if m["role"] == "user")
    data = [line[2:] for line in source.splitlines() if line.startswith("> ")]
    words = " ".join(" ".join(data or [source]).split()[:_WORDS])
    schema = (request.body.get("response_format") or {}).get("json_schema", {}).get("schema")
    if schema:
        return Reply(json.dumps(instance(schema, words)))
    choice = request.body.get("tool_choice")
    if choice == "required" or isinstance(choice, dict):
        functions = {tool["function"]["name"]: tool["function"] for tool in request.body["tools"]}
        name = choice["function"]["name"] if isinstance(choice, dict) else next(iter(functions))
        return Reply(calls=(Call(name, instance(functions[name].get("parameters", {}), words)),))
    return Reply(words or "Nothing to say.")


def instance(schema: Mapping[str, Any], words: str, root: Mapping[str, Any] | None = None) -> Any:
    """The simplest value that a JSON schema allows, with the given words where a text is wanted."""
    root = schema if root is None else root
    for several in ("anyOf", "oneOf", "allOf"):
        schema = schema.get(several, [schema])[0]
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return instance(root["$defs"][name], words, root)
    fixed = [schema.get("const"), schema.get("default"), *schema.get("enum", [])]
    if (value := next((one for one in fixed if one is not None), None)) is not None:
        return value
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if kind == "object":
        return {name: instance(part, words, root) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [instance(schema["items"], words, root)] if schema.get("minItems") else []
    return {"integer": 1, "number": 1.0, "boolean": False, "null": None}.get(str(kind), words)
