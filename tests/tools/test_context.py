import re

import pytest

from ricordo.common.errors import NotFoundError
from ricordo.graph.resources import Resources
from ricordo.stores.conversation import thread_key
from ricordo.stores.tool_log import LoggedCall
from ricordo.tools.context import expand_summary, read_tool_log, summarize_and_store
from tests.tools.conftest import MakeRuntime

SAID = [
    ("user", "Which oil does the lamp of Skerry Point burn?"),
    ("assistant", "Rape oil, four litres a night."),
    ("user", "And who keeps it?"),
    ("assistant", "Ada Quill keeps it since 1871."),
]


async def talk(parts: Resources, thread: str = "t", user: str = "ada") -> list[str]:
    memory = parts.manager.for_user(user)
    return [str(await memory.write_conversational_memory(thread, role, text)) for role, text in SAID]


def id_in(told: str) -> str:
    found = re.search(r"summary id=(\S+)", told)
    assert found
    return found[1]


async def test_a_summary_gives_its_messages_back_word_for_word(parts: Resources, runtime: MakeRuntime) -> None:
    await talk(parts)
    told = await summarize_and_store(runtime=runtime())
    assert "covers 4 messages" in told
    original = await expand_summary(id_in(told), runtime=runtime())
    for role, text in SAID:
        assert f"{role} · " in original
        assert f"> {text}" in original


async def test_the_question_being_answered_is_not_summarised(parts: Resources, runtime: MakeRuntime) -> None:
    *_, question = await talk(parts)
    now = runtime()
    now.state["question_id"] = question
    told = await summarize_and_store(runtime=now)
    assert "covers 3 messages" in told
    assert SAID[-1][1] not in await expand_summary(id_in(told), runtime=runtime())


async def test_another_thread_is_summarised_by_its_name(parts: Resources, runtime: MakeRuntime) -> None:
    await talk(parts, "yesterday")
    assert "Nothing to summarise" in await summarize_and_store(runtime=runtime())
    assert "covers 4 messages" in await summarize_and_store("yesterday", runtime=runtime())
    again = await summarize_and_store("yesterday", runtime=runtime())
    assert '"current"' in again


async def test_summaries_and_logs_are_their_owners_alone(parts: Resources, runtime: MakeRuntime) -> None:
    await talk(parts)
    assert "Nothing to summarise" in await summarize_and_store(runtime=runtime("bo"))
    summary_id = id_in(await summarize_and_store(runtime=runtime()))
    with pytest.raises(NotFoundError):
        await expand_summary(summary_id, runtime=runtime("bo"))


async def log(parts: Resources, output: str) -> str:
    memory = parts.manager.for_user("ada")
    await memory.write_conversational_memory("t", "user", "hello")
    call = LoggedCall(thread_key("ada", "t"), "r", 1, "c1", "search_tavily", {})
    return str(await memory.write_tool_log(call, "success", output))


async def test_a_long_output_is_read_to_its_end_without_a_gap(parts: Resources, runtime: MakeRuntime) -> None:
    output = "\n".join(f"line {n} of a long output" for n in range(3000))
    log_id, offset, read = await log(parts, output), 0, ""
    for _ in range(100):
        told = await read_tool_log(log_id, offset, runtime=runtime(context_window=8000))
        head, *lines = told.split("\n")
        read += "\n".join(line.removeprefix("> ") for line in lines)
        more = re.search(r"offset=(\d+)", head)
        if not more:
            break
        assert int(more[1]) > offset
        offset = int(more[1])
    assert read == output


@pytest.mark.parametrize("given", ["", "1", "the first one", "0b8f6f0e-0d0c-4c53-9a7e-2d64a7d0a001"])
async def test_an_unknown_id_says_where_ids_stand(parts: Resources, runtime: MakeRuntime, given: str) -> None:
    assert parts
    with pytest.raises(NotFoundError, match="id"):
        await expand_summary(given, runtime=runtime())
    with pytest.raises(NotFoundError, match="id"):
        await read_tool_log(given, runtime=runtime())


async def test_pages_and_offsets_out_of_bounds_say_the_bounds(parts: Resources, runtime: MakeRuntime) -> None:
    await talk(parts)
    summary_id = id_in(await summarize_and_store(runtime=runtime()))
    for page in (0, 2, -1):
        with pytest.raises(NotFoundError, match="pages 1 to 1"):
            await expand_summary(summary_id, page, runtime=runtime())
    log_id = await log(parts, "short")
    for offset in (-1, 6):
        with pytest.raises(NotFoundError, match="0 to"):
            await read_tool_log(log_id, offset, runtime=runtime())


async def test_a_thread_is_known_by_its_id_and_by_its_name_in_any_case(parts: Resources, runtime: MakeRuntime) -> None:
    await talk(parts, "Last Week")
    with pytest.raises(NotFoundError, match=r"no thread 'tomorrow'.*'Last Week'"):
        await summarize_and_store("tomorrow", runtime=runtime())
    assert "covers 4 messages" in await summarize_and_store('"last week"', runtime=runtime())
    await talk(parts, "yesterday")
    assert "covers 4 messages" in await summarize_and_store(str(thread_key("ada", "yesterday")), runtime=runtime())


@pytest.mark.parametrize("given", ["current", "t", str(thread_key("ada", "t")), "T"])
async def test_however_the_thread_is_named_its_question_is_not_summarised(
    parts: Resources, runtime: MakeRuntime, given: str
) -> None:
    *_, question = await talk(parts)
    now = runtime()
    now.state["question_id"] = question
    assert "covers 3 messages" in await summarize_and_store(given, runtime=now)
