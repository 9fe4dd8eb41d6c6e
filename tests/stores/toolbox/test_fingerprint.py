import enum
from dataclasses import dataclass
from typing import Any

from langchain_core.tools import tool
from langgraph.prebuilt import ToolRuntime
from pydantic import BaseModel, Field

from ricordo.stores.toolbox.schema import fingerprint


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Place(BaseModel):
    """A place."""

    town: str = Field(description="Its town")
    zip_code: str | None = None


def test_the_fingerprint_follows_the_signature_the_docstring_and_the_models_in_it() -> None:
    def one(place: Place, k: int = 1) -> str:
        """Do it."""
        return f"{place}{k}"

    def two(place: Place, k: int = 2) -> str:
        """Do it."""
        return f"{place}{k}"

    def three(place: "Place", k: int = 1) -> str:
        """Do it otherwise."""
        return f"{place}{k}"

    prints = [fingerprint(function, "f") for function in (one, two, three)]
    assert len(set(prints)) == 3
    assert fingerprint(one, "f") == prints[0]
    assert fingerprint(one, "f", "files") != prints[0]


def test_the_fingerprint_sees_a_model_that_changes_behind_its_name() -> None:
    def with_model(extra: bool) -> Any:  # noqa: FBT001 - a variant
        class Thing(BaseModel):
            name: str
            if extra:
                size: int = 0

        @dataclass
        class Box:
            thing: Thing

        def pack(box: Box, things: list[Thing] | None = None) -> str:
            """Pack it."""
            return f"{box}{things}"

        return pack

    assert fingerprint(with_model(extra=False), "pack") == fingerprint(with_model(extra=False), "pack")
    assert fingerprint(with_model(extra=False), "pack") != fingerprint(with_model(extra=True), "pack")


def test_the_fingerprint_is_the_same_in_every_process() -> None:
    marker = object()

    def where(place: str = marker) -> str:  # type: ignore[assignment]  # a default that prints its address
        """Tell where."""
        return place

    def again(place: str = object()) -> str:  # type: ignore[assignment]
        """Tell where."""
        return place

    assert fingerprint(where, "f") == fingerprint(again, "f")

    @tool
    def look(colour: Colour, runtime: ToolRuntime[Any, Any]) -> str:
        """Look."""
        return f"{colour}{runtime}"

    assert " at 0x" not in repr(fingerprint(look, "look"))
    assert fingerprint(look, "look") != fingerprint(look, "see")
