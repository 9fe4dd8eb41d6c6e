"""How a turn ends when it does not end by an answer."""

import asyncio
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.exceptions import ContextOverflowError, ModelAuthenticationError
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import invalid_tool_call
from langgraph.types import Command, interrupt

from ricordo.graph.notebook import Answer
from ricordo.stores.toolbox.box import toolbox
from tests.support.harness import Harness, calls, says

CLOCK = ("get_current_time", {"detailed": False})


async def test_max_iterations_ends_in_a_last_call_that_may_call_no_tools(harness: Harness) -> None:
    answer = await harness.ask("Watch the clock.", calls(CLOCK), calls(CLOCK), says("So far: late."), max_iterations=2)
    assert (answer.stop_reason, answer.iterations) == ("max_iterations", 2)
    assert answer.answer.startswith("So far: late.")
    assert "limit of 2 model calls" in answer.answer
    assert answer.tools_offered[-1] == [], "none may be called"
    assert harness.model.offered[-1], "providers want tools beside earlier calls"
    assert harness.model.asked[-1][-1].type == "tool", "some providers refuse a user's words after a result"


async def test_a_model_that_fails_ends_the_turn_honestly_and_keeps_the_question(harness: Harness) -> None:
    answer = await harness.ask("Find HERMES.", calls(CLOCK), ModelAuthenticationError("Incorrect API key provided"))
    assert answer.stop_reason == "error"
    assert "Incorrect API key" in answer.answer
    assert "check the provider's own key" in answer.answer, "it says what to do"
    assert "get_current_time (success)" in answer.answer, "it says what was done"
    await harness.ask("Again?", says("Yes."))
    assert harness.segment("Conversation").count("Find HERMES.") == 1


async def test_the_deadline_ends_a_silent_model(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_args: object, **_kwargs: object) -> AIMessage:
        await asyncio.sleep(60)
        return says("Too late.")

    monkeypatch.setattr("ricordo.nodes.llm.converse", never)
    answer = await harness.ask("Think.", deadline_seconds=0.3)
    assert answer.stop_reason == "deadline"
    assert "Too late." not in answer.answer
    assert "0.3 seconds" in answer.answer
    assert (await harness.memory().read_conversational_memory("t"))[0].text == "Think."


async def test_calls_with_broken_json_are_answered_and_tried_again(harness: Harness) -> None:
    broken = AIMessage(
        "",
        invalid_tool_calls=[invalid_tool_call(name="search_knowledge_base", args="{query: tides]", id="c1", error="x")],
    )
    answer = await harness.ask("Tides?", broken, says("Sorted out."))
    assert answer.answer == "Sorted out."
    assert "not valid JSON" in harness.results()[0]
    assert answer.tool_calls[0]["status"] == "error"


async def test_an_unknown_tool_is_an_error_for_the_model_beside_a_good_call(harness: Harness) -> None:
    answer = await harness.ask("Launch.", calls(("launch_rockets", {"n": 3}), CLOCK), says("I have no rockets."))
    unknown, time = harness.results()
    assert "no tool 'launch_rockets'" in unknown
    assert "UTC" in time
    assert [c["status"] for c in answer.tool_calls] == ["error", "success"]


async def test_wrong_arguments_come_back_as_text(harness: Harness) -> None:
    await harness.ask("Search.", calls(("search_knowledge_base", {"k": "many"})), says("Sorry."))
    assert "query" in harness.results()[0]


async def test_a_prompt_too_long_for_the_provider_is_compacted_and_sent_once_more(harness: Harness) -> None:
    for n in range(5):
        told = f"Log {n}: OBERON-{n}. " + "The tide was fair. " * 60
        await harness.ask(told, says(f"Noted {n}. " + "Calm sea. " * 60))
    answer = await harness.ask("What happened?", ContextOverflowError("too long"), says("Fits now."))
    before, after = (harness.window(i) for i in (-2, -1))
    assert answer.answer == "Fits now."
    assert len(after) < len(before)
    assert answer.compactions
    assert answer.iterations == 1
    kept = harness.segment("Conversation")
    for n in range(5):
        if f"OBERON-{n}" not in kept:
            ids = [line.split("id=")[1].split()[0] for line in harness.segment("Summary").splitlines() if "id=" in line]
            pages = [await harness.memory().read_summary_memory(i, 1, budget=10_000) for i in ids]
            assert any(f"OBERON-{n}" in page for page in pages)


async def test_a_prompt_that_is_always_too_long_is_an_error(harness: Harness) -> None:
    answer = await harness.ask("Hello?", *[ContextOverflowError("too long")] * 4)
    assert answer.stop_reason == "error"
    assert harness.resources.usage.window("scripted") is None, "no length was short enough, so it was not the length"


async def test_an_empty_reply_is_asked_for_once_more(harness: Harness) -> None:
    assert (await harness.ask("Hello?", says(""), says("Hello."))).answer == "Hello."
    assert (await harness.ask("Hello?", says(""), says(" "))).stop_reason == "error"


