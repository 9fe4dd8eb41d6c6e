"""Pages that were read: told as read if they were, and summed up when their steps are put in short."""

from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from ricordo.graph.compaction import results
from ricordo.graph.compaction.steps import Steps, _line
from ricordo.graph.context import Context
from ricordo.graph.limits import Limits, limits_of
from ricordo.graph.resources import Resources, in_use
from ricordo.models.embeddings import Embedder
from ricordo.stores.conversation import thread_key
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import Database
from ricordo.stores.tool_log import LoggedCall
from ricordo.tools import toolbox
from tests.support.harness import calls


def row(status: str, tool: str = "read_tool_log") -> dict[str, Any]:
    return {"id": 1, "tool": tool, "args": {"log_id": "x"}, "status": status, "tokens": 9}


def test_a_page_that_failed_is_not_told_as_read() -> None:
    assert _line(row("success")) == '> read_tool_log(log_id="x"): read; call it again for the page'
    assert "read;" not in _line(row("error"))
    assert "error" in _line(row("error"))


def exchange(status: str) -> list[AnyMessage]:
    """Two steps, each with a page."""
    found: list[AnyMessage] = []
    for n in range(2):
        asked = calls(("read_tool_log", {"log_id": f"log {n}"}))
        asked.tool_calls[0]["id"] = f"c{n}"
        page = ToolMessage("Puffins nest here. " * 200, name="read_tool_log", tool_call_id=f"c{n}", status=status)
        found += [asked, page]
    return found


def test_only_a_page_that_was_read_can_be_asked_for_again() -> None:
    assert len(results.results_in(exchange("success"), pages=True)) == 2
    assert results.results_in(exchange("error"), pages=True) == []


@pytest.fixture
def limits(db: Database, embedder: Embedder) -> Any:
    from ricordo.common.settings import Settings  # noqa: PLC0415 - read in the test's environment

    settings = Settings(model="offline", context_window=8_000)
    with in_use(Resources(settings, db, embedder, MemoryManager(db, embedder, "anna"), toolbox)):
        yield limits_of(SimpleNamespace(context=Context(user_id="anna")))


def test_pages_of_earlier_steps_stay_until_they_are_summed_up(limits: Limits) -> None:
    assert results.with_pointers(exchange("success"), limits) == exchange("success")


async def test_what_was_read_over_several_pages_survives_being_put_in_short(
    limits: Limits, db: Database, embedder: Embedder
) -> None:
    memory = MemoryManager(db, embedder, "anna")
    await memory.claim_thread("t")
    groups: list[list[AnyMessage]] = []
    pages = ["Lamp {n} of Skerry Point burns rape oil. ", "The keeper of lamp {n} is called Quill the {n}th. "]
    for n, told in enumerate("".join(page.format(n=n) for n in range(20)) for page in pages):
        args = {"log_id": "5b0b6a52-8f0e-5a55-9f2d-0f6f1c1f7a10", "offset": n * 100}
        logged = LoggedCall(thread_key("anna", "t"), "run", n, f"c{n}", "read_tool_log", args)
        log_id = await memory.write_tool_log(logged, "success", f"> {told}")
        asked = AIMessage("", tool_calls=[{"name": "read_tool_log", "args": args, "id": f"c{n}"}], id=f"m{n}")
        artifact = {"log_id": str(log_id), "tokens": 9}
        groups.append([asked, ToolMessage(told, name="read_tool_log", tool_call_id=f"c{n}", artifact=artifact)])
    short = await Steps(groups, memory, "run").in_short(limits, 600, 10)
    assert "rape oil" in str(short.text)
    assert "is called Quill" in str(short.text)
