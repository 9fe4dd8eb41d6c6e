"""JSON schemas of a tool's parameters: one plain object, today's bounds, and which arguments it does not know."""

from collections.abc import Iterator, Mapping
from typing import Any

_SEVERAL = ("allOf", "anyOf", "oneOf")
_NOT_AT_THE_TOP = frozenset({*_SEVERAL, "not", "enum", "const", "if", "then", "else", "dependentSchemas"})
"""What providers refuse beside the properties of a function's parameters."""
_SHOWN = 5
"""Unknown arguments that are told."""


def as_bounds(schema: dict[str, Any]) -> dict[str, Any]:
    """Put the bounds of JSON Schema's draft 4, where "exclusive" is true or false, as later drafts have them.

    >>> as_bounds({"minimum": 0, "exclusiveMinimum": True})
    {'exclusiveMinimum': 0}
    """
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and bound in schema:
            schema[exclusive] = schema.pop(bound)
    return schema


def merged(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Make one object of parameters that are put together by `allOf`, `anyOf` or `oneOf`.

    It has the properties of all; what one of several alternatives requires is said in its description, and required
    only if all of them require it.
    """
    plain = {key: value for key, value in schema.items() if key not in _NOT_AT_THE_TOP}
    given = dict(plain.get("properties") or {})
    required = list(plain.get("required") or [])
    said = [plain["description"]] if isinstance(plain.get("description"), str) else []
    for key in _SEVERAL:
        branches = [merged(branch) for branch in schema.get(key) or () if isinstance(branch, Mapping)]
        found: dict[str, Any] = {}
        for branch in branches:
            for name, part in (branch.get("properties") or {}).items():
                found[name] = part if found.get(name, part) == part else _either(found[name], part, key)
            if branch.get("additionalProperties"):
                plain.setdefault("additionalProperties", branch["additionalProperties"])
        given = found | {name: part for name, part in given.items() if part or name not in found}
        needs = [list(branch.get("required") or []) for branch in branches]
        required += [name for need in needs for name in need if key == "allOf" or all(name in other for other in needs)]
        sets = list(dict.fromkeys(" and ".join(need) for need in needs if need))
        if key != "allOf" and len(sets) > 1:
            said.append(f"Give {', or '.join(sets)}.")
    order = [*(plain.get("properties") or {}), *given]
    plain |= {"properties": {name: given[name] for name in dict.fromkeys(order)}} if given else {}
    plain |= {"required": list(dict.fromkeys(required))} if required else {}
    plain |= {"description": " ".join(said)} if said else {}
    return plain


def _either(one: Any, other: Any, key: str) -> Any:
    if key == "allOf" and isinstance(one, Mapping) and isinstance(other, Mapping):
        return {**one, **other}
    known = one["anyOf"] if isinstance(one, Mapping) and one.keys() == {"anyOf"} else [one]
    return {"anyOf": [*known, other]}


def unknown_arguments(schema: Mapping[str, Any], given: Any) -> str:
    """Say which arguments the parameters do not know, with the names that they do know; nothing where all are known.

    Args:
        schema: Of the parameters. An object that names its properties takes no others, unless it says that it does.
        given: What the tool is called with.
    """
    found = list(dict(_unknown(schema, given, "")).items())
    told = ", ".join(f"'{name}'" for name, _ in found[:_SHOWN])
    if not found:
        return ""
    within, known = found[0][0].rpartition(".")[0], ", ".join(found[0][1])
    takes = f"{within or 'It'} takes {known}" if known else f"{within or 'It'} takes none"
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"there is no argument {told}{more}. {takes}"


def _unknown(schema: Any, given: Any, place: str) -> Iterator[tuple[str, list[str]]]:
    if not isinstance(schema, Mapping):
        return
    if isinstance(given, list):
        for each in given:
            yield from _unknown(schema.get("items"), each, place)
        return
    known = schema.get("properties")
    if not isinstance(given, Mapping) or not isinstance(known, Mapping):
        return
    closed = not (schema.get("additionalProperties") or schema.keys() & {"patternProperties", *_SEVERAL})
    for name, value in given.items():
        if name in known:
            yield from _unknown(known[name], value, f"{place}{name}.")
        elif closed:
            yield f"{place}{name}", list(known)