async def test_a_cancelled_turn_leaves_a_thread_that_goes_on(harness: Harness) -> None:
    reached = asyncio.Event()

    @toolbox.register_tool(side_effect=False, examples=["wait for the tide"])
    async def wait_for_tide() -> str:
        """Wait for the tide."""
        reached.set()
        await asyncio.sleep(60)
        return "high"

    try:
        harness.model.script[:] = [calls(("wait_for_tide", {}))]
        turn = asyncio.create_task(harness.agent.ask("Wait for the tide.", "t"))
        await asyncio.wait_for(reached.wait(), 20)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
    finally:
        toolbox.remove("wait_for_tide")
    answer: Answer = await harness.ask("Are you there?", says("Yes."))
    assert answer.stop_reason == "answer"
    assert harness.segment("Conversation").count("Wait for the tide.") == 1


async def hang_on_the_loop() -> str:
    """Hang."""
    await asyncio.sleep(600)
    return "never"


def hang_on_a_thread() -> str:
    """Hang."""
    threading.Event().wait()
    return "never"


@pytest.mark.parametrize("hang", [hang_on_the_loop, hang_on_a_thread])
async def test_a_tool_that_hangs_is_stopped_and_the_turn_goes_on(harness: Harness, hang: Callable[..., object]) -> None:
    toolbox.register_tool(side_effect=False, timeout=0.2, examples=["hang"])(hang)
    name = hang.__name__
    try:
        await harness.ask("Hang, please.", calls(*[(name, {})] * 40), says("It hung."))
    finally:
        toolbox.remove(name)
    assert all("stopped after" in result for result in harness.results())
    assert await asyncio.to_thread(str, 1) == "1", "the threads of the loop are free"


def steer() -> object:
    """Steer."""
    return Command(goto="nowhere")


def ask_the_user() -> str:
    """Ask the user."""
    return str(interrupt("sure?"))


@pytest.mark.parametrize("odd", [steer, ask_the_user])
async def test_a_tool_that_steers_or_interrupts_the_graph_is_an_error_and_the_turn_goes_on(
    harness: Harness, odd: Callable[..., object]
) -> None:
    toolbox.register_tool(side_effect=False)(odd)
    try:
        answer = await harness.ask("Go on.", calls((odd.__name__, {})), says("It did not work."))
    finally:
        toolbox.remove(odd.__name__)
    assert (answer.stop_reason, answer.tool_calls[0]["status"]) == ("answer", "error")


async def test_a_call_that_a_dead_process_began_is_not_run_again(harness: Harness) -> None:
    ran = []

    @toolbox.register_tool(side_effect=True, examples=["send the letter"])
    async def send_letter() -> str:
        """Send the letter."""
        ran.append(1)
        return "sent"

    async def begun(*_args: object) -> object:
        return {"status": "running", "output": ""}

    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("ricordo.stores.manager.MemoryManager.begin_tool_call", begun)
            answer = await harness.ask("Send it.", calls(("send_letter", {})), says("Not sure."))
    finally:
        toolbox.remove("send_letter")
    assert not ran
    assert "may have taken effect" in harness.results()[0]
    assert answer.answer == "Not sure."


def leave_at_once() -> str:
    """Leave."""
    sys.exit(0)


async def leave_in_time() -> str:
    """Leave."""
    sys.exit(0)


def leave_as_if_by_hand() -> str:
    """Leave."""
    raise KeyboardInterrupt


class Odd(BaseException):
    """No `Exception`."""


def leave_oddly() -> str:
    """Leave."""
    raise Odd


async def leave_cancelled() -> str:
    """Leave."""
    raise asyncio.CancelledError


@pytest.mark.parametrize("leave", [leave_at_once, leave_in_time, leave_as_if_by_hand, leave_oddly, leave_cancelled])
async def test_a_tool_that_ends_the_program_ends_only_its_own_call(harness: Harness, leave: Callable[..., Any]) -> None:
    toolbox.register_tool(leave, side_effect=False, examples=["leave"])
    try:
        answer = await harness.ask("Leave.", calls((leave.__name__, {})), says("Still here."))
    finally:
        toolbox.remove(leave.__name__)
    assert answer.answer == "Still here."
    assert "ended without a result" in harness.results()[0]


async def test_an_exception_that_cannot_say_what_it_is_is_a_tools_failure_like_any_other(harness: Harness) -> None:
    class DumbError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def stumble() -> str:
        """Stumble."""
        raise DumbError

    toolbox.register_tool(stumble, side_effect=False)
    try:
        answer = await harness.ask("Stumble.", calls(("stumble", {})), says("Up again."))
    finally:
        toolbox.remove("stumble")
    assert answer.answer == "Up again."
    assert "DumbError: it gave no reason that can be shown" in harness.results()[0]


async def test_numbers_without_a_form_in_json_reach_tool_log_and_model_as_words(harness: Harness) -> None:
    def count(number: int) -> str:
        """Count."""
        return str(number)

    toolbox.register_tool(count)
    try:
        answer = await harness.ask("Count.", calls(("count", {"number": float("inf")})), says("Too many."))
    finally:
        toolbox.remove("count")
    assert answer.answer == "Too many."
    assert "number" in harness.results()[0]
