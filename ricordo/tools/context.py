"""What left the window comes back: summaries to their messages, cut tool outputs to their whole."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from ricordo.graph import resources
from ricordo.graph.context import Context, thread_of, user_of
from ricordo.stores.passages import Passage, render_all
from ricordo.stores.toolbox.box import toolbox

if TYPE_CHECKING:
    from langgraph.prebuilt import ToolRuntime

    from ricordo.graph.limits import Limits


def _limits(runtime: "ToolRuntime[Context, Any]") -> "Limits":
    from ricordo.graph.limits import limits_of  # noqa: PLC0415 - it imports graph.resources, which imports the shipped tools

    return limits_of(runtime)


@toolbox.register_tool(
    group="context",
    tags=["pages", "summary", "history", "earlier", "original messages", "riassunto"],
    examples=[
        "what was my first question",
        "what exactly did I say at the beginning",
        "quote my earlier message word for word",
        "show the original messages behind the summary",
        "qual era la mia prima domanda",
        "cosa ti avevo detto all'inizio",
    ],
    side_effect=False,
)
async def expand_summary(summary_id: str, page: int = 1, *, runtime: "ToolRuntime[Context, Any]") -> str:
    """Read the original messages behind a summary, word for word.

    Looks up the messages that the summary covers, those of the summaries within it too, and returns them oldest first,
    in pages that fit the window. Use it when the one-line description of a summary is not enough.

    Args:
        summary_id: The id that stands before the description in the Summary Memory.
        page: Which page to read, from 1; the reply says how many there are.
        runtime: Who asks.

    Returns:
        The messages of the page, each with its role and date.
    """
    limits, memory = _limits(runtime), resources.get_resources().manager.for_user(user_of(runtime))
    return await memory.read_summary_memory(summary_id, page, budget=limits.steady_page, count=limits.steady)


@toolbox.register_tool(
    group="context",
    tags=["pages", "tool output", "full result", "rest", "continue", "log"],
    examples=[
        "show the rest of that result",
        "read the full output of the tool",
        "the output was cut, go on",
        "mostra il resto del risultato",
        "leggi tutto l'output dello strumento",
    ],
    side_effect=False,
)
async def read_tool_log(log_id: str, offset: int = 0, *, runtime: "ToolRuntime[Context, Any]") -> str:
    """Read the whole output of an earlier tool call, a part at a time.

    Looks up the output as the tool returned it and returns what fits the window from the offset on. Use it where a
    result shows only its head, its tail and a pointer.

    Args:
        log_id: The id that the pointer names.
        offset: The character to start from, 0 for the beginning; the reply says where the next part starts.
        runtime: Who asks.

    Returns:
        The part of the output, and the offset of the next one.
    """
    limits, memory = _limits(runtime), resources.get_resources().manager.for_user(user_of(runtime))
    return await memory.read_tool_log(log_id, offset, budget=limits.page, count=limits.count)


@toolbox.register_tool(
    group="context",
    tags=["summary", "compact", "summarise", "riassunto", "riassumi"],
    examples=[
        "summarize the conversation so far",
        "summarise what we said using your tool",
        "make a summary of our chat and store it",
        "can you summarize this conversation",
        "make room in the context",
        "riassumi la conversazione fino a qui",
        "riassumi quello che ci siamo detti",
        "fai un riassunto con il tuo strumento",
    ],
)
async def summarize_and_store(thread_id: str = "current", *, runtime: "ToolRuntime[Context, Any]") -> str:
    """Summarise a conversation, store the summary, and free the room that its messages take in the window.

    Takes all messages that no summary covers yet, but for the question being answered, writes a summary of them, stores
    it with a one-line description, and marks the messages with its id. Nothing is deleted: expand_summary gives the
    messages back word for word.

    Args:
        thread_id: The name or the id of the thread to summarise; "current" for this conversation.
        runtime: Who asks, and on which thread.

    Returns:
        The summary with its id, or why there is none.
    """
    from ricordo.graph.compaction.history import compact_thread  # noqa: PLC0415 - as for the limits

    memory = resources.get_resources().manager.for_user(user_of(runtime))
    here = thread_id.strip().casefold() in {"", "current"}
    thread = thread_of(runtime) if here else await memory.thread_called(thread_id)
    asked = runtime.state.get("question_id")
    made = await compact_thread(memory, thread, _limits(runtime), but=UUID(asked) if asked else None)
    if not made:
        return (
            f"Nothing to summarise: every message of the thread {thread_id!r} is under a summary, or there is none. "
            'For this conversation thread_id is "current".'
        )
    texts = {row["id"]: row["content"] for row in await memory.summaries(thread)}
    return render_all(
        Passage(
            str(one.summary_id),
            f"summary id={one.summary_id} covers {one.covered} messages: {one.description}",
            texts.get(one.summary_id, one.description),
        )
        for one in made
    )
