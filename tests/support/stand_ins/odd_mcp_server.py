"""An MCP server over stdio that answers in the ways that servers do and should not; a tool for each."""

import json
import sys
from typing import Any

BIRDS = {"birds": [{"name": "heron"}, {"name": "smew"}, {"name": "knot"}]}
TEXT = {"type": "text", "text": "sent"}
RESULTS: dict[str, Any] = {
    "declared_and_missing": {"content": [TEXT]},
    "declared_and_other": {"content": [TEXT], "structuredContent": {"count": "many"}},
    "unknown_kind": {"content": [TEXT, {"type": "hologram", "size": 7}]},
    "error_is_null": {"content": [TEXT], "isError": None},
    "content_is_missing": {"structuredContent": {"count": 1}},
    "content_is_text": {"content": "sent"},
    "odd_meta": {"content": [TEXT], "_meta": "none"},
    "list_birds": {"content": [{"type": "text", "text": "list_birds returned 3 item(s)."}], "structuredContent": BIRDS},
    "result_is_null": None,
}
RAW = {
    "half_a_pair": '{"content": [{"type": "text", "text": "sent \\ud83d by night"}]}',
    "deep": '{"content": [{"type": "text", "text": "sent"}], "structuredContent": {"a": %s}}' % ("[" * 400 + "]" * 400),
    "deeper": '{"content": %s}' % ("[" * 90_000 + "]" * 90_000),
    "no_json": '{"content": nothing}',
    "no_utf8": b'{"content": [{"type": "text", "text": "sent \xff by post"}]}'.decode("latin-1"),
}
COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
ODD_TOOLS = [
    None,
    {"name": 7},
    {"description": "nameless"},
    {"name": "schemaless"},
    {"name": "odd_about", "description": []},
]


def tools() -> list[Any]:
    listed: list[Any] = list(ODD_TOOLS)
    for name in [*RESULTS, *RAW, "echo"]:
        tool: dict[str, Any] = {"name": name, "inputSchema": {"type": "object", "properties": {"said": {}}}}
        if name.startswith("declared"):
            tool["outputSchema"] = COUNT
        listed.append(tool)
    return listed


def answer(asked: dict[str, Any]) -> str:
    method, params = asked["method"], asked.get("params") or {}
    if method == "initialize":
        info = {"name": "odd", "version": "1"}
        result: Any = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        result = {"tools": tools(), "nextCursor": "the same again"}
    elif method == "tools/call" and params["name"] in RAW:
        return RAW[params["name"]]
    elif method == "tools/call":
        said = {"content": [{"type": "text", "text": json.dumps(params.get("arguments"))}]}
        result = RESULTS.get(params["name"], said)
    else:
        result = {}
    return json.dumps(result)


if __name__ == "__main__":
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "id" in request:
            message = f'{{"jsonrpc": "2.0", "id": {request["id"]}, "result": {answer(request)}}}\n'
            sys.stdout.buffer.write(message.encode("latin-1"))
            sys.stdout.buffer.flush()
