"""From a function or a LangChain tool to what the model sees: one JSON schema, always the same bytes."""

import dataclasses
import enum
import hashlib
import inspect
import itertools
import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from types import FunctionType
from typing import Any, get_args, get_origin, is_typeddict

from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, TypeAdapter

from ricordo.common.errors import ToolError
from ricordo.common.text import clean
from ricordo.stores.toolbox.contained import contained, contained_async, on_own_thread
from ricordo.stores.toolbox.parameters import as_bounds, merged

MAX_DESCRIPTION = 1000
"""Characters of a description, the tool's or a parameter's, that the model sees."""

_WAY_OUT = "Use JSON types, pydantic models, enums or Literal in its type hints."
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})
_OTHER_TYPES = {"dict": "object", "float": "number", "int": "integer", "bool": "boolean", "str": "string"} | {
    "list": "array",
    "tuple": "array",
}
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_name(name: str) -> str:
    """Return a name that providers take.

    Raises:
        ToolError: The name has other characters than letters, digits, `_` and `-`, or more than 64.
    """
    if not _NAME.fullmatch(name):
        raise ToolError(
            f"The tool {name!r} cannot be registered: providers take names of 1 to 64 letters, digits, '_' and '-'. "
            "Give it another name."
        )
    return name


def words_of(name: str) -> str:
    """Say an identifier in words.

    >>> words_of("getUserName_v2")
    'get user name v2'
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-./]+", " ", name)
    return " ".join(spaced.split()).lower()


def description_of(function: Callable[..., Any]) -> str:
    """Return a function's description as `make_tool` takes it from a Google docstring, without making the tool."""
    blocks = (inspect.getdoc(function) or "").split("\n\n")
    told = itertools.takewhile(lambda block: not block.startswith(("Args:", "Returns:", "Example:")), blocks)
    return " ".join(told).strip() or words_of(function.__name__).capitalize() + "."


def make_tool(function: Callable[..., Any], name: str) -> BaseTool:
    """Make a LangChain tool of a function, sync or async, by LangChain's own conversion.

    Parameter descriptions come from a Google docstring where there is one. A function without a docstring is described
    by its name.

    Raises:
        ToolError: The signature has a type of which no JSON schema can be made.
    """
    tool = _converted(function, name)
    if tool.coroutine:
        tool.coroutine = contained_async(tool.coroutine)
    elif tool.func:
        tool.func = contained(tool.func)
        tool.coroutine = on_own_thread(tool.func)
    return tool


def _converted(function: Callable[..., Any], name: str) -> StructuredTool:
    described = bool(inspect.getdoc(function))
    function = _plain_runtime(function)
    options: dict[str, Any] = {"name": name}
    options["coroutine" if inspect.iscoroutinefunction(function) else "func"] = function
    try:
        if not described:
            return StructuredTool.from_function(**options, description=description_of(function))
        try:
            return StructuredTool.from_function(**options, parse_docstring=True)
        except ValueError:  # not a Google docstring, or one that tells of other parameters than there are
            return StructuredTool.from_function(**options, description=inspect.getdoc(function))
    except Exception as error:  # pydantic raises many kinds for a type without a schema, and for a name not found
        raise ToolError(
            f"The tool {name!r} cannot be used: no schema can be made of its signature ({_in_short(error)}). {_WAY_OUT}"
        ) from error


def _plain_runtime(function: Callable[..., Any]) -> Callable[..., Any]:
    """Copy a function so that its `ToolRuntime` parameter says nothing of the context and the state.

    Pydantic would look into them: it refuses a `typing.TypedDict` before Python 3.12, and warns of each context that a
    bare `ToolRuntime` meets.
    """
    if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
        return function
    runtimes = [name for name, hint in function.__annotations__.items() if _is_runtime(hint)]
    if not runtimes:
        return function
    from langgraph.prebuilt import ToolRuntime  # noqa: PLC0415 - a second of imports, and only some tools ask for it

    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__doc__, copy.__module__, copy.__qualname__ = function.__doc__, function.__module__, function.__qualname__
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__annotations__ = function.__annotations__ | dict.fromkeys(runtimes, ToolRuntime[Any, Any])
    return copy


def _is_runtime(hint: Any) -> bool:
    if isinstance(hint, str):
        return re.match(r"(\w+\.)*ToolRuntime\b", hint) is not None
    return getattr(get_origin(hint) or hint, "__name__", "") == "ToolRuntime"


