"""Runs one tool call: once, within its time, logged whole, and shown as far as it fits."""

import asyncio
import json
import logging
from typing import Any, NamedTuple
from uuid import UUID

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolNode
from pydantic import TypeAdapter

from ricordo.common.errors import RicordoError
from ricordo.common.text import clean
from ricordo.graph import prompts
from ricordo.graph.compaction.steps import is_page
from ricordo.graph.context import thread_of, user_of
from ricordo.graph.limits import limits_of, seconds_left
from ricordo.graph.resources import get_resources
from ricordo.graph.state import State, ToolCallRecord
from ricordo.graph.thread.branch import THREAD_HELD
from ricordo.models import tokens
from ricordo.stores.conversation import Row, thread_key
from ricordo.stores.pages import head_and_tail
from ricordo.stores.tool_log import LoggedCall
from ricordo.stores.toolbox.box import RegisteredTool

_log = logging.getLogger(__name__)

_ANY: TypeAdapter[Any] = TypeAdapter(Any)
_ARTIFACT = 100_000
"""Bytes of JSON of a tool's artifact that its message carries: the state is written at every step."""


class Outcome(NamedTuple):
    """What became of a call."""

    status: str
    output: str
    artifact: Any = None
    """What the tool returned beside its output, for the program and not for the model."""


class ToolRun:
    """The calls of one reply."""

    def __init__(self, state: State, runtime: Any, reply: AIMessage) -> None:
        self._state = state
        self._resources = get_resources()
        self._manager = self._resources.manager.for_user(user_of(runtime))
        self._thread_id = thread_key(self._manager.user_id, thread_of(runtime))
        self._run_id = state["run_id"]
        self._step = state["iterations"]
        self._said = tokens.text_of(reply)
        self._offered = {name for names in state["tools_offered"] for name in names}
        self._limits = limits_of(runtime)

    async def call(self, call: ToolCall, error: str | None = None) -> tuple[ToolCallRecord, ToolMessage, Outcome]:
        """Answer one call.

        Args:
            call: The model's call.
            error: Why it cannot be run, if it cannot.

        Returns:
            What the state keeps of it, the tool message, and the whole of what came out.

        Raises:
            DatabaseError: The log cannot be written; a tool with a side effect has not been run then.
            ThreadBusyError: The thread was lost to another turn; the same holds.
        """
        logged = LoggedCall(
            self._thread_id, self._run_id, self._step, call["id"] or "", call["name"], call["args"], self._said
        )
        before = await self._begin(logged) if self._has_effect(call["name"]) else None
        if error is not None:
            outcome = Outcome("error", error)
        elif before is not None:
            outcome = _what_became_of(before)
        else:
            outcome = await self._run(call)
        log_id = await self._manager.write_tool_log(logged, outcome.status, outcome.output)
        record = ToolCallRecord(name=call["name"], status=outcome.status, log_id=str(log_id))
        return record, self._message(call, log_id, outcome), outcome

    async def _begin(self, logged: LoggedCall) -> Row | None:
        if assure := get_config()["configurable"].get(THREAD_HELD):
            await assure()
        return await self._manager.begin_tool_call(logged)

    def returns_directly(self, call: ToolCall) -> bool:
        """Tell whether a tool's output is the answer, as `return_direct` says."""
        name, toolbox = call["name"], self._resources.toolbox
        return name in toolbox and toolbox.get(name).tool.return_direct

    def _refused(self, call: ToolCall) -> str:
        """Say why a call is not run; nothing if it may be."""
        name, toolbox = call["name"], self._resources.toolbox
        if name not in toolbox or name in toolbox.hidden(self._resources.settings):
            return prompts.NO_TOOL.format(name=name)
        if name not in self._offered:
            return prompts.NOT_OFFERED.format(name=name)
        unknown = toolbox.get(name).unknown(call["args"])
        return prompts.UNKNOWN_ARGUMENT.format(name=name, unknown=unknown) if unknown else ""

    async def _run(self, call: ToolCall) -> Outcome:
        if refused := self._refused(call):
            return Outcome("error", refused)
        name = call["name"]
        registered = self._resources.toolbox.get(name)
        own = registered.timeout or self._resources.settings.tool_timeout_seconds
        seconds = max(0.0, min(own, seconds_left(self._state, self._limits)))
        try:
            async with asyncio.timeout(seconds) as clock:
                return await self._invoke(registered, call)
        except GraphBubbleUp:
            return Outcome("error", f"'{name}' asked to interrupt the turn, which tools cannot do here. Do without it.")
        except Exception as error:  # noqa: BLE001 - what a tool asks to be given may be missing, and ends its call alone
            if not clock.expired():
                return Outcome("error", _explain(error))
            within = f"{seconds:,.1f}".removesuffix(".0") + " seconds"
            return Outcome("error", f"'{name}' was stopped after {within}. Try less at once, or another tool.")

    async def _invoke(self, registered: RegisteredTool, call: ToolCall) -> Outcome:
        node = ToolNode([registered.tool], handle_tool_errors=_explain)
        # The tool sees the turn's state; the node takes its calls from the last message.
        result = await node.ainvoke({**self._state, "messages": [AIMessage("", tool_calls=[call])]})
        if not isinstance(result, dict):
            said = f"'{call['name']}' returned a Command, which steers a graph of its author's and not this one."
            return Outcome("error", said)
        message = result["messages"][-1]
        return Outcome(message.status, clean(tokens.text_of(message)), message.artifact)

    def _message(self, call: ToolCall, log_id: UUID, outcome: Outcome) -> ToolMessage:
        output = text = outcome.output
        size = self._limits.count(output)
        if size > self._limits.page and not is_page(call["name"]):
            note = prompts.POINTER.format(log_id=log_id, tokens=size)
            text = head_and_tail(output, self._limits.page, self._limits.count, note)
        return ToolMessage(
            text,
            name=call["name"],
            tool_call_id=call["id"],
            status="success" if outcome.status == "success" else "error",
            artifact={"log_id": str(log_id), "tokens": size, **_kept(outcome.artifact, call["name"])},
        )

    def _has_effect(self, name: str) -> bool:
        """Tell whether a call must be noted before it runs, so that it is never run twice."""
        toolbox = self._resources.toolbox
        return name in toolbox and toolbox.get(name).side_effect


def _what_became_of(before: Row) -> Outcome:
    """Return the outcome of a call that an earlier process began; it is never run twice."""
    if before["status"] == "running":
        return Outcome("interrupted", prompts.INTERRUPTED)
    return Outcome(before["status"], before["output"])


def _kept(artifact: Any, name: str) -> dict[str, Any]:
    """Return a tool's artifact as the state can hold it: as plain JSON values of a bounded size."""
    if artifact is None:
        return {}
    try:
        whole = _ANY.dump_json(artifact)
    except (ValueError, RecursionError):
        whole = b""
    if not 0 < len(whole) <= _ARTIFACT:
        _log.warning("The artifact of %s is no JSON of at most %d bytes and is left out.", name, _ARTIFACT)
        return {}
    return {"artifact": json.loads(whole)}


def _explain(error: Exception) -> str:
    """Put a tool's failure in words for the model."""
    if not isinstance(error, RicordoError):
        _log.info("A tool failed.", exc_info=error)
    try:
        said = str(error) or "it gave no reason"
    except Exception:  # noqa: BLE001 - an exception that cannot even say what it is
        said = "it gave no reason that can be shown"
    return said if isinstance(error, RicordoError) else f"The tool failed: {type(error).__name__}: {said}"
