"""What `ricordo doctor` says of MCP servers."""

from ricordo.cli.checks.check import Check
from ricordo.common.settings import Settings


async def check_mcp(settings: Settings) -> Check:
    """Start or call every server of the MCP file, and end it again.

    Raises:
        ConfigurationError: The file cannot be read or is malformed.
    """
    from ricordo.stores.toolbox.box import Toolbox
    from ricordo.tools.mcp import mcp_tools

    async with mcp_tools(settings, Toolbox(), warn=False) as states:
        told = [f"{s.name} ({f'{len(s.tools)} tools' if s.status == 'up' else s.status})" for s in states]
    notices = [state.notice for state in states if state.notice]
    detail = ", ".join(told) or "the file names no servers"
    return Check("MCP", "missing" if notices else "ok", detail, " ".join(notices))