def openai_schema(tool: BaseTool) -> str:
    """Make the function schema that the model sees, as JSON.

    Descriptions are bounded, and what providers refuse in schemas that others wrote is mended.

    Raises:
        ToolError: LangChain cannot convert the tool.
    """
    try:
        schema = convert_to_openai_tool(tool)
        parameters = merged(_mended(schema["function"].get("parameters") or {}))
    except Exception as error:  # a foreign args_schema may fail in any way
        raise ToolError(
            f"The tool {tool.name!r} cannot be used: no schema can be made of it ({_in_short(error)}). {_WAY_OUT}"
        ) from error
    function = schema["function"]
    parameters.pop("$schema", None)
    shape = tool.args_schema
    open_ended = isinstance(shape, type) and getattr(shape, "model_config", {}).get("extra") == "allow"
    if open_ended or "properties" not in parameters:  # whoever names none takes any
        parameters.setdefault("additionalProperties", True)
    function["parameters"] = {"type": "object", "properties": {}} | parameters | {"type": "object"}
    function["description"] = bounded(clean(function.get("description") or ""))
    try:
        return json.dumps(schema, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise ToolError(
            f"The tool {tool.name!r} cannot be used: its schema holds a number that JSON has no form for, such as a "
            "default of NaN. Use None instead."
        ) from error


def _in_short(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".") or type(error).__name__


def bounded(text: str, limit: int = MAX_DESCRIPTION) -> str:
    """Cut a text at a word so that it has at most `limit` characters, and mark the cut by an ellipsis."""
    if len(text) <= limit:
        return text
    head = text[: limit - 2]
    return head[: max(head.rfind(" "), head.rfind("\n"), limit // 2)].rstrip() + " …"


def _mended(schema: Any) -> Any:
    """Mend one level of a JSON schema, and those below it; what cannot be mended is left out."""
    if not isinstance(schema, Mapping):
        return schema if isinstance(schema, bool) else {}
    mended = {}
    for key, value in schema.items():
        mend = _MEND.get(key)
        part = mend(value) if mend else _cleaned(value)
        if part is not None or mend is None:
            mended[clean(str(key))] = part
    if "array" in mended.get("type", ()) and "prefixItems" not in mended:
        mended.setdefault("items", {})
    return as_bounds(mended)


def _named(parts: Any) -> Any:
    return {clean(str(name)): _mended(part) for name, part in parts.items()} if isinstance(parts, Mapping) else None


def _several(parts: Any) -> Any:
    return [_mended(part) for part in parts] or None if isinstance(parts, list) else None


def _options(values: Any) -> Any:
    return _cleaned(values) or None if isinstance(values, list) else None


def _required(names: Any) -> Any:
    known = [clean(name) for name in names if isinstance(name, str)] if isinstance(names, list) else []
    return list(dict.fromkeys(known)) or None


def _types(value: Any) -> Any:
    given = [kind for kind in (value if isinstance(value, list) else [value]) if isinstance(kind, str)]
    known = [kind for kind in (_OTHER_TYPES.get(kind, kind) for kind in given) if kind in _TYPES]
    return (known if isinstance(value, list) else known[0]) if known else None


_MEND: dict[str, Callable[[Any], Any]] = {
    "type": _types,
    "enum": _options,
    "required": _required,
    **dict.fromkeys(["items", "additionalProperties"], _mended),
    **dict.fromkeys(["properties", "$defs", "definitions"], _named),
    **dict.fromkeys(["anyOf", "oneOf", "allOf", "prefixItems"], _several),
}
"""What mends the value of a key of a schema, or gives None if it must go."""


def _cleaned(value: Any) -> Any:
    """Clean and bound the texts in a JSON value."""
    if isinstance(value, str):
        return bounded(clean(value))
    if isinstance(value, Mapping):
        return {clean(str(key)): _cleaned(part) for key, part in value.items()}
    return [_cleaned(part) for part in value] if isinstance(value, list) else value


def fingerprint(source: Callable[..., Any] | BaseTool, name: str, *more: object) -> bytes:
    """Hash all that the schema and the search text of a tool come from, without making them: 32 bytes.

    A schema costs milliseconds of a function, so that ten thousand unchanged tools would hold up every start.
    """
    if isinstance(source, BaseTool):
        schema = source.args_schema
        shape = _shape_of(schema) if isinstance(schema, type) else repr(schema)
        parts = (name, source.description, shape, *more)
    else:
        target = inspect.unwrap(source)
        parts = (name, target.__doc__, *_signature(target), *more)
    text = _ADDRESS.sub("", "\x1f".join(map(str, parts)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _signature(function: Callable[..., Any]) -> tuple[object, ...]:
    annotations = getattr(function, "__annotations__", {})
    names = getattr(function, "__globals__", {})
    hints = [(name, _shape_of(hint, names)) for name, hint in annotations.items() if name != "return"]
    code = getattr(function, "__code__", None)
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code else inspect.signature(function)
    return parameters, hints, getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None)


def _shape_of(hint: Any, names: Mapping[str, Any] | None = None) -> str:
    """Tell a type hint with the inner life of the classes that it names."""
    if _is_runtime(hint):
        return "ToolRuntime"
    if isinstance(hint, str):
        found = [(names or {}).get(word) for word in _WORD.findall(hint)]
        return hint + "".join(_class_shape(part) for part in found if isinstance(part, type))
    if isinstance(hint, type) and not get_args(hint):
        return _class_shape(hint)
    return repr(hint) + "".join(_shape_of(part, names) for part in get_args(hint) if not isinstance(part, str))


@cache
def _class_shape(kind: type) -> str:
    if kind.__module__ == "builtins":
        return kind.__name__
    if issubclass(kind, BaseModel | enum.Enum) or dataclasses.is_dataclass(kind) or is_typeddict(kind):
        try:
            return json.dumps(TypeAdapter(kind).json_schema())
        except Exception:  # noqa: BLE001 - a part without a schema, or injected; the tool's own conversion will tell
            return f"{kind.__qualname__}{getattr(kind, 'model_fields', kind.__annotations__)}"
    return kind.__qualname__
