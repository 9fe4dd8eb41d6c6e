"""The agent: its nodes, and its edges in the order of the flow."""

from langgraph.graph import END, START, StateGraph

from ricordo.graph.context import Context
from ricordo.graph.routing import after_assemble, after_check, after_llm, after_tools
from ricordo.graph.state import InputState, OutputState, State
from ricordo.nodes.assemble_context import assemble_context
from ricordo.nodes.check_window import check_window
from ricordo.nodes.compact import compact
from ricordo.nodes.execute_tools import execute_tools
from ricordo.nodes.llm import llm
from ricordo.nodes.persist_workflow import persist_workflow
from ricordo.nodes.retrieve_tools import retrieve_tools

builder = StateGraph(State, context_schema=Context, input_schema=InputState, output_schema=OutputState)

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
"""Without a checkpointer: the server brings its own, `ricordo.graph.notebook` compiles the same builder with one."""
graph.stream_channels = graph.output_channels
# A server sends every value of every step: the window alone would be half of it, and memory is not everybody's to read.
