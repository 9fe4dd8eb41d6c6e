from uuid import uuid4

import pytest

from ricordo.common.errors import InputError, NotFoundError, ThreadOwnerError
from ricordo.common.text import make_id
from ricordo.models.embeddings import Embedder
from ricordo.stores.entity import Entity
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.vectors import ensure_space
from ricordo.stores.tool_log import LoggedCall
from ricordo.stores.turn import Turn

T = make_id("thread", "anna", "t")


@pytest.fixture
async def memory(db: Database, embedder: Embedder) -> MemoryManager:
    await ensure_space(db.dsn, embedder)
    return MemoryManager(db, embedder, "anna")


async def test_a_conversation_is_read_in_order_and_as_it_was_said(memory: MemoryManager) -> None:
    said = ["Ciao, 漢字 👩‍👩‍👧", "> quoted\n## Not a heading", " spaces kept  "]
    for i, text in enumerate(said):
        await memory.write_conversational_memory("t", "assistant" if i % 2 else "user", text)
    passages = await memory.read_conversational_memory("t")
    assert [p.text for p in passages] == said
    assert [p.head.split()[0] for p in passages] == ["user", "assistant", "user"]


async def test_a_replayed_message_is_stored_once(memory: MemoryManager) -> None:
    key = uuid4()
    for _ in range(3):
        await memory.write_conversational_memory("t", "user", "Once.", message_id=key)
    assert len(await memory.read_conversational_memory("t")) == 1


async def test_the_message_that_is_answered_can_be_left_out(memory: MemoryManager) -> None:
    key = await memory.write_conversational_memory("t", "user", "This one.")
    await memory.write_conversational_memory("t", "user", "That one.")
    assert [p.text for p in await memory.read_conversational_memory("t", but=key)] == ["That one."]


async def test_what_postgresql_cannot_carry_is_cleaned_at_the_door(memory: MemoryManager) -> None:
    await memory.write_conversational_memory("t", "user", "a\x00b \ud800 c")
    assert (await memory.read_conversational_memory("t"))[0].text == "ab \ufffd c"


async def test_another_users_thread_is_refused(memory: MemoryManager) -> None:
    thread = str(uuid4())
    await memory.write_conversational_memory(thread, "user", "Mine.")
    other = memory.for_user("berta")
    with pytest.raises(ThreadOwnerError, match="berta"):
        await other.write_conversational_memory(thread, "user", "Mine too?")
    assert await other.read_conversational_memory(thread) == []
    assert await other.threads() == []


@pytest.mark.parametrize("name", ["", "  ", "*", "\x00"])
def test_a_user_needs_a_name_of_its_own(memory: MemoryManager, name: str) -> None:
    with pytest.raises(InputError, match="user"):
        memory.for_user(name)


async def test_a_tool_call_is_logged_whole_and_read_in_pages(memory: MemoryManager) -> None:
    await memory.claim_thread("t")
    call = LoggedCall(T, "run", 1, "c" * 1500, "fetch", {"a": [1, "x"]}, "I fetch.")
    output = "".join(f"{n} 漢字\n" for n in range(3000))
    log_id = await memory.write_tool_log(call, "success", output)
    read, offset = "", 0
    while offset < len(output):
        page = await memory.read_tool_log(str(log_id), offset)
        lines = page.split("\n")[1:]
        read += "\n".join(line.removeprefix("> ") for line in lines)
        offset = len(read)
    assert read == output


async def test_a_call_begun_before_is_found_with_its_outcome(memory: MemoryManager) -> None:
    await memory.claim_thread("t")
    call = LoggedCall(T, "run", 1, "c1", "send", {})
    assert await memory.begin_tool_call(call) is None
    before = await memory.begin_tool_call(call)
    assert before
    assert before["status"] == "running"
    await memory.write_tool_log(call, "success", "sent")
    await memory.write_tool_log(call, "error", "late news")
    after = await memory.begin_tool_call(call)
    assert after
    assert (after["status"], after["output"]) == ("success", "sent"), "the first outcome stands"


async def test_ids_that_are_not_there_are_said_to_be_so(memory: MemoryManager) -> None:
    for wrong in ("nonsense", str(uuid4()), ""):
        with pytest.raises(NotFoundError):
            await memory.read_tool_log(wrong)
        with pytest.raises(NotFoundError):
            await memory.read_summary_memory(wrong)


async def test_one_user_cannot_read_anothers_log_by_its_id(memory: MemoryManager) -> None:
    await memory.claim_thread("t")
    log_id = await memory.write_tool_log(LoggedCall(T, "run", 1, "c", "f", {}), "success", "secret")
    with pytest.raises(NotFoundError):
        await memory.for_user("berta").read_tool_log(str(log_id))


async def test_a_message_can_be_read_back_by_its_id(memory: MemoryManager) -> None:
    key = await memory.write_conversational_memory("t", "user", "The whole of it.")
    assert "> The whole of it." in await memory.read_summary_memory(str(key))


async def test_the_end_of_a_turn_is_written_once(memory: MemoryManager) -> None:
    question = await memory.write_conversational_memory("t", "user", "Who is Prospero Quill?")
    turn = Turn(
        thread_id=T,
        run_id="run",
        question_id=question,
        request="Who is Prospero Quill?",
        answer="A keeper of lamps.",
        stop_reason="answer",
        steps=[{"tool": "search_knowledge_base", "args": {"query": "Prospero"}, "status": "success"}],
        entities=[Entity("Prospero Quill", "name", "Who is Prospero Quill?")],
    )
    for _ in range(2):
        await memory.finish_turn(turn)
    assert [p.text for p in await memory.read_conversational_memory("t")][1:] == ["A keeper of lamps."]
    [workflow] = await memory.read_workflow("Who is Quill?")
    assert '1. search_knowledge_base(query="Prospero") → success' in workflow.text
    [entity] = await memory.read_entity("Prospero")
    assert entity.text == "Prospero Quill (name)\nWho is Prospero Quill?"


async def test_an_entity_gathers_its_mentions_whatever_the_case(memory: MemoryManager) -> None:
    for name, said in [("Perché", "Perché is a boat."), ("PERCHE", "PERCHE sank."), ("perche", "perche was raised.")]:
        message = await memory.write_conversational_memory("t", "user", said)
        await memory.write_entity([Entity(name, "name", said)], message)
    [entity] = await memory.read_entity("the boat Perché")
    assert entity.text.splitlines() == ["Perché (name)", "Perché is a boat.", "PERCHE sank.", "perche was raised."]


async def test_threads_are_listed_the_latest_first(memory: MemoryManager) -> None:
    for name in ("one", "two", "one"):
        await memory.write_conversational_memory(name, "user", "Hello.")
    assert [(t["name"], t["messages"]) for t in await memory.threads()] == [("one", 2), ("two", 1)]


async def test_what_one_knows_is_found_by_a_question_and_by_nobody_else(memory: MemoryManager) -> None:
    await memory.write_knowledge_base("The lamp burns whale oil.", {"source": "lamp.txt", "title": "Lamp"})
    [passage] = await memory.read_knowledge_base("What does the lamp burn?", k=3)
    assert "lamp.txt" in passage.head
    assert await memory.for_user("berta").read_knowledge_base("What does the lamp burn?", k=3) == []
