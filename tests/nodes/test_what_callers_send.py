"""Pictures, system messages and whole histories, through the whole turn."""

import base64
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from psycopg import AsyncConnection

from ricordo.graph.agent import builder
from ricordo.graph.context import Context
from ricordo.stores.conversation import thread_key
from tests.support.harness import Harness, calls, says

DATA = base64.b64encode(b"PNG of a heron").decode()
PICTURE = {"type": "image", "base64": DATA, "mime_type": "image/png", "filename": "heron.png"}
_STORED = (
    "SELECT FROM checkpoint_blobs WHERE position(convert_to(%(data)s, 'UTF8') in blob) > 0",
    "SELECT FROM checkpoint_writes WHERE position(convert_to(%(data)s, 'UTF8') in blob) > 0",
    "SELECT FROM checkpoints c WHERE position(%(data)s in c::text) > 0",
)
CLOCK = ("get_current_time", {"detailed": False})


async def run(harness: Harness, *messages: Any, thread: str = "t") -> dict[str, Any]:
    await harness.memory().claim_thread(thread)  # the id that is made from a name is begun by the name alone
    config: Any = {"configurable": {"thread_id": str(thread_key("default", thread))}}
    result: dict[str, Any] = await harness.agent._graph.ainvoke({"messages": list(messages)}, config)
    return result


async def test_a_picture_reaches_the_model_in_its_turn_alone_and_is_named_in_memory(harness: Harness) -> None:
    asked: Any = [{"type": "text", "text": "Which bird?"}, PICTURE]
    harness.model.script[:] = [calls(CLOCK), says("A heron.")]
    assert (await harness.agent.ask(asked, "t")).answer == "A heron."
    assert [PICTURE in seen[1].content for seen in harness.model.asked] == [True, True], "in every step"
    await harness.ask("Sure?", says("Yes."))
    assert DATA not in str(harness.model.asked[-1])
    assert "> [picture heron.png (image/png" in harness.segment("Conversation")


async def test_no_picture_stays_in_checkpoints(harness: Harness) -> None:
    harness.model.script[:] = [calls(CLOCK), says("A heron.")]
    state = await run(harness, HumanMessage([{"type": "text", "text": "Which bird?"}, PICTURE]))
    assert PICTURE in harness.model.asked[-1][1].content
    assert "heron.png" in state["messages"][0].text
    assert DATA not in str(state["messages"])
    async with await AsyncConnection.connect(harness.resources.db.dsn) as conn:
        for query in _STORED:
            found = await conn.execute(query, {"data": DATA})
            assert await found.fetchall() == []


async def test_a_model_that_takes_no_pictures_and_the_user_are_told(harness: Harness) -> None:
    harness.model.profile = {"image_inputs": False}
    harness.model.script[:] = [says("I cannot see it.")]
    asked: Any = [{"type": "text", "text": "Which bird?"}, PICTURE]
    answer = await harness.agent.ask(asked, "t")
    assert "heron.png" in harness.window()
    assert "left out" in harness.window()
    assert answer.answer.startswith("I cannot see it.")
    assert "heron.png" in answer.answer.removeprefix("I cannot see it.")


async def test_system_messages_hold_for_their_run(harness: Harness) -> None:
    harness.model.script[:] = [says("Aye."), says("Yes.")]
    await run(harness, SystemMessage("Speak like a pirate."), HumanMessage("Well?"))
    await run(harness, HumanMessage("And now?"))
    systems = [str(seen[0].text) for seen in harness.model.asked]
    assert ["Speak like a pirate." in text for text in systems] == [True, False]
    assert "pirate" not in harness.segment("Conversation")


async def test_a_whole_history_without_a_thread_is_what_the_answer_rests_on(harness: Harness) -> None:
    harness.model.script[:] = [says("HERON.")]
    said = [HumanMessage("My kite is HERON."), AIMessage("Noted."), HumanMessage("What is its name?")]
    graph: Any = builder.compile()
    await graph.ainvoke({"messages": said}, context=Context(model="scripted"))
    conversation = harness.segment("Conversation")
    assert conversation.index("> My kite is HERON.") < conversation.index("> Noted.")
    assert "> What is its name?" not in conversation


async def test_a_history_that_comes_again_is_not_told_twice(harness: Harness) -> None:
    harness.model.script[:] = [says("HERON."), says("Red.")]
    said = [HumanMessage("My kite is HERON.", id="1"), AIMessage("Noted.", id="2"), HumanMessage("Its name?", id="3")]
    graph: Any = builder.compile()
    await harness.memory().claim_thread("t")
    config: Any = {"configurable": {"thread_id": str(thread_key("default", "t"))}}
    await graph.ainvoke({"messages": said}, config, context=Context(model="scripted"))
    more = [*said, AIMessage("HERON.", id="4"), HumanMessage("Its colour?", id="5")]
    await graph.ainvoke({"messages": more}, config, context=Context(model="scripted"))
    assert [harness.segment("Conversation").count(line) for line in ("My kite", "Noted.", "Its name?", "> HERON.")] == [
        1,
        1,
        1,
        1,
    ]


async def test_a_router_may_speak_before_ricordo(harness: Harness) -> None:
    harness.model.script[:] = [says("Late.")]
    state = await run(harness, HumanMessage("What time is it?"), AIMessage("Over to Ricordo."))
    assert (state["stop_reason"], state["messages"][-1].text) == ("answer", "Late.")
    assert harness.window().startswith("# Question\nWhat time is it?")
    again = await run(harness)
    assert again["stop_reason"] == "error", "nothing new was asked"


async def test_ids_that_repeat_from_step_to_step_lose_no_step(harness: Harness) -> None:
    again = AIMessage("", id="same", tool_calls=[{"name": CLOCK[0], "args": CLOCK[1], "id": "c", "type": "tool_call"}])
    harness.model.script[:] = [again, again, AIMessage("Late.", id="same")]
    state = await run(harness, HumanMessage("What time is it?"))
    assert len(harness.results()) == 2
    harness.model.script[:] = [AIMessage("Later.", id=state["messages"][-1].id)]
    state = await run(harness, HumanMessage("And now?"))
    assert [m.text for m in state["messages"]] == ["What time is it?", "Late.", "And now?", "Later."]
