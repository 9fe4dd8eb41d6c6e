"""The knowledge base, asked on purpose; what fits the question comes into the window without it."""

from typing import TYPE_CHECKING, Any

from ricordo.common.errors import InputError
from ricordo.graph import resources
from ricordo.graph.context import Context, user_of
from ricordo.stores.passages import render_all
from ricordo.stores.toolbox.box import toolbox

if TYPE_CHECKING:
    from langgraph.prebuilt import ToolRuntime

_MOST_PASSAGES = 50


@toolbox.register_tool(
    group="search",
    tags=["knowledge base", "documents", "passages", "pdf", "files", "notes", "documenti"],
    examples=[
        "what do my documents say about this",
        "search the knowledge base for",
        "find the passage where the paper explains it",
        "look it up in the files I gave you",
        "cerca nei miei documenti",
        "cosa dice il paper su questo",
        "trova il passaggio nella base di conoscenza",
    ],
    side_effect=False,
)
async def search_knowledge_base(query: str, k: int = 5, *, runtime: "ToolRuntime[Context, Any]") -> str:
    """Search the stored documents (papers, files, web results) for passages, by meaning and by words.

    Use it when the passages that the Knowledge Base Memory shows do not answer the question: ask for one thing at a
    time, in other words than before.

    Args:
        query: What the passage should say, as a question or in key words.
        k: How many passages to return at most, from 1 to 50.
        runtime: Who asks.

    Returns:
        Numbered passages, best first, each with its id, date, source, page and score.
    """
    if not query.strip():
        raise InputError("The query is empty: say what the passage should be about.")
    memory = resources.get_resources().manager.for_user(user_of(runtime))
    passages = await memory.read_knowledge_base(query, max(1, min(k, _MOST_PASSAGES)))
    if not passages:
        return (
            "[nothing found: nothing relevant to this is in the knowledge base. fetch_and_save_paper_to_kb_db saves a "
            "paper; the user can add files by `ricordo ingest`]"
        )
    return render_all(passages)
