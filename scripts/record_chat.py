# ruff: noqa: INP001 - a script, no package
"""Records a real chat, offline and on a database of its own, as the README's picture."""

import asyncio
import io
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ricordo.cli.parts.stores import open_memory
from ricordo.cli.talk.lines import Talk
from ricordo.cli.talk.session import Session
from ricordo.cli.talk.turn import TurnView, gauge
from ricordo.common.settings import get_settings
from ricordo.stores.ingest import ingest

ROOT = Path(__file__).parents[1]
LINES = [
    "Why are there no checkpoints after each node?",
    "What time is it?",
    "What was my first question?",
    "/memory",
]


async def record(console: Console) -> None:
    """Take in the project's own decisions, and talk about them."""
    console.print(Text("$ ricordo ingest docs/decisions.md", "bold"))
    async with open_memory(None, embedding=True) as memory:
        async for outcome in ingest(
            memory.knowledge_base, get_settings(), memory.user_id, str(ROOT / "docs" / "decisions.md")
        ):
            console.print(f"+ {outcome.status}       {outcome.source} ({outcome.chunks} chunks)")
    console.print(Text("$ ricordo chat", "bold"))
    async with Session("1", "default", None) as session:
        talk = Talk(session, console, TurnView(_by_lines(console), console))
        for line in LINES:
            console.print(Text.assemble(("1 > ", "bold"), line))
            before = session.answer
            await talk.take(line)
            if session.answer is not None and session.answer is not before:
                console.print(gauge(session.answer.context))


def _by_lines(console: Console) -> Callable[[str], None]:
    """Print line by line, so that long ones are wrapped as a terminal does."""
    waiting = ""

    def say(text: str) -> None:
        nonlocal waiting
        *lines, waiting = (waiting + text).split("\n")
        for line in lines:
            console.print(Text(line))

    return say


def main() -> None:
    """Write docs/chat.svg."""
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        os.environ["RICORDO_HOME"] = home
        console = Console(record=True, width=100, file=io.StringIO(), highlight=False)
        asyncio.run(record(console))
    picture = console.export_svg(title="ricordo chat")
    # Pictures in a README load no fonts from elsewhere; the viewer's own monospace font does.
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    (ROOT / "docs" / "chat.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
