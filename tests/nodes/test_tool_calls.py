"""What becomes of the calls of a reply: which are run, what a tool is given, and what its result means."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool, ToolException
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.store.base import BaseStore

from ricordo.stores.toolbox.box import toolbox
from tests.support.harness import Harness, calls, says

Register = Callable[..., None]


@pytest.fixture
def register() -> Iterator[Register]:
    """Registers tools that are offered in every call, for the time of a test."""
    names: list[str] = []

    def add(source: Any, **options: Any) -> None:
        toolbox.register_tool(source, **{"pinned": True, "side_effect": False, **options})
        names.append(source.name if isinstance(source, StructuredTool) else source.__name__)

    yield add
    for name in names:
        toolbox.remove(name)


async def test_an_argument_that_the_tool_does_not_know_is_refused_with_the_names_of_those_it_knows(
    harness: Harness, register: Register
) -> None:
    booked = []

    def book_room(city: str, nights: int = 1) -> str:
        """Book a room."""
        booked.append((city, nights))
        return "booked"

    register(book_room)
    answer = await harness.ask(
        "Four nights in Turin.",
        calls(("book_room", {"city": "Turin", "number_of_nights": 4})),
        calls(("book_room", {"city": "Turin", "nights": 4})),
        says("Booked."),
    )
    refused, done = harness.results()
    assert "no argument 'number_of_nights'. It takes city, nights." in refused
    assert (done, booked) == ("booked", [("Turin", 4)])
    assert [call["status"] for call in answer.tool_calls] == ["error", "success"]


async def test_a_tool_that_was_not_offered_is_not_run_and_the_reply_says_how_to_get_it(
    harness: Harness, register: Register
) -> None:
    ran = []

    def shred_ledger() -> str:
        """Shred the ledger."""
        ran.append(1)
        return "shredded"

    register(shred_ledger, pinned=False)
    harness.resources.settings = harness.resources.settings.model_copy(update={"tools_per_step": 1})
    answer = await harness.ask(
        "What time is it?",
        calls(("shred_ledger", {})),
        calls(("read_toolbox", {"query": "shred the ledger", "k": 1})),
        calls(("shred_ledger", {})),
        says("It is gone."),
    )
    refused, _, done = harness.results()
    assert "shred_ledger" not in harness.model.offered[0]
    assert "has not been offered" in refused
    assert "read_toolbox" in refused
    assert (done, ran) == ("shredded", [1])
    assert [call["status"] for call in answer.tool_calls] == ["error", "success", "success"]


def refuses() -> str:
    """Refuse by LangChain's exception, which the tool itself puts in words."""
    raise ToolException("not at night")


