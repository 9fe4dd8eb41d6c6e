"""A small MCP server with the habits that servers have; as a program it speaks over stdio."""

import asyncio
import os
import sys
from typing import Annotated, Any

from mcp.server.fastmcp import FastMCP
from mcp.server.fastmcp.utilities.types import Image
from pydantic import Field

PIXEL = bytes.fromhex("89504e470d0a1a0a")


def make_server(name: str = "Weather desk", **options: Any) -> FastMCP:
    """Make a server whose tools count, fail, hang, die and tell secrets."""
    server = FastMCP(name, instructions="Weather reports for places on earth.", log_level="WARNING", **options)
    calls = 0

    @server.tool()
    def weather_report(place: Annotated[str, Field(description="A town.")], days: int = 1) -> str:
        """Tell the weather of a place for some days."""
        return f"{place}: rain for {days} days"

    @server.tool(name="count.calls/so far")
    def count_calls() -> str:
        """Count how often this was called since the server started."""
        nonlocal calls
        calls += 1
        return f"call {calls} of process {os.getpid()}"

    @server.tool()
    def odd_names(config: str, runtime: str) -> str:
        """Take arguments whose names mean something elsewhere."""
        return f"{config} {runtime}"

    @server.tool(structured_output=False)
    def map_of(place: str) -> list[Any]:
        """Draw a map of a place."""
        return [f"Map of {place}", Image(data=PIXEL * 1000, format="png")]

    @server.tool()
    def fail(reason: str) -> str:
        """Fail for a reason."""
        raise ValueError(f"no way: {reason} {os.environ.get('DESK_API_KEY', '')}")

    @server.tool()
    async def hang(seconds: float) -> str:
        """Wait."""
        await asyncio.sleep(seconds)
        return "woke up"

    @server.tool()
    def die() -> str:
        """Die in the middle of the call."""
        os._exit(3)

    return server


if __name__ == "__main__":
    if sys.argv[1:2] == ["--broken"]:
        sys.exit(f"desk: the key {os.environ['DESK_API_KEY']} is not valid")
    if sys.argv[1:2] == ["--http"]:
        make_server(port=int(sys.argv[2])).run("streamable-http")
    else:
        make_server().run()
