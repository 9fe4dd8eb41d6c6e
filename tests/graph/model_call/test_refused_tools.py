"""What providers say of a tool whose schema they refuse."""

import pytest

from ricordo.graph.model_call.refused_tools import refused_tool

OFFERED = ["alpha", "beta-2", "gamma"]


@pytest.mark.parametrize(
    ("said", "tool"),
    [
        ("Invalid schema for function 'gamma': In context=(), object schema missing properties.", "gamma"),
        ("Error code: 400 - {'error': {'message': \"Invalid schema for function 'beta-2': oneOf is not\"}}", "beta-2"),
        ("tools.1.custom.input_schema: JSON schema is invalid. It must match draft 2020-12", "beta-2"),
        ("tools.0.input_schema.type: Field required", "alpha"),
        ("Invalid 'tools[2].function.parameters': expected an object", "gamma"),
        ("* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties: not empty", "beta-2"),
        ("Invalid schema for function 'delta': not ours", None),
        ("tools[7].function.parameters: there is no such tool", None),
        ("Rate limit reached for requests.", None),
        ("The prompt mentions function gamma and its schema nowhere.", None),
    ],
)
def test_the_tool_is_known_by_its_name_or_its_place(said: str, tool: str | None) -> None:
    assert refused_tool(said, OFFERED) == tool
