import enum
import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.tools import StructuredTool
from langgraph.prebuilt import ToolRuntime
from pydantic import BaseModel, Field

from ricordo.common.errors import ToolError
from ricordo.stores.toolbox.schema import (
    MAX_DESCRIPTION,
    bounded,
    description_of,
    make_tool,
    openai_schema,
    words_of,
)
from tests.support.stand_ins.openai_rules import check

TYPES = {"object", "array", "string", "integer", "number", "boolean", "null"}


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Place(BaseModel):
    """A place."""

    town: str = Field(description="Its town")
    zip_code: str | None = None


class Tree(BaseModel):
    """A tree."""

    name: str
    branches: list["Tree"] = []


def parameters_of(function: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(openai_schema(make_tool(function, function.__name__)))["function"]["parameters"]
    return found


def test_the_whole_signature_is_in_the_schema() -> None:
    async def ship(
        to: Place,
        colours: list[Colour],
        *,
        speed: Literal["slow", "fast"] = "slow",
        note: str | None = None,
        runtime: ToolRuntime[Any, Any],
    ) -> str:
        """Ship a parcel.

        It goes by sea.

        Args:
            to: Where it goes,
                street included.
            colours: Of the wrapping.
            speed: How fast.
            note: What to write on it.
            runtime: Who asks.

        Returns:
            A number.
        """
        return f"{to}{colours}{speed}{note}{runtime}"

    schema = json.loads(openai_schema(make_tool(ship, "ship")))["function"]
    assert schema["description"] == "Ship a parcel. It goes by sea."
    assert schema["description"] == description_of(ship), "the quick way says the same"
    properties = schema["parameters"]["properties"]
    assert list(properties) == ["to", "colours", "speed", "note"], "what is injected is not shown"
    assert schema["parameters"]["required"] == ["to", "colours"]
    assert properties["to"]["properties"]["town"] == {"description": "Its town", "type": "string"}
    assert properties["to"]["description"].startswith("Where it goes, street")
    assert properties["colours"]["items"]["enum"] == ["red", "blue"]
    assert properties["speed"] == {
        "default": "slow",
        "description": "How fast.",
        "enum": ["slow", "fast"],
        "type": "string",
    }
    assert {part["type"] for part in properties["note"]["anyOf"]} == {"string", "null"}


def test_a_docstring_of_another_style_is_the_description() -> None:
    def measure(length: float) -> str:
        """Measure it.

        Args:
            width: Not a parameter.
        """
        return str(length)

    schema = json.loads(openai_schema(make_tool(measure, "measure")))["function"]
    assert schema["description"].startswith("Measure it.")
    assert schema["parameters"]["properties"] == {"length": {"type": "number"}}


def test_a_recursive_schema_ends() -> None:
    def plant(tree: Tree) -> str:
        """Plant a tree."""
        return tree.name

    check(request(openai_schema(make_tool(plant, "plant"))))


def request(*schemas: str) -> dict[str, Any]:
    return {
        "model": "gpt-5-mini",
        "messages": [{"role": "user", "content": "x"}],
        "tools": [json.loads(schema) for schema in schemas],
    }


def test_a_default_without_a_form_in_json_makes_a_tool_unusable_and_is_told() -> None:
    def weigh(grams: float = float("nan")) -> str:
        """Weigh."""
        return str(grams)

    with pytest.raises(ToolError, match=r"'weigh' cannot be used: its schema holds a number .* NaN"):
        openai_schema(make_tool(weigh, "weigh"))


def test_the_model_sees_the_beginning_of_a_long_description() -> None:
    def long(text: str) -> str:
        return text

    long.__doc__ = "Begin. " + "word " * 10_000 + f"\n\nArgs:\n    text: {'more ' * 10_000}"
    function = json.loads(openai_schema(make_tool(long, "long")))["function"]
    assert function["description"].startswith("Begin. word")
    assert function["description"].endswith(" …")
    assert len(function["description"]) <= MAX_DESCRIPTION
    assert len(function["parameters"]["properties"]["text"]["description"]) <= MAX_DESCRIPTION


def test_a_type_without_a_schema_is_told_in_one_line() -> None:
    def opaque(thing: "NoSuchClass") -> str:  # type: ignore[name-defined]  # noqa: F821 - as it happens
        """Do it."""
        return str(thing)

    with pytest.raises(ToolError, match=r"'opaque' cannot be used.*NoSuchClass") as caught:
        make_tool(opaque, "opaque")
    assert "\n" not in str(caught.value)


MESSY = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "dict",
    "required": ["a", "a", 3],
    "properties": {
        "a": {"type": "float", "enum": []},
        "b": {"type": ["array", "null"]},
        "c": {"type": "tuple"},
        "d": {"type": "any", "description": "x\x00\ud800"},
        "e": {"type": "object", "properties": {"f": {"type": "list", "required": True}}},
        "g": True,
        "h": "string",
        "i": {"anyOf": [{"type": "bool"}, None]},
    },
}


def test_what_providers_refuse_in_foreign_schemas_is_mended() -> None:
    made = StructuredTool(name="messy", description="x" * 3000, args_schema=MESSY, func=print)
    schema = openai_schema(made)
    parameters = json.loads(schema)["function"]["parameters"]
    assert parameters["required"] == ["a"]
    assert parameters["properties"]["a"] == {"type": "number"}
    assert parameters["properties"]["b"] == {"type": ["array", "null"], "items": {}}
    assert parameters["properties"]["c"] == {"type": "array", "items": {}}
    assert parameters["properties"]["d"] == {"description": "x\ufffd"}
    assert parameters["properties"]["e"]["properties"]["f"] == {"type": "array", "items": {}}
    assert parameters["properties"]["i"]["anyOf"] == [{"type": "boolean"}, {}]
    assert "$schema" not in parameters
    check(request(schema))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=5) | st.sampled_from(sorted(TYPES)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "items", "anyOf", "enum", "required", "description", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_schema_becomes_one_that_providers_take(properties: Any) -> None:
    made = StructuredTool(name="any", description="Any.", args_schema={"properties": {"p": properties}}, func=print)
    schema = openai_schema(made)
    parameters = json.loads(schema)["function"]["parameters"]
    assert parameters["type"] == "object"
    assert sound(parameters["properties"]["p"])
    assert "\x00" not in schema
    schema.encode()


def sound(schema: Any) -> bool:
    """Tell whether all levels of a schema are of known types and arrays have items."""
    if isinstance(schema, bool):
        return True
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    below = list(schema["properties"].values()) if isinstance(schema.get("properties"), dict) else []
    below += [schema["items"]] if "items" in schema else []
    below += schema["anyOf"] if isinstance(schema.get("anyOf"), list) else []
    return (
        set(kinds) <= TYPES
        and ("array" not in kinds or "items" in schema)
        and schema.get("enum", [0]) != []
        and all(map(sound, below))
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("getUserName", "get user name"),
        ("math.factorial", "math factorial"),
        ("HTTPServer_v2", "http server v2"),
        ("a-b__c", "a b c"),
        ("", ""),
    ],
)
def test_identifiers_are_said_in_words(name: str, words: str) -> None:
    assert words_of(name) == words


@given(st.text(max_size=300), st.integers(5, 100))
def test_a_bounded_text_is_short_and_begins_the_same(text: str, limit: int) -> None:
    cut = bounded(text, limit)
    assert len(cut) <= limit
    assert cut == text if len(text) <= limit else text.startswith(cut.removesuffix(" …"))