def refuses_in_a_message(call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
    """Refuse by a message."""
    return ToolMessage("not at night", tool_call_id=call_id, status="error")


@pytest.mark.parametrize(
    "tool",
    [StructuredTool.from_function(refuses, handle_tool_error=True), refuses_in_a_message],
    ids=["raised", "said"],
)
async def test_a_refusal_by_a_tool_is_an_error(harness: Harness, register: Register, tool: Any) -> None:
    register(tool)
    name = getattr(tool, "name", None) or tool.__name__
    answer = await harness.ask("Open the gate.", calls((name, {})), says("Closed."))
    assert harness.results() == ["not at night"]
    assert answer.tool_calls[0]["status"] == "error"


def reads_the_store(key: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
    """Read the store."""
    return str(store.get(("a",), key))


def reads_a_field(field: Annotated[str, InjectedState("no_such_field")]) -> str:
    """Read a field of the state."""
    return field


def reads_the_runtimes_store(runtime: ToolRuntime) -> str:
    """Read the store of the run."""
    return str(runtime.store.get(("a",), "b"))  # type: ignore[union-attr]


async def test_what_a_tool_asks_to_be_given_and_there_is_not_ends_its_call_alone(
    harness: Harness, register: Register
) -> None:
    for tool in (reads_the_store, reads_a_field, reads_the_runtimes_store):
        register(tool)
    answer = await harness.ask(
        "Read.",
        calls(("reads_the_store", {"key": "b"}), ("reads_a_field", {}), ("reads_the_runtimes_store", {})),
        says("I could not."),
    )
    store, field, runtime = harness.results()
    assert "store" in store
    assert "no_such_field" in field
    assert "'NoneType' object has no attribute 'get'" in runtime
    assert [call["status"] for call in answer.tool_calls] == ["error"] * 3
    assert answer.answer == "I could not."


async def test_a_tool_is_given_the_state_and_the_run(harness: Harness, register: Register) -> None:
    def looks_around(
        iterations: Annotated[int, InjectedState("iterations")],
        state: Annotated[dict[str, Any], InjectedState],
        runtime: ToolRuntime,
    ) -> str:
        """Look around."""
        runtime.stream_writer({"looked": True})
        return f"{iterations} {state['iterations']} {runtime.state['iterations']} {runtime.tool_call_id}"

    register(looks_around)
    await harness.ask("Look.", calls(("looks_around", {})), says("Seen."))
    assert harness.results() == ["1 1 1 call_0_looks_around"]


def does_nothing() -> None:
    """Do it."""


async def does_nothing_in_time() -> None:
    """Do it."""


async def test_a_tool_that_returns_nothing_is_done(harness: Harness, register: Register) -> None:
    register(does_nothing)
    register(does_nothing_in_time)
    await harness.ask("Do it.", calls(("does_nothing", {}), ("does_nothing_in_time", {})), says("Done."))
    assert harness.results() == ["Done.", "Done."]


async def test_an_artifact_is_with_the_message_and_not_in_what_the_model_reads(
    harness: Harness, register: Register
) -> None:
    def draw(what: str) -> tuple[str | None, Any]:
        """Draw."""
        return {"map": ("a map", {"png": [1, 2]}), "much": ("much", "x" * 200_000), "odd": (None, object())}[what]

    register(StructuredTool.from_function(draw, response_format="content_and_artifact"))
    wanted = calls(*(("draw", {"what": what}) for what in ("map", "much", "odd")))
    await harness.ask("Draw.", wanted, says("Drawn."))
    assert harness.results() == ["a map", "much", "Done."]
    drawn, much, odd = (m.artifact for m in harness.model.asked[-1] if isinstance(m, ToolMessage))
    assert drawn["artifact"] == {"png": [1, 2]}
    assert "artifact" not in much
    assert "artifact" not in odd


@pytest.fixture
async def direct(harness: Harness, register: Register) -> Harness:
    def tells_fortune(day: str) -> str:
        """Tell the fortune of a day."""
        if day == "Friday":
            raise ValueError("not on Fridays")
        return f"{day} will be fine."

    register(StructuredTool.from_function(tells_fortune, return_direct=True))
    return harness


async def test_what_a_tool_returns_directly_is_the_answer(direct: Harness) -> None:
    wanted = calls(("tells_fortune", {"day": "Monday"}), ("tells_fortune", {"day": "Tuesday"}))
    answer = await direct.ask("My fortune?", wanted)
    assert (answer.answer, answer.stop_reason) == ("Monday will be fine.\n\nTuesday will be fine.", "answer")
    await direct.ask("What did you say?", says("All is fine."))
    assert "Monday will be fine." in direct.segment("Conversation")


@pytest.mark.parametrize("other", [("tells_fortune", {"day": "Friday"}), ("get_current_time", {})])
async def test_a_failure_or_another_tool_beside_it_goes_back_to_the_model(direct: Harness, other: Any) -> None:
    wanted = calls(("tells_fortune", {"day": "Monday"}), other)
    answer = await direct.ask("What time is it, and my fortune?", wanted, says("Half of it is fine."))
    assert answer.answer == "Half of it is fine."
