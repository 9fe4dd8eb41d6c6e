"""What MCP servers return and how they fail, in words for the model."""

import json
import re
from typing import Any

from ricordo.stores.toolbox.schema import bounded
from ricordo.tools.mcp_file import Server
from ricordo.tools.mcp_wire import Answer

CLOSED, TERMINATED = -32000, 32600
"""The `mcp` package's codes for a connection that has ended, and for a session that the server does not know."""

_REFUSED = {401, 403}
_KINDS = {f"content of the kind {kind!r}" for kind in ("text", "image", "audio", "resource", "resource_link")}
_SAID = 200
"""Characters that are told of what is wrong with an answer."""


def failed(answer: Answer) -> bool:
    """Tell whether the tool says that it failed."""
    return answer.isError is True or str(answer.isError).lower() == "true"


def text_of(answer: Answer, schema: Any = None) -> str:
    """Return an answer as text; what is no text is named with its kind and size.

    Args:
        answer: Of whatever form; the call took effect all the same, and what is wrong with the form is told.
        schema: Of the structured content, where the server declares one.
    """
    content = answer.content
    blocks = content if isinstance(content, list) else [] if content is None else [content]
    parts = [text for text in map(_part, blocks) if text]
    if answer.structuredContent is not None and not _told(parts, answer.structuredContent):
        parts.append(_json(answer.structuredContent))
    if failed(answer):
        return "\n".join(parts) or "The tool failed and gave no reason."
    if wrong := _wrong(answer, schema):
        parts.append(f"[The call took effect; its answer is not of the form that it should have: {wrong}.]")
    return "\n".join(parts) or "Done; the tool returned nothing."


def _part(block: Any) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return _json(block)
    if isinstance(block.get("text"), str):
        return str(block["text"])
    if block.get("type") == "resource_link":
        about = f", {block['description']}" if block.get("description") else ""
        return f"[resource {block.get('name', '')}: {block.get('uri', '')}{about}]"
    if block.get("type") == "resource" and isinstance(block.get("resource"), dict):
        return _part(block["resource"])
    data = next((block[key] for key in ("data", "blob") if isinstance(block.get(key), str)), None)
    return _json(block) if data is None else _unseen(str(block.get("mimeType") or "binary"), data)


def _unseen(kind: str, base64: str) -> str:
    return f"[{kind}, {len(base64) * 3 // 4096 or 1} kB, cannot be shown as text]"


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "[nested too deep to be shown]"


def _told(parts: list[str], structured: Any) -> bool:
    """Tell whether the text is the structured content once more, as the protocol asks servers to send it."""
    wanted = [structured]
    if isinstance(structured, dict) and structured.keys() == {"result"}:  # how what is no object is wrapped
        wanted.append(structured["result"])
    read = [_read(part) for part in parts]
    told: list[Any] = [parts, read, *(pair[0] for pair in (parts, read) if len(pair) == 1), "\n".join(parts) or None]
    try:
        return any(one == other for one in wanted for other in told)
    except RecursionError:
        return False


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _wrong(answer: Answer, schema: Any) -> str:
    """Say what is wrong with an answer's form; nothing where it is as declared, or the declaration cannot be used."""
    if not isinstance(answer.content, list):
        return "it has no list of contents"
    if strange := sorted({_kind(block) for block in answer.content} - _KINDS):
        return f"it holds {', '.join(strange)}"
    return _other_than(schema, answer.structuredContent) if isinstance(schema, dict) else ""


def _other_than(schema: dict[str, Any], structured: Any) -> str:
    if structured is None:
        return "the structured content is missing"
    # It has no type hints. Few have MCP servers.
    from jsonschema import SchemaError, ValidationError, validate  # type: ignore[import-untyped]  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415 - the same
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - the same

    registry: Any = Registry()  # so that nothing is fetched
    try:
        validate(structured, schema, registry=registry)
    except ValidationError as error:
        return f"at {error.json_path}, {bounded(error.message, _SAID)}"
    except (SchemaError, Unresolvable, RecursionError, re.error):
        return ""
    return ""


def _kind(block: Any) -> str:
    return f"content of the kind {block.get('type')!r}" if isinstance(block, dict) else "content without a kind"


def leaf_of(error: BaseException) -> BaseException:
    """Return the first error of a group, or what it was raised from."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def code_of(error: BaseException) -> int | None:
    """Return the code of an MCP error; None if it is none."""
    code = getattr(getattr(error, "error", None), "code", None)
    return code if isinstance(code, int) else None


def reason_of(error: BaseException, server: Server) -> str:
    """Say why a server cannot be used; secrets may be in it."""
    from httpx import HTTPStatusError, TransportError  # noqa: PLC0415 - few have MCP servers

    error = leaf_of(error)
    if isinstance(error, HTTPStatusError):
        status = error.response.status_code
        return f"{server.place} answers HTTP {status}{', so check its headers' if status in _REFUSED else ''}"
    if isinstance(error, TransportError):
        return f"{server.place} cannot be reached"
    if isinstance(error, OSError):
        missing = isinstance(error, FileNotFoundError) and server.cwd is None
        said = error.strerror or type(error).__name__
        return f"there is no program {server.place}" if missing else f"{server.place}: {said}"
    if code_of(error) == TERMINATED:
        return f"{server.place} answers HTTP 404, so check its url"
    if code_of(error) == CLOSED:
        return "the connection ended" if server.command is None else f"the program {server.place} ended"
    return said_by(error)


def said_by(error: BaseException) -> str:
    """Return an error's own words."""
    return str(error) if code_of(error) is not None else f"{type(error).__name__}: {error}"
