"""Run the tools that the model asked for, and log their whole outputs."""

from langchain_core.messages import AIMessage, ToolCall
from langgraph.runtime import Runtime

from ricordo.common.together import together
from ricordo.graph import prompts
from ricordo.graph.context import Context
from ricordo.graph.exchange import exchange_of
from ricordo.graph.limits import limits_of, seconds_left
from ricordo.graph.state import State, StateUpdate
from ricordo.graph.timing import timed
from ricordo.graph.tool_run import ToolRun


@timed
async def execute_tools(state: State, runtime: Runtime[Context]) -> StateUpdate:
    """Answer every call of the last reply with a tool message: its output, a pointer to it, or what went wrong.

    Where all tools that were called return directly, their outputs are the turn's answer.

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
    direct = (
        done
        and not broken
        and all(
            outcome.status == "success" and run.returns_directly(call)
            for call, (_, _, outcome) in zip(reply.tool_calls, done, strict=True)
        )
    )
    late = seconds_left(state, limits_of(runtime)) < 0
    said = [AIMessage("\n\n".join(outcome.output for _, _, outcome in done))] if direct else []
    return {
        "stop_reason": "answer" if direct else "deadline" if late else None,
        "messages": [*(message for _, message, _ in done), *said],
        "tool_calls": [*state["tool_calls"], *(record for record, _, _ in done)],
    }
