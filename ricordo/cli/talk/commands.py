"""The chat's own commands: what begins with a slash."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ricordo.cli.parts import output
from ricordo.cli.parts.tables import local_time
from ricordo.cli.talk.session import Session
from ricordo.cli.talk.turn import gauge


class Leave(Exception):  # noqa: N818 - no error: how the chat ends
    """The user wants to leave."""


@dataclass(frozen=True)
class Chat:
    """What a command works on."""

    session: Session
    console: Console


@dataclass(frozen=True)
class Command:
    """A command of the chat."""

    usage: str
    about: str
    run: Callable[[Chat, str], Awaitable[None]]


async def obey(chat: Chat, line: str) -> None:
    """Run what the user typed after the slash.

    Raises:
        Leave: The user wants to leave.
        RicordoError: The command failed.
    """
    name, _, rest = line.strip().partition(" ")
    command = COMMANDS.get(name.lower())
    if command is None:
        chat.console.print(Text(f"There is no command {output.plain(name)}; /help lists them.", "yellow"))
    else:
        await command.run(chat, rest.strip())


async def _help(chat: Chat, _: str) -> None:
    table = _table()
    for command in COMMANDS.values():
        table.add_row(Text(command.usage, "cyan"), command.about)
    chat.console.print(table)
    keys = "Alt-Enter begins a new line, ↑ brings back what you asked, Ctrl-C stops a turn, Ctrl-D leaves."
    chat.console.print(Text(keys, "dim"))


async def _new(chat: Chat, _: str) -> None:
    chat.session.thread = f"{datetime.now().astimezone():%Y-%m-%d}-{uuid4().hex[:4]}"
    chat.session.answer = None
    chat.console.print(f"A new thread, {chat.session.thread}; everything else that is remembered goes with you.")


async def _thread(chat: Chat, name: str) -> None:
    if name and name != chat.session.thread:
        chat.session.thread, chat.session.answer = name, None
    chat.console.print(Text(f"This is thread {output.plain(chat.session.thread)}."))


async def _threads(chat: Chat, _: str) -> None:
    agent = await chat.session.agent()
    rows = await agent.resources.manager.for_user(chat.session.user).threads(limit=20)
    table = _table()
    for row in rows:
        here = "→" if chat.session.thread in {row["name"], str(row["thread_id"])} else ""
        count = f"{row['messages']} messages"
        table.add_row(here, Text(output.plain(row["name"])), count, local_time(row["updated_at"]))
    chat.console.print(table if rows else "There are no threads yet.")


async def _window(chat: Chat, _: str) -> None:
    if chat.session.answer is None:
        chat.console.print("Nothing has been asked on this thread since the chat began, so no window was filled.")
        return
    use = chat.session.answer.context
    table = _table()
    for name, count in use.get("segments", {}).items():
        table.add_row(name, f"{count:,}", f"{100 * count / use['window']:.1f} %")
    chat.console.print(gauge(use), table, sep="\n")


async def _tools(chat: Chat, _: str) -> None:
    resources = (await chat.session.agent()).resources
    hidden = resources.toolbox.hidden(resources.settings)
    answer = chat.session.answer
    offered = set(answer.tools_offered[-1]) if answer and answer.tools_offered else set[str]()
    table = _table()
    for tool in sorted(resources.toolbox, key=lambda tool: (tool.group, tool.name)):
        mark = "×" if tool.name in hidden else "•" if tool.name in offered else ""
        about = output.plain(tool.description).strip().partition("\n")[0]
        table.add_row(mark, Text(tool.name, "cyan"), tool.group, Text(about, "dim", overflow="ellipsis", no_wrap=True))
    chat.console.print(table)
    chat.console.print(
        Text("• offered to the model in the latest turn   × not available: disabled, broken, or without its key", "dim")
    )


_COUNTS = {
    "threads": "conversations",
    "messages": "what was said, word for word",
    "tool_log": "tool calls with their outputs",
    "summary": "summaries of old turns",
    "documents": "documents",
    "knowledge_base": "passages of documents",
    "workflow": "how requests were solved",
    "entity": "people, places, papers…",
    "user_memory": "facts and wishes of yours",
}


async def _memory(chat: Chat, _: str) -> None:
    from psycopg import sql

    agent = await chat.session.agent()
    counts = sql.SQL(", ").join(
        sql.SQL("(SELECT count(*) FROM {0}) AS {0}").format(sql.Identifier(table)) for table in _COUNTS
    )
    manager = agent.resources.manager.for_user(chat.session.user)
    async with agent.resources.db.transaction(manager.user_id) as conn:
        found = await (await conn.execute(sql.SQL("SELECT {}").format(counts))).fetchone()
    table = _table()
    for name, about in _COUNTS.items():
        table.add_row(name.replace("_", " "), f"{(found or {})[name]:,}", Text(about, "dim"))
    chat.console.print(table)


async def _quit(_chat: Chat, _rest: str) -> None:
    raise Leave


def _table() -> Table:
    return Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))


COMMANDS = {
    "/help": Command("/help", "this list", _help),
    "/new": Command("/new", "begin a new thread", _new),
    "/thread": Command("/thread [NAME]", "go to a thread, or say which one this is", _thread),
    "/threads": Command("/threads", "the latest threads", _threads),
    "/window": Command("/window", "what fills the model's window", _window),
    "/tools": Command("/tools", "the tools that there are", _tools),
    "/memory": Command("/memory", "how much is remembered of what", _memory),
    "/quit": Command("/quit", "leave", _quit),
}
