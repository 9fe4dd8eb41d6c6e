"""What the model is told of the shipped tools, and how a call of its reaches them."""

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import StateGraph
from langgraph.prebuilt import ToolNode

from ricordo.graph.context import Context
from ricordo.graph.resources import Resources
from ricordo.graph.state import State, StateUpdate
from ricordo.tools import toolbox

ITALIAN = {"che", "il", "la", "gli", "del", "nei", "nella", "mia", "sul", "ti", "tutto", "salva", "di", "una"}

PARAMETERS = {
    "get_current_time": {"detailed": False},
    "search_tavily": {"query": None, "max_results": 5},
    "arxiv_search_candidates": {"query": None, "k": 5},
    "fetch_and_save_paper_to_kb_db": {"arxiv_id": None, "chunk_size": 1500, "chunk_overlap": 200},
    "search_knowledge_base": {"query": None, "k": 5},
    "expand_summary": {"summary_id": None, "page": 1},
    "summarize_and_store": {"thread_id": "current"},
    "read_tool_log": {"log_id": None, "offset": 0},
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_is_described_and_the_runtime_is_not_one(name: str) -> None:
    function = toolbox.schema(name)["function"]
    properties = function["parameters"]["properties"]
    assert {key: value.get("default") for key, value in properties.items()} == PARAMETERS[name]
    assert all(len(value["description"]) > 15 for value in properties.values())
    assert 80 < len(function["description"]) < 1000
    assert "Args:" not in function["description"]


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_tool_has_phrases_in_two_languages(name: str) -> None:
    tool = toolbox.get(name)
    assert len(tool.examples) >= 5
    assert any(set(phrase.lower().split()) & ITALIAN for phrase in tool.examples)


async def test_a_call_from_the_graph_reaches_a_tool_as_its_user(parts: Resources) -> None:
    await parts.manager.for_user("ada").write_knowledge_base("The tide rises.", {"source": "tides"})
    call = {"name": "search_knowledge_base", "args": {"query": "tide"}, "id": "1", "type": "tool_call"}

    async def tools(state: State) -> StateUpdate:
        del state
        node = ToolNode([toolbox.get("search_knowledge_base").tool])
        result = await node.ainvoke({"messages": [AIMessage("", tool_calls=[call])]})
        return {"messages": result["messages"]}

    builder = StateGraph(State, context_schema=Context)
    builder.add_node("tools", tools)
    builder.set_entry_point("tools")
    graph = builder.compile()
    for user, found in (("ada", True), ("bo", False)):
        result = await graph.ainvoke({"messages": []}, context=Context(user_id=user))
        assert ("The tide rises." in result["messages"][-1].content) is found
