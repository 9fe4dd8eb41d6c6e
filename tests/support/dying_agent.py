"""Asks one question in a process that kills itself: `python dying_agent.py MOMENT QUESTION THREAD`.

The moment is `NODE` or `NODE:N`, the Nth entry into a node; `end`, when the turn is over; or `tool`, when a tool has
had its effect and not yet returned.
"""

import asyncio
import functools
import importlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

NODES = (
    "assemble_context",
    "check_window",
    "compact",
    "retrieve_tools",
    "llm",
    "execute_tools",
    "persist_workflow",
)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(node: str, entry: int) -> None:
    """Let the process die when a node is entered for the so-manieth time; before the graph is imported."""
    module = importlib.import_module(f"ricordo.nodes.{node}")
    lives = getattr(module, node)
    entries = 0

    @functools.wraps(lives)
    async def dies(state: Any, runtime: Any) -> Any:
        nonlocal entries
        entries += 1
        if entries == entry:
            die()
        return await lives(state, runtime)

    setattr(module, node, dies)


def register_note_down(notes: Path, *, deadly: bool) -> None:
    """Register a tool that has an effect outside the database: a line in a file."""
    from ricordo.tools import toolbox  # noqa: PLC0415 - after the nodes are armed

    @toolbox.register_tool(group="test", tags=["note"], examples=["note it down"], pinned=True)
    async def note_down(text: str) -> str:
        """Write a line into the notebook.

        Args:
            text: The line.
        """
        with notes.open("a") as file:
            file.write(f"{text}\n")
        if deadly:
            die()
        return "Noted."


async def main(moment: str, question: str, thread: str) -> None:
    node, _, entry = moment.partition(":")
    if node in NODES:
        arm(node, int(entry or 1))
    register_note_down(Path(os.environ["NOTES"]), deadly=node == "tool")
    from ricordo.graph.notebook import open_agent  # noqa: PLC0415 - after the nodes are armed

    async with open_agent() as agent:
        await agent.ask(question, thread)
        if node == "end":
            die()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
