"""What MCP servers return and how they fail, in words for the model."""

import json
from typing import TYPE_CHECKING

from ricordo.tools.mcp_file import Server

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ContentBlock

CLOSED, TERMINATED = -32000, 32600
"""The `mcp` package's codes for a connection that has ended, and for a session that the server does not know."""

_REFUSED = {401, 403}


def text_of(result: "CallToolResult") -> str:
    """Return a result as text; what is no text is named with its kind and size."""
    text = "\n".join(filter(None, map(_part, result.content)))
    if not text and result.structuredContent is not None:
        text = json.dumps(result.structuredContent, ensure_ascii=False)
    return text or ("The tool failed and gave no reason." if result.isError else "Done; the tool returned nothing.")


def _part(block: "ContentBlock") -> str:
    if block.type == "text":
        return block.text
    if block.type == "resource_link":
        about = f", {block.description}" if block.description else ""
        return f"[resource {block.name}: {block.uri}{about}]"
    if block.type == "resource":
        inner = block.resource
        return _unseen(inner.mimeType or "binary", inner.blob) if hasattr(inner, "blob") else inner.text
    return _unseen(block.mimeType, block.data)


def _unseen(kind: str, base64: str) -> str:
    return f"[{kind}, {len(base64) * 3 // 4096 or 1} kB, cannot be shown as text]"


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
