"""A chat's lines, wherever they come from: commands are obeyed, all else is asked."""

import asyncio
import sys

from rich.console import Console

from ricordo.cli.parts import output
from ricordo.cli.talk.commands import Chat, Leave, obey
from ricordo.cli.talk.session import Session
from ricordo.cli.talk.turn import TurnView


class Talk:
    """Takes line after line."""

    def __init__(self, session: Session, console: Console, view: TurnView) -> None:
        self.session = session
        self.console = console
        self._view = view

    async def take(self, line: str) -> bool:
        """Obey or ask.

        Returns:
            False if it failed; what went wrong has been told.

        Raises:
            Leave: The user wants to leave.
        """
        try:
            if line.startswith("/"):
                await obey(Chat(self.session, self.console), line)
                return True
            return await self._ask(line)
        except Leave:
            raise
        except Exception as error:  # noqa: BLE001 - told in a line; the talk goes on
            output.report(error)
            return False

    async def _ask(self, question: str) -> bool:
        self._view.begin()
        before = self.session.answer
        try:
            async for event in self.session.turn(question):
                self._view.show(event)
        finally:
            self._view.end()
        answer = self.session.answer
        return answer is not None and answer is not before and answer.stop_reason != "error"


async def answer_lines(session: Session) -> int:
    """Take each line of standard input; answers go to standard output, all else to standard error.

    Returns:
        The exit code: a failure if a line failed.
    """
    console = Console(stderr=True, highlight=False)
    talk = Talk(session, console, TurnView(output.write, console))
    well = True
    await session.agent()
    while line := await asyncio.to_thread(sys.stdin.buffer.readline):
        if text := line.decode("utf-8", "replace").strip():
            try:
                well = await talk.take(text) and well
            except Leave:
                break
    return 0 if well else output.FAILED
