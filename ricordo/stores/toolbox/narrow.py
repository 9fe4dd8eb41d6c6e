"""A search among some tools alone."""

from collections.abc import Collection

from ricordo.common.errors import ToolError
from ricordo.stores.toolbox.registered_tool import RegisteredTool


def outside(tools: Collection[RegisteredTool], group: str | None, tags: Collection[str]) -> set[str]:
    """Return the names of the tools that are not of a group, or have none of some tags.

    Raises:
        ToolError: There is no such group, or no tool has such a tag; the message names those that there are.
    """
    if group is not None and all(tool.group != group for tool in tools):
        known = ", ".join(sorted({tool.group for tool in tools if tool.group}))
        raise ToolError(f"There is no group of tools called {group!r}. There are {known or 'none'}.")
    wanted = {tag.casefold() for tag in tags}
    mine = [tool for tool in tools if group in {None, tool.group}]
    left = {tool.name for tool in mine if not wanted or wanted & {tag.casefold() for tag in tool.tags}}
    if wanted and not left:
        known = ", ".join(sorted({tag for tool in mine for tag in tool.tags}))
        raise ToolError(f"No tool there has the tag {', '.join(tags)}. There are {known or 'none'}.")
    return {tool.name for tool in tools} - left
