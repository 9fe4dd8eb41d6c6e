"""The agent: its nodes, and its edges in the order of the flow."""

from langgraph.graph import END, START, StateGraph

from graph.context import Context
from graph.routing import after_assemble, after_check, after_llm, after_tools
from graph.state import InputState, State
from nodes.assemble_context import assemble_context
from nodes.check_window import check_window
from nodes.compact import compact
from nodes.execute_tools import execute_tools
from nodes.llm import llm
from nodes.persist_workflow import persist_workflow
from nodes.retrieve_tools import retrieve_tools

builder = StateGraph(State, context_schema=Context, input_schema=InputState)

builder.add_node(assemble_context)
builder.add_node(check_window)
builder.add_node(compact)
builder.add_node(retrieve_tools)
builder.add_node(llm)
builder.add_node(execute_tools)
builder.add_node(persist_workflow)

builder.add_edge(START, "assemble_context")
builder.add_conditional_edges("assemble_context", after_assemble)
builder.add_conditional_edges("check_window", after_check)
builder.add_edge("compact", "check_window")
builder.add_edge("retrieve_tools", "llm")
builder.add_conditional_edges("llm", after_llm)
builder.add_conditional_edges("execute_tools", after_tools)
builder.add_edge("persist_workflow", END)

graph = builder.compile(name="ricordo")
"""Without a checkpointer: the server brings its own, `graph.notebook` compiles the same builder with one."""
