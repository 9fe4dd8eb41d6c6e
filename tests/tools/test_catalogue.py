"""`read_toolbox`, and the shipped tools as requests find them, in three languages."""

import json
from typing import TYPE_CHECKING, Any

import pytest

from ricordo.common.errors import ToolError
from ricordo.stores.toolbox.box import toolbox
from ricordo.tools.catalogue import read_toolbox

if TYPE_CHECKING:
    from ricordo.graph.resources import Resources

FOUND_FIRST = {
    "fetch_and_save_paper_to_kb_db": [
        "Get more details on a paper on AI",
        "Dammi più dettagli su un articolo di IA",
        "Ottieni maggiori dettagli su un paper sull'intelligenza artificiale",
        "Voglio maggiori informazioni su un articolo scientifico sull'AI",
        "获取一篇关于人工智能的论文的更多细节",
        "获取有关人工智能论文的更多详情",
        "关于一篇AI论文的更多信息",
        "Can you save the content of the paper",
    ],
    "arxiv_search_candidates": [
        "Can you get me the paper MemGPT",
        "cerca un articolo sui grafi",
        "查找关于大模型的论文",
    ],
    "get_current_time": ["what time is it", "che ore sono?", "现在几点了"],
    "expand_summary": ["What was my first question?", "qual era la mia prima domanda?"],
    "summarize_and_store": ["Summarize the conversation so far using your tool", "riassumi la conversazione"],
    "search_knowledge_base": ["search my documents for the definition of attention"],
    "read_tool_log": ["show me the rest of that output"],
}


@pytest.fixture
async def synced(parts: "Resources") -> "Resources":
    await parts.toolbox.sync(parts.db, parts.embedder)
    return parts


async def test_requests_find_the_shipped_tools_at_the_first_place(synced: "Resources") -> None:
    wrong = {}
    for name, requests in FOUND_FIRST.items():
        for text in requests:
            found = await toolbox.search(text, 1, settings=synced.settings)
            if found[0].name != name:
                wrong[text] = found[0].name
    assert wrong == {}


async def found(query: str, **more: Any) -> list[dict[str, str]]:
    tools: list[dict[str, str]] = json.loads(await read_toolbox(query, **more))
    return tools


@pytest.mark.usefixtures("synced")
async def test_read_toolbox_lists_tools_best_first() -> None:
    tools = await found("save a paper to the knowledge base", k=3)
    assert tools[0]["name"] == "fetch_and_save_paper_to_kb_db"
    assert tools[0]["group"] == "papers"
    assert tools[0]["description"].startswith("Fetch the full text of one arXiv paper")
    assert len(tools) == 3
    assert len(await found("anything", k=0)) == 1
    assert len(await found("anything", k=999)) <= 20


@pytest.mark.usefixtures("synced")
async def test_read_toolbox_looks_in_a_group_or_among_tags() -> None:
    assert {tool["group"] for tool in await found("save the paper for another time", k=20, group="time")} == {"time"}
    tagged = await found("what time is it", k=20, tags=["SUMMARY"])
    assert {tool["name"] for tool in tagged} == {"expand_summary", "summarize_and_store"}
    with pytest.raises(ToolError, match=r"no group of tools called 'timing'\. There are context, .*time"):
        await read_toolbox("what time is it", group="timing")


@pytest.mark.usefixtures("synced")
async def test_each_tool_stands_on_a_line_of_its_own() -> None:
    lines = (await read_toolbox("time", 2)).splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("[", "]", 4)
    assert [json.loads(line.rstrip(","))["name"] for line in lines[1:3]]


async def test_read_toolbox_leaves_out_what_is_not_available(
    synced: "Resources", monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "search_tavily" in [tool["name"] for tool in await found("search the web", k=20)]
    monkeypatch.setattr(synced, "settings", synced.settings.model_copy(update={"tavily_api_key": None}))
    assert "search_tavily" not in [tool["name"] for tool in await found("search the web", k=20)]


async def test_an_empty_toolbox_says_so(parts: "Resources", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "toolbox", type(toolbox)())
    assert (await read_toolbox("sing")).startswith("[]\nNo tool fits.")


def test_read_toolbox_is_in_the_toolbox_and_always_offered() -> None:
    tool = toolbox.get("read_toolbox")
    assert tool.pinned
    assert not tool.side_effect
    assert list(toolbox.schema("read_toolbox")["function"]["parameters"]["properties"]) == [
        "query",
        "k",
        "group",
        "tags",
    ]
