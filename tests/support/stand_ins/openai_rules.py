"""What OpenAI's chat API refuses; a request that breaks one of these rules is a fault of ours."""

import json
import re
from collections.abc import Mapping
from typing import Any

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ROLES = {"system", "developer", "user", "assistant", "tool"}
_NOT_FOR_REASONERS = ("temperature", "top_p", "max_tokens", "stop", "presence_penalty", "frequency_penalty")
_MOST_TOOLS = 128


class Refused(Exception):  # noqa: N818 - it is the server's word, not a failure of the test
    """The rule that was broken."""


def check(body: Mapping[str, Any]) -> None:
    """Check a chat request.

    Raises:
        Refused: A rule is broken; the message says which.
    """
    _need(isinstance(body.get("model"), str) and body["model"], "you must provide a model parameter")
    _check_options(body)
    _check_tools(body)
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refused("'messages' must be a list that is not empty")
    for number, message in enumerate(messages):
        _check_message(f"messages.[{number}]", message)
    _check_pairs(messages)
    for text in _strings(body):
        _need("\0" not in text, "a text holds a NUL character")
        _need(not re.search("[\ud800-\udfff]", text), "a text holds a lone surrogate")


def _need(holds: object, otherwise: str) -> None:
    if not holds:
        raise Refused(otherwise)


def _check_options(body: Mapping[str, Any]) -> None:
    if re.match(r"(gpt-5|o\d)", body["model"]):
        for name in _NOT_FOR_REASONERS:
            _need(body.get(name) is None, f"unsupported parameter: '{name}' is not supported with this model")
    _need(not body.get("stream_options") or body.get("stream"), "'stream_options' is only allowed with 'stream'")
    _need("tool_choice" not in body or body.get("tools"), "'tool_choice' is only allowed when 'tools' are specified")
    schema = (body.get("response_format") or {}).get("json_schema")
    if schema:
        _need(_NAME.fullmatch(schema.get("name", "")), "'response_format.json_schema.name' is no valid name")
        if schema.get("strict"):
            _check_strict("response_format", schema["schema"])


def _check_strict(where: str, schema: Any) -> None:
    """A strict schema names every property as required and allows no other."""
    if isinstance(schema, list):
        for part in schema:
            _check_strict(where, part)
    if not isinstance(schema, dict):
        return
    if isinstance(properties := schema.get("properties"), dict):
        _need(schema.get("additionalProperties") is False, f"{where}: 'additionalProperties' must be false")
        _need(set(schema.get("required", [])) == set(properties), f"{where}: 'required' must name every property")
    for part in schema.values():
        _check_strict(where, part)


def _check_tools(body: Mapping[str, Any]) -> None:
    tools = body.get("tools")
    if tools is None:
        return
    _need(isinstance(tools, list) and 0 < len(tools) <= _MOST_TOOLS, f"'tools' must be 1 to {_MOST_TOOLS} tools")
    names = set()
    for number, tool in enumerate(tools):
        function = tool.get("function", {})
        name, parameters = function.get("name", ""), function.get("parameters", {"type": "object"})
        _need(tool.get("type") == "function" and _NAME.fullmatch(name), f"'tools[{number}].function.name' is invalid")
        _need(name not in names, f"'tools[{number}].function.name' is there twice: {name}")
        _need(parameters.get("type") == "object", f"'tools[{number}].function.parameters' must be of type object")
        _need(len(function.get("description", "")) <= 1024, f"'tools[{number}].function.description' is too long")
        names.add(name)


def _check_message(where: str, message: Any) -> None:
    _need(isinstance(message, dict) and message.get("role") in _ROLES, f"{where}: no valid role")
    content, calls = message.get("content"), message.get("tool_calls")
    _need(content is None or isinstance(content, (str, list)), f"{where}: content must be a text or a list of parts")
    if message["role"] == "assistant":
        _need(content is not None or calls, f"{where}: an assistant message needs content or tool calls")
        _need(calls is None or calls, f"{where}: tool_calls must not be empty")
    else:
        _need(content is not None, f"{where}: content must not be null")
        _need(calls is None, f"{where}: only assistant messages call tools")
    for tool_call in calls or []:
        function = tool_call.get("function", {})
        _need(isinstance(tool_call.get("id"), str) and tool_call["id"], f"{where}: a tool call has no id")
        _need(_NAME.fullmatch(function.get("name") or ""), f"{where}: a tool call has no valid name")
        _need(isinstance(function.get("arguments"), str), f"{where}: a tool call's arguments are no text")


def _check_pairs(messages: list[dict[str, Any]]) -> None:
    """Every call is followed by its result before anything else, and there is no result without its call."""
    waiting: set[str] = set()
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            given = message.get("tool_call_id")
            _need(given in waiting, f"messages.[{number}]: a tool message answers no preceding tool call ({given})")
            waiting.discard(str(given))
            continue
        _need(not waiting, f"messages.[{number}]: tool calls have no result: {sorted(waiting)}")
        ids = [tool_call["id"] for tool_call in message.get("tool_calls") or []]
        _need(len(ids) == len(set(ids)), f"messages.[{number}]: two tool calls have one id")
        waiting = set(ids)
    _need(not waiting, f"the last tool calls have no result: {sorted(waiting)}")


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in _strings(part)]
    return [text for part in value for text in _strings(part)] if isinstance(value, list) else []


def parse(raw: bytes) -> dict[str, Any]:
    """Read a body.

    Raises:
        Refused: It is no JSON object in UTF-8.
    """
    try:
        body = json.loads(raw.decode())
    except ValueError:
        raise Refused("We could not parse the JSON body of your request.") from None
    if not isinstance(body, dict):
        raise Refused("The body must be a JSON object.")
    return body
