"""The chat at a terminal: a prompt with history, turns that Ctrl-C stops, a gauge after each."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.filters import has_focus
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.shortcuts import CompleteStyle
from rich.console import Console
from rich.text import Text

from ricordo.cli.parts import output
from ricordo.cli.talk.commands import COMMANDS, Leave
from ricordo.cli.talk.lines import Talk
from ricordo.cli.talk.session import Session
from ricordo.cli.talk.turn import TurnView, gauge
from ricordo.common.private import private_folder
from ricordo.common.settings import Settings, get_settings
from ricordo.common.text import clean


class _Interrupted(Exception):  # noqa: N818 - a key, no error
    """Ctrl-C at the prompt."""


class _CleanHistory(FileHistory):
    """History in a file; what is no text does not stop the chat."""

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            super().store_string(clean(string))


async def talk(session: Session) -> int:
    """Talk until the user leaves; return the exit code."""
    settings = get_settings()
    console = Console(highlight=False)
    own = Talk(session, console, TurnView(_say, console))
    history, is_new = _history(settings.home)
    _greet(console, settings, session, is_new=is_new)
    prompt = _prompt(history)
    session.opening.add_done_callback(lambda task: _leave_prompt(prompt, task))
    while True:
        try:
            line = (await prompt.prompt_async([("bold", f"{output.plain(session.thread)} > ")])).strip()
        except EOFError:
            return 0
        except _Interrupted:
            console.print(Text("Ctrl-D or /quit leaves.", "dim"))
            continue
        if not line:
            continue
        try:
            await _take(own, line)
        except Leave:
            return 0
        if session.opening.done():  # it could not be opened, as the line before has told
            return output.FAILED


async def _take(own: Talk, line: str) -> None:
    """Take a line; Ctrl-C stops it and nothing else."""
    before = own.session.answer
    taking = asyncio.create_task(own.take(line))
    with _on_interrupt(taking.cancel):
        await asyncio.wait([taking])
    if taking.cancelled():
        own.console.print(Text("stopped; what was said up to here is kept", "yellow"))
        return
    taking.result()
    answer = own.session.answer
    if answer is not None and answer is not before and answer.context:
        own.console.print(gauge(answer.context))


@contextmanager
def _on_interrupt(act: Callable[[], object]) -> Iterator[None]:
    """Do this on Ctrl-C, instead of what the event loop does."""
    loop, before = asyncio.get_running_loop(), signal.getsignal(signal.SIGINT)
    loop.add_signal_handler(signal.SIGINT, act)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _leave_prompt(prompt: PromptSession[str], opening: asyncio.Task[None]) -> None:
    """End the prompt if the agent could not be opened: there is no use in typing on."""
    error = None if opening.cancelled() else opening.exception()
    if error is not None and prompt.app.is_running:
        prompt.app.exit(exception=error)


def _history(home: Path) -> tuple[History, bool]:
    """Return the history, and whether this is the first chat."""
    file = home / "history"
    try:
        private_folder(home, ours=False, passable=True)
        is_new = not file.exists()
        os.close(os.open(file, os.O_CREAT | os.O_APPEND, 0o600))
    except OSError:  # the database will say what is wrong with the folder, if it needs it
        return InMemoryHistory(), False
    return _CleanHistory(str(file)), is_new


def _greet(console: Console, settings: Settings, session: Session, *, is_new: bool) -> None:
    model = session.model or settings.chat_model
    offline = model == "offline"
    if not is_new:
        console.print(Text(f"ricordo · {model} · /help", "dim"))
    elif offline:
        console.print("[bold]Ricordo[/] is offline: it answers by quoting what it has read, and makes nothing up.")
        console.print("For a chat model set OPENAI_API_KEY, or OPENAI_BASE_URL, in .env. /help lists the commands.")
    else:
        console.print(Text.assemble(("Ricordo", "bold"), f" talks by {model}; RICORDO_MODEL chooses another model."))
        console.print("What it learns stays in its database. .env.example lists the settings, /help the commands.")


def _prompt(history: History) -> PromptSession[str]:
    keys = KeyBindings()
    typing = has_focus("DEFAULT_BUFFER")

    @keys.add("enter", filter=typing)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter", filter=typing)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    options: dict[str, Any] = {"complete_while_typing": False, "complete_style": CompleteStyle.READLINE_LIKE}
    return PromptSession(
        history=history,
        multiline=True,
        prompt_continuation="  ",
        key_bindings=keys,
        completer=WordCompleter(list(COMMANDS), sentence=True),
        interrupt_exception=_Interrupted,
        **options,
    )
