"""Schemas of parameters that others wrote, and arguments that they do not know."""

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.tools import StructuredTool
from pydantic import BaseModel, ConfigDict

from ricordo.common.errors import ToolError
from ricordo.stores.toolbox.box import Toolbox
from ricordo.stores.toolbox.parameters import as_bounds, merged, unknown_arguments
from tests.support.toolboxes import SETTINGS

TEXT, NUMBER = {"type": "string"}, {"type": "number"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["object", "array", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "required", "anyOf", "oneOf", "allOf", "items", "minimum", "a"]),
            inner,
            max_size=4,
        )
    ),
)


def foreign(schema: dict[str, Any], name: str = "foreign") -> StructuredTool:
    async def back(**given: Any) -> str:
        return json.dumps(given)

    return StructuredTool(name=name, description="Somebody else's.", args_schema=schema, coroutine=back)


def seen(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that the model sees of a foreign schema."""
    box = Toolbox()
    box.register_tool(foreign(schema))
    parameters: dict[str, Any] = box.schema("foreign")["function"]["parameters"]
    return parameters


async def test_two_required_sets_over_one_object_are_one_object_and_can_be_called() -> None:
    schema = {
        "type": "object",
        "properties": {"city": TEXT, "lat": NUMBER, "lon": NUMBER},
        "oneOf": [{"required": ["city"]}, {"required": ["lat", "lon"]}],
    }
    assert seen(schema) == {
        "type": "object",
        "properties": {"city": TEXT, "lat": NUMBER, "lon": NUMBER},
        "description": "Give city, or lat and lon.",
    }
    box = Toolbox()
    box.register_tool(foreign(schema))
    assert await box.get("foreign").tool.ainvoke({"lat": 1, "lon": 2}) == '{"lat": 1, "lon": 2}'


@pytest.mark.parametrize("key", ["anyOf", "oneOf"])
def test_alternatives_become_one_object_that_requires_what_all_of_them_require(key: str) -> None:
    by_mail = {"properties": {"id": TEXT, "kind": {"const": "mail"}, "mail": TEXT}, "required": ["id", "mail"]}
    by_phone = {"properties": {"id": TEXT, "kind": {"const": "phone"}, "phone": TEXT}, "required": ["id", "phone"]}
    assert merged({key: [by_mail, by_phone]}) == {
        "properties": {
            "id": TEXT,
            "kind": {"anyOf": [{"const": "mail"}, {"const": "phone"}]},
            "mail": TEXT,
            "phone": TEXT,
        },
        "required": ["id"],
        "description": "Give id and mail, or id and phone.",
    }


def test_parts_that_hold_together_become_one_object_that_requires_all() -> None:
    base = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
    schema = {"allOf": [{"$ref": "#/$defs/base"}, {"properties": {"b": NUMBER}, "required": ["b"]}]}
    assert seen(schema | {"$defs": {"base": base}}) == {
        "type": "object",
        "properties": {"a": TEXT, "b": NUMBER},
        "required": ["a", "b"],
    }


def test_what_providers_refuse_at_the_top_is_not_there_and_inner_alternatives_stay() -> None:
    inner = {"anyOf": [TEXT, NUMBER]}
    schema = {
        "type": "object",
        "properties": {"a": inner},
        "not": {"required": ["b"]},
        "if": {},
        "then": {},
        "enum": [],
    }
    assert seen(schema) == {"type": "object", "properties": {"a": inner}}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"minimum": 0, "exclusiveMinimum": True}, {"exclusiveMinimum": 0}),
        ({"minimum": 0, "exclusiveMinimum": False}, {"minimum": 0}),
        ({"maximum": 9, "exclusiveMaximum": True}, {"exclusiveMaximum": 9}),
        ({"exclusiveMaximum": True}, {}),
        ({"exclusiveMinimum": 3, "minimum": 1}, {"exclusiveMinimum": 3, "minimum": 1}),
    ],
)
def test_bounds_of_draft_4_are_mended_wherever_they_stand(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert as_bounds(dict(old)) == new
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "number", **old}}}}
    assert seen(schema)["properties"]["a"]["items"] == {"type": "number", **new}


async def test_a_schema_that_cannot_be_used_costs_its_tool_alone_and_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    box = Toolbox()
    deep: dict[str, Any] = TEXT
    for _ in range(2000):
        deep = {"type": "object", "properties": {"a": deep}}
    odd = {
        "elsewhere": {"type": "object", "properties": {"a": {"$ref": "https://schemas.example/a.json#/x"}}},
        "nowhere": {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}},
        "deep": deep,
    }
    for name, schema in odd.items():
        box.register_tool(foreign(schema, name))
    box.register_tool(foreign({"type": "object", "properties": {"a": TEXT}}, "sound"))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert [hit.name for hit in await box.search("somebody else", 5, settings=SETTINGS)] == ["sound"]
            box.register_tool(foreign({}, f"more{len(box)}"))
            box.remove(list(box)[-1].name)
    assert set(box.notices) == set(odd)
    assert len([r for r in caplog.records if "cannot be used" in r.getMessage()]) == len(odd)


@given(schema=JSON, value=JSON)
def test_any_schema_is_merged_and_any_arguments_are_looked_through(schema: Any, value: Any) -> None:
    try:
        parameters = seen(schema) if isinstance(schema, dict) and schema else {}
    except ToolError:
        return
    assert not parameters.keys() & {"anyOf", "oneOf", "allOf"}
    unknown_arguments(parameters, value)


def book(city: str, nights: int = 1, **more: str) -> str:
    """Book a room."""
    return f"{city} {nights} {more}"


class Guest(BaseModel):
    name: str


def invite(guests: list[Guest], host: Guest, note: dict[str, str]) -> str:
    """Invite."""
    return f"{guests} {host} {note}"


def asked(source: Any, **arguments: Any) -> str:
    box = Toolbox()
    box.register_tool(source)
    return box.get(next(iter(box)).name).unknown(arguments)


def test_arguments_that_a_tool_does_not_know_are_named_beside_those_it_knows() -> None:
    told = "there is no argument 'number_of_nights'. It takes city, nights, more"
    assert asked(book, city="Turin", number_of_nights=4) == told
    assert asked(book, city="Turin", nights=4) == ""
    told = "there is no argument 'host.nome'. host takes name"
    assert asked(invite, guests=[{"name": "A"}], host={"name": "B", "nome": "C"}, note={"any": "thing"}) == told
    told = "there is no argument 'guests.nome'. guests takes name"
    assert asked(invite, guests=[{"nome": "A"}, {"nome": "B"}]) == told
    assert "and 15 more" in asked(book, **{f"a{n}": 1 for n in range(20)})


def test_whoever_says_that_anything_is_taken_is_given_anything() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        a: int = 1

    assert (
        asked(
            StructuredTool.from_function(lambda **given: str(given), name="o", description="o", args_schema=Open), b=1
        )
        == ""
    )
    assert asked(foreign({"type": "object"}), b=1) == ""
    assert asked(foreign({"type": "object", "properties": {"a": TEXT}, "additionalProperties": TEXT}), b="1") == ""
    assert asked(foreign({"type": "object", "properties": {"a": TEXT}, "patternProperties": {"b": TEXT}}), b="1") == ""
