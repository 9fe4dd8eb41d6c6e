"""Compaction in the turn: when it happens, what gives way first, and that nothing is lost."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import StructuredTool
from pydantic import create_model

from ricordo.common.errors import ConfigurationError
from ricordo.models import tokens
from ricordo.models.chat import NO_STREAM
from ricordo.offline.extractive import StructuredSummary
from ricordo.stores.conversation import thread_key
from ricordo.stores.toolbox.box import toolbox
from tests.support.harness import Harness, says
from tests.support.talk import LINE, ids_in, read_all, talk


async def test_old_turns_are_summarised_before_the_model_is_asked(harness: Harness) -> None:
    said = await talk(harness, 12)
    answer = await harness.ask("What came on day 3?", says("Three barges."), context_window=8_000)
    (did,) = answer.compactions
    before, after = map(int, re.findall(r"(\d+) to (\d+) tokens", did)[0])
    assert before > 0.8 * 8_000 - 800 > after
    assert answer.context["tokens"] + 800 <= 0.8 * 8_000
    assert "What came on day 3?" in harness.window()
    assert said[-1].strip() in harness.segment("Conversation"), "the latest turns stay as they are"
    assert said[-4].strip() in harness.segment("Conversation")
    assert said[0] not in harness.segment("Conversation")
    (summary,) = ids_in(harness.segment("Summary"))
    assert "OBERON-3" in await read_all(harness.memory().read_summary_memory, summary)
    assert f"20 messages under summary {summary}" in did
    assert "expand_summary" in harness.model.offered[-1], "what opens the summary is offered"


async def test_the_next_turn_starts_from_the_summary_and_need_not_compact_again(harness: Harness) -> None:
    await talk(harness, 12)
    await harness.ask("What came on day 3?", says("Three barges."), context_window=8_000)
    answer = await harness.ask("And on day 4?", says("Four."), context_window=8_000)
    assert answer.compactions == []
    assert len(ids_in(harness.segment("Summary"))) == 1


async def test_below_the_threshold_nothing_is_touched(harness: Harness) -> None:
    said = await talk(harness, 12)
    answer = await harness.ask("What came on day 3?", says("Three barges."), context_window=32_000)
    assert answer.compactions == []
    assert all(text.strip() in harness.segment("Conversation") for text in said)


async def test_the_thresholds_are_settings(harness: Harness) -> None:
    said = await talk(harness, 12)
    harness.resources.settings = harness.resources.settings.model_copy(
        update={"compact_above": 0.2, "compact_to": 0.1, "keep_turns": 4}
    )
    answer = await harness.ask("What came on day 3?", says("Three barges."), context_window=60_000)
    assert "16 messages under summary" in answer.compactions[0]
    assert all(text.strip() in harness.segment("Conversation") for text in said[16:])


async def test_a_question_larger_than_the_window_is_shown_in_part_and_stored_whole(harness: Harness) -> None:
    question = "BEGIN-IT " + " ".join(str(n) for n in range(60_000)) + " END-IT?"
    answer = await harness.ask(question, says("Long."), context_window=4_000)
    assert answer.stop_reason == "answer"
    window = harness.window()
    assert "BEGIN-IT 0 1 2" in window
    assert "59999 END-IT?" in window
    assert tokens.count_messages(harness.model.asked[-1]) < 3_600
    (pointer,) = re.findall(r"expand_summary\(summary_id='([0-9a-f-]{36})'\)", window)
    assert "expand_summary" in harness.model.offered[-1]
    page = await harness.memory().read_summary_memory(pointer, 7)
    assert re.search(r"(\d+) (\d+) (\d+)", page)
    async with harness.resources.db.transaction("default") as conn:
        rows = await (await conn.execute("SELECT content, summary_id FROM messages ORDER BY seq")).fetchall()
    assert rows[0] == {"content": question, "summary_id": None}


async def test_a_question_that_fits_is_left_alone_whatever_else_gives_way(harness: Harness) -> None:
    await talk(harness, 30)
    question = "What is the price of " + ", ".join(f"item {n}" for n in range(250)) + "?"
    await harness.ask(question, says("Dear."), context_window=4_000)
    assert question in harness.window()


async def test_other_memories_give_way_by_rank(harness: Harness) -> None:
    for n in range(5):
        text = f"Chapter {n} of the pilot's book speaks of barges. " + LINE.format(n=n) * 12
        await harness.memory().write_knowledge_base(text, {"source": f"book-{n}.pdf", "title": "Book"})
    await talk(harness, 2, words=36)
    answer = await harness.ask("What does the pilot's book say of barges?", says("Much."), context_window=8_000)
    assert "passages of other memories left out" in answer.compactions[0]
    left = re.findall(r"(?m)^\[(\d+)\] ", harness.segment("Knowledge Base"))
    assert left in (["1"], ["1", "2"]), "the best stay, the last go first"


async def test_schemas_too_large_for_the_window_are_not_offered(harness: Harness) -> None:
    fields: dict[str, Any] = {f"page_{n}_of_the_book": (str, ...) for n in range(400)}
    endless = StructuredTool.from_function(
        lambda **_: "", name="endless", description="Read the pilot's book.", args_schema=create_model("Book", **fields)
    )
    toolbox.register_tool(side_effect=False, examples=["read the pilot's book"], pinned=True)(endless)
    try:
        await talk(harness, 12)
        await harness.ask("Read the pilot's book.", says("No."), context_window=4_000)
    finally:
        toolbox.remove("endless")
    offered = harness.model.offered[-1]
    assert "endless" not in offered
    assert "expand_summary" in offered


async def test_the_providers_own_limit_is_believed_from_then_on(harness: Harness) -> None:
    said = await talk(harness, 40)
    too_long = ContextOverflowError("This model's maximum context length is 5000 tokens, yours has 9000.")
    answer = await harness.ask("What came on day 3?", too_long, says("Three."))
    first, second = harness.model.asked[-2:]
    assert tokens.count_messages(second) < tokens.count_messages(first) / 2
    assert answer.answer == "Three."
    assert answer.context["window"] == 5_000
    assert [str(m.text).split("\n\n## ")[0] for m in (first[1], second[1])] == ["# Question\nWhat came on day 3?"] * 2
    found = "".join(
        [await read_all(harness.memory().read_summary_memory, i) for i in ids_in(harness.segment("Summary"))]
    ) + harness.segment("Conversation")
    assert all(f"OBERON-{n}:" in found for n in range(len(said) // 2))
    await harness.ask("And on day 4?", says("Four."))
    assert tokens.count_messages(harness.model.asked[-1]) < 4_500, "no second refusal is needed"


async def test_a_refusal_without_a_number_halves_the_call(harness: Harness) -> None:
    await talk(harness, 40)
    await harness.ask("What came on day 3?", ContextOverflowError("too long"), says("Three."))
    first, second = (tokens.count_messages(messages) for messages in harness.model.asked[-2:])
    assert second < first * 0.75


async def test_reported_usage_tightens_the_count_for_the_next_call(harness: Harness) -> None:
    await talk(harness, 4)

    def reported(messages: list[BaseMessage]) -> AIMessage:
        sent = tokens.count_messages(messages) * 3
        usage = {"input_tokens": sent, "output_tokens": 1, "total_tokens": sent + 1}
        return AIMessage("Yes.", usage_metadata=usage)

    first = await harness.ask("Are you there?", reported, context_window=8_000)
    second = await harness.ask("Still?", says("Yes."), context_window=8_000)
    assert harness.resources.usage.ratio("scripted") > 1.7
    assert second.context["segments"]["system"] > first.context["segments"]["system"] * 1.4


async def test_a_window_too_small_to_work_with_is_refused_in_words(harness: Harness) -> None:
    with pytest.raises(ConfigurationError, match=r"2,000.*RICORDO_CONTEXT_WINDOW"):
        await harness.ask("Hello?", context_window=1_000)


class SpokenSummary(BaseChatModel):
    """A summariser that speaks, as providers do."""

    @property
    def _llm_type(self) -> str:
        return "spoken"

    def with_structured_output(self, schema: Any, **_: Any) -> Any:
        from langchain_core.runnables import RunnableLambda  # noqa: PLC0415 - only here

        def parse(message: AIMessage) -> dict[str, Any]:
            return {"raw": message, "parsed": {**SAID, "facts": [str(message.text)]}, "parsing_error": None}

        assert schema["properties"].keys() == StructuredSummary.model_fields.keys()
        return self | RunnableLambda(parse)

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> Any:
        from langchain_core.outputs import ChatGeneration, ChatResult  # noqa: PLC0415 - only here

        assert isinstance(messages[-1], HumanMessage)
        return ChatResult(
            generations=[ChatGeneration(message=AIMessage("PSST barges gulls parcel keeper light harbour"))]
        )


SAID = {"description": "harbour log of barges", "purpose": "", "decisions": [], "open_items": [], "named_things": []}


async def test_summaries_are_not_heard_in_the_users_stream(harness: Harness) -> None:
    await talk(harness, 12)
    harness.resources.models["spoken"] = SpokenSummary()
    harness.resources.settings = harness.resources.settings.model_copy(
        update={"summary_model": "spoken", "context_window": 8_000}
    )
    harness.model.script[:] = [says("Three barges.")]
    config: Any = {"configurable": {"thread_id": str(thread_key("default", "t"))}}
    heard = []
    asked: Any = {"messages": [HumanMessage("What came on day 3?")]}
    parts: AsyncIterator[Any] = harness.agent._graph.astream(asked, config, stream_mode="messages")
    async for message, about in parts:
        assert NO_STREAM not in (about.get("tags") or [])
        heard.append(str(message.text))
    assert "harbour log of barges" in harness.segment("Summary"), "the model's summary was taken"
    assert "Three barges." in heard
    assert not any("PSST" in text for text in heard)


@pytest.mark.parametrize("place", [0.02, 0.5, 0.97])
async def test_a_needle_anywhere_in_a_long_thread_comes_back_word_for_word(harness: Harness, place: float) -> None:
    needle = "The key of the lighthouse hangs behind the third oak, MALVOLIO-77, and nobody knows."
    window, texts = 4_000, list[str]()
    while tokens.count(" ".join(texts)) < 3 * window:
        texts.append(f"Entry {len(texts)}. {LINE.format(n=len(texts)) * 12}")
    long = "".join(f"{n} fathoms; " for n in range(700))
    at = int(place * len(texts))
    texts[at] = f"{long[:3_500]} {needle} {long[3_500:]}"
    for n, text in enumerate(texts):
        await harness.memory().write_conversational_memory("t", ("user", "assistant")[n % 2], text)
    await harness.ask("Where is the key?", says("I look."), context_window=window)
    found = harness.window()
    for id_ in dict.fromkeys(ids_in(found) + re.findall(r"summary_id='([0-9a-f-]{36})'", found)):
        found += await read_all(harness.memory().read_summary_memory, id_)
    assert needle in found.replace("\n", "")
