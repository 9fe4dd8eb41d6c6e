"""Run the tools that the model asked for, and log their whole outputs."""

import time

from langchain_core.messages import AIMessage, ToolCall
from langgraph.runtime import Runtime

from ricordo.common.together import together
from ricordo.graph import prompts
from ricordo.graph.context import Context
from ricordo.graph.exchange import exchange_of
from ricordo.graph.limits import limits_of
from ricordo.graph.state import State, StateUpdate
from ricordo.graph.timing import timed
from ricordo.graph.tool_run import ToolRun


@timed
async def execute_tools(state: State, runtime: Runtime[Context]) -> StateUpdate:
    """Answer every call of the last reply with a tool message: its output, a pointer to it, or what went wrong.

    Raises:
        DatabaseError: The tool log cannot be written.
    """
    reply = next(m for m in reversed(exchange_of(state)) if isinstance(m, AIMessage))
    run = ToolRun(state, runtime, reply)
    broken = [
        (ToolCall(name=call["name"] or "", args={"invalid": call["args"]}, id=call["id"]), call["error"])
        for call in reply.invalid_tool_calls
    ]
    done = await together(
        *(run.call(call) for call in reply.tool_calls),
        *(run.call(call, prompts.INVALID_CALL.format(error=error)) for call, error in broken),
    )
    late = time.time() > state["started_at"] + limits_of(runtime).deadline_seconds
    return {
        "stop_reason": "deadline" if late else None,
        "messages": [message for _, message in done],
        "tool_calls": [*state["tool_calls"], *(record for record, _ in done)],
    }
