"""The toolbox, asked by the model itself."""

import json

from ricordo.graph import resources
from ricordo.stores.toolbox.box import toolbox
from ricordo.stores.toolbox.schema import bounded

_MOST_TOOLS = 20
_SHOWN = 300
"""Characters of a description that the list shows; the whole of it comes with the tool in the next step."""


@toolbox.register_tool(
    group="context",
    tags=["tools", "capabilities", "functions", "strumenti"],
    examples=["which tools do you have for this", "find a tool that can", "what can you do", "quali strumenti hai"],
    pinned=True,
    side_effect=False,
)
async def read_toolbox(query: str, k: int = 5, group: str | None = None, tags: list[str] | None = None) -> str:
    """Find tools by what they do; the tools found can be called from the next step on.

    Use it when none of the tools at hand fits what has to be done next.

    Args:
        query: What the tool should do, such as "send an e-mail" or "convert a document to PDF".
        k: How many tools to return at most, from 1 to 20.
        group: Look only in this group, as it stands beside a tool that was found.
        tags: Look only among tools with one of these tags.

    Returns:
        A JSON list, best first: name, description, group.
    """
    parts = resources.get_resources()
    hits = await parts.toolbox.search(
        query,
        max(1, min(k, _MOST_TOOLS)),
        group=group or None,
        tags=tags or (),
        settings=parts.settings,
        embedder=parts.embedder,
    )
    if not hits:
        return "[]\nNo tool fits. Say in other words what it should do, or do without."
    found = [{"name": hit.name, "description": bounded(hit.description, _SHOWN), "group": hit.group} for hit in hits]
    return "[\n" + ",\n".join(json.dumps(tool, ensure_ascii=False) for tool in found) + "\n]"
