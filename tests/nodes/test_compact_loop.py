"""Compaction inside the loop: results, steps and pages make room, and all of it can be read again."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from ricordo.graph.exchange import STEPS
from ricordo.graph.notebook import WindowCompacted
from ricordo.graph.thread.incoming import incoming
from ricordo.models import tokens
from ricordo.nodes.assemble_context import _leftovers
from ricordo.stores.conversation import thread_key
from ricordo.stores.toolbox.box import toolbox
from tests.support.harness import Harness, calls, says
from tests.support.talk import LINE, ids_in, read_all, talk
from tests.support.threads import assert_pairs_are_whole

OUTPUTS: dict[str, str] = {}


@pytest.fixture(autouse=True)
def look_up() -> Iterator[None]:
    @toolbox.register_tool(side_effect=False, examples=["look it up in the ledger"])
    def look_up(what: str) -> str:
        """Look something up in the ledger.

        Args:
            what: What is looked for.
        """
        return OUTPUTS.get(what, f"nothing about {what}")

    yield
    toolbox.remove("look_up")
    OUTPUTS.clear()


async def test_old_results_become_pointers_before_anything_is_summarised(harness: Harness) -> None:
    said = await talk(harness, 2)
    for n in range(4):
        OUTPUTS[f"day {n}"] = f"VIOLA-{n} " + LINE.format(n=n) * 35
    steps = [calls(("look_up", {"what": f"day {n}"})) for n in range(4)]
    answer = await harness.ask("Compare the days.", *steps, says("All alike."), context_window=8_000)
    assert "old results behind pointers" in answer.compactions[0]
    assert not any("under summary" in did for did in answer.compactions)
    assert said[0].strip() in harness.segment("Conversation")
    assert "VIOLA-3" in harness.results()[-1], "the latest result is shown as it came"
    for messages in harness.model.asked:
        assert_pairs_are_whole(messages)
    log_ids = re.findall(r"log_id ([0-9a-f-]{36})", "\n".join(str(m.text) for m in harness.model.asked[-1]))
    assert log_ids
    assert "read_tool_log" in harness.model.offered[-1]
    for log_id in log_ids:
        assert (await read_all(harness.memory().read_tool_log, log_id)).strip() in map(str.strip, OUTPUTS.values())


async def test_a_long_exchange_is_put_in_short_with_the_way_back_to_all_of_it(harness: Harness) -> None:
    for n in range(14):
        OUTPUTS[f"day {n}"] = f"On day {n} the price of oil was {n} florins. " + LINE.format(n=n) * 9
    steps = [calls(("look_up", {"what": f"day {n}"}), text=f"Now day {n}, CESARIO-{n}.") for n in range(14)]
    answer = await harness.ask("Compare the days.", *steps, says("Done."), context_window=4_000, max_iterations=20)
    assert any("steps put in short" in did for did in answer.compactions)
    last = harness.model.asked[-1]
    short = next(m for m in last if isinstance(m, AIMessage) and not m.tool_calls)
    assert "florins" in str(short.text), "what was found is told"
    assert all(line.startswith("> ") for line in str(short.text).splitlines()[1:]), "and fenced: it is data"
    assert {c["status"] for c in answer.tool_calls} == {"success"}
    (run_id,) = re.findall(r"read_tool_log\(log_id='([0-9a-f-]{36})'\)", str(short.text))
    listed = await read_all(harness.memory().read_tool_log, run_id)
    for n, call in enumerate(answer.tool_calls):
        assert f"CESARIO-{n}" in listed, "what the model said beside its calls"
        assert call["log_id"] in listed
        whole = await read_all(harness.memory().read_tool_log, call["log_id"])
        assert whole.strip() == OUTPUTS[f"day {n}"].strip()


async def test_many_parallel_calls_with_long_ids_fit_a_small_window(harness: Harness) -> None:
    wanted = [{"name": "look_up", "args": {"what": f"day {n}"}, "id": f"{n}-" + "x7" * 750} for n in range(200)]
    for n in range(200):
        OUTPUTS[f"day {n}"] = f"VIOLA-{n} " + "漢字かな" * 300
    reply = AIMessage("", tool_calls=[{**call, "type": "tool_call"} for call in wanted])
    answer = await harness.ask("All of them.", reply, says("Done."), context_window=4_000)
    assert len(answer.tool_calls) == 200
    assert tokens.count_messages(harness.model.asked[-1]) < 3_600
    assert_pairs_are_whole(harness.model.asked[-1])
    assert harness.model.asked[-1][-1].type == "human", "no provider is left with the assistant's words at the end"
    assert "are not listed here" in str(harness.model.asked[-1][-2].text)
    listed = await read_all(harness.memory().read_tool_log, answer.run_id)
    assert all(call["log_id"] in listed for call in answer.tool_calls)


@pytest.mark.parametrize(
    "output",
    [
        "\n".join("abcdefghij" * 2_000 for _ in range(5)),
        "QUJD" * 20_000,
        '{"v": [1, 2, 3]}, ' * 4_000,
        "港口日志" * 9_000,
        "\n" * 40_000,
    ],
    ids=["five-lines", "base64", "json", "cjk", "empty-lines"],
)
async def test_an_output_of_any_shape_is_shown_in_part_and_read_to_its_end(harness: Harness, output: str) -> None:
    OUTPUTS["it"] = output
    answer = await harness.ask("Look it up.", calls(("look_up", {"what": "it"})), says("Seen."), context_window=4_000)
    assert tokens.count_messages(harness.model.asked[-1]) < 3_600
    whole = await read_all(harness.memory().read_tool_log, answer.tool_calls[0]["log_id"])
    assert whole.replace("\n", "") == output.replace("\n", "")


async def test_pages_that_were_read_are_shown_whole_and_later_summed_up_with_how_to_read_them_again(
    harness: Harness,
) -> None:
    await talk(harness, 40)

    def expand(page: int) -> Any:
        def reply(messages: list[BaseMessage]) -> AIMessage:
            (summary, *_) = ids_in(str(messages[1].text).split("## Summary Memory")[1])
            return calls(("expand_summary", {"summary_id": summary, "page": page}))

        return reply

    steps = [expand(page) for page in range(1, 6)]
    await harness.ask("Tell me all.", *steps, says("That is all."), context_window=4_000)
    for i in range(1, 6):
        latest = str(harness.model.asked[i][-1].text)
        assert latest.startswith(f"Original messages, page {i} of "), "a page is never cut"
        assert "[…" not in latest
    earlier = "\n".join(str(m.text) for m in harness.model.asked[-1][2:-2])
    assert "Original messages" not in earlier
    assert "OBERON" in earlier, "what they say is kept in short"
    assert "expand_summary(" in earlier
    assert "log_id" not in earlier.replace("with its log_id", "").replace("read_tool_log(log_id=", "")


async def test_what_a_dead_turn_left_in_short_is_no_answer(harness: Harness) -> None:
    for n in range(6):
        OUTPUTS[f"day {n}"] = LINE.format(n=n) * 60
    steps = [calls(("look_up", {"what": f"day {n}"})) for n in range(6)]
    parts = harness.agent.stream("Compare the days.", "t", context_window=6_000)
    harness.model.script[:] = [*steps, says("never said")]
    async for event in parts:
        if isinstance(event, WindowCompacted) and "steps put in short" in event.what:
            break
    await parts.aclose()
    await harness.ask("And now?", says("All alike."), context_window=6_000)
    assert harness.segment("Conversation").count("> Compare the days.") == 1, "the question is kept, once"
    config: Any = {"configurable": {"thread_id": str(thread_key("default", "t"))}}
    state = await harness.agent._graph.aget_state(config)
    assert [m.text for m in state.values["messages"]][-2:] == ["And now?", "All alike."]
    assert not any("Earlier steps" in m.text for m in state.values["messages"])


def test_a_message_that_stands_for_steps_belongs_to_the_exchange() -> None:
    short = AIMessage("Earlier steps", additional_kwargs={STEPS: {}}, id="1")
    messages: list[Any] = [HumanMessage("Compare.", id="0"), short, HumanMessage("Still?", id="2")]
    assert [m.id for m in incoming({"messages": messages}, thread_key("default", "t")).asked] == ["0", "2"], (
        "nothing was answered yet"
    )
    assert [m.id for m in _leftovers(messages)] == ["1"]


async def test_what_no_turn_has_answered_is_in_the_window_of_the_next(harness: Harness) -> None:
    harness.model.script[:] = [says("Both noted.")]
    await harness.memory().claim_thread("t")
    asked: Any = {"messages": [HumanMessage("My kite is HERON."), HumanMessage("And what is its name?")]}
    await harness.agent._graph.ainvoke(asked, {"configurable": {"thread_id": str(thread_key("default", "t"))}})
    assert "My kite is HERON." in harness.segment("Conversation")
