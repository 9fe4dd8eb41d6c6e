"""`ricordo memory`: what is remembered about a user, and how it came to be."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ricordo.cli.memory_output import filter_of, one_line, read_file, report, told, write_rows
from ricordo.cli.parts import options, output
from ricordo.cli.parts.progress import progress
from ricordo.cli.parts.stores import open_memory
from ricordo.cli.parts.tables import write_table

if TYPE_CHECKING:
    from ricordo.stores.user_memory.store import UserMemory

app = typer.Typer(help="What is remembered about a user.")

_Id = Annotated[str, typer.Argument(metavar="ID", help="A memory's id, as in the list.")]
_Type = Annotated[Literal["fact", "preference", "event", "task"] | None, typer.Option("--type", help="Only these.")]
_Importance = Annotated[Literal["low", "medium", "high"] | None, typer.Option("--importance", help="Only these.")]
_Origin = Annotated[Literal["user", "agent", "tool", "import"] | None, typer.Option("--origin", help="Only these.")]
_State = Annotated[
    Literal["live", "superseded", "forgotten", "all"], typer.Option("--state", help="What became of it.")
]
_Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="With this tag, or another one given.")]
_Since = Annotated[str | None, typer.Option("--since", metavar="DATE", help="Said then or later: 2026-11-30.")]
_Until = Annotated[str | None, typer.Option("--until", metavar="DATE", help="Said then or earlier, that day included.")]
_AsOf = Annotated[str | None, typer.Option("--as-of", metavar="DATE", help="What held at the end of that day.")]
_Limit = Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="At most N.")]


@app.command("list")
@output.command
async def list_memories(
    user: options.User = options.DEFAULT_USER,
    type_: _Type = None,
    importance: _Importance = None,
    origin: _Origin = None,
    tag: _Tags = None,
    state: _State = "live",
    since: _Since = None,
    until: _Until = None,
    as_of: _AsOf = None,
    limit: _Limit = 100,
    as_json: options.Json = False,
) -> None:
    """List memories, the newest first.

    \b
    Examples:
      ricordo memory list --type preference
      ricordo memory list --as-of 2026-11-01          what held then
      ricordo memory list --state forgotten           what `ricordo memory undo` can bring back
    """
    async with _memory_of(user) as memory:
        which = filter_of(type_, tag, importance, since, until, as_of, origin=origin, state=state)
        write_rows(memory, await memory.list(which, limit), as_json=as_json, empty="no memories of that kind")


@app.command("search")
@output.command
async def search_memories(
    query: Annotated[str, typer.Argument(metavar="QUESTION", help="What the memories should be about.")],
    user: options.User = options.DEFAULT_USER,
    type_: _Type = None,
    importance: _Importance = None,
    tag: _Tags = None,
    since: _Since = None,
    until: _Until = None,
    as_of: _AsOf = None,
    limit: _Limit = 5,
    as_json: options.Json = False,
) -> None:
    """Find memories as the agent's recall does, what others share included.

    \b
    Examples:
      ricordo memory search "what music do I like"
      ricordo memory search "home" --as-of 2026-03-01
    """
    async with _memory_of(user, embedding=True) as memory:
        which = filter_of(type_, tag, importance, since, until, as_of)
        hits = await memory.recall(output.as_text(query), limit, which, shared=True)
        found = [{**hit.row, "score": round(hit.closeness, 4)} for hit in hits]
        write_rows(memory, found, as_json=as_json, empty="nothing relevant is remembered")


@app.command("show")
@output.command
async def show_memory(memory_id: _Id, user: options.User = options.DEFAULT_USER, as_json: options.Json = False) -> None:
    """Show a memory: what it replaced and what replaced it, and where each comes from.

    \b
    Examples:
      ricordo memory show 1b4e28ba-2fa1-51d2-883f-0016d3cca427
    """
    async with _memory_of(user) as memory:
        line, sources = await memory.show(output.as_text(memory_id))
        if as_json:
            every = [told(row) | {"sources": sources[row["id"]]} for row in line]
            output.write_json({"user_id": memory.user_id, "memories": every})
            return
        for row in line:
            shown = {name: one_line(value) for name, value in told(row).items() if value}
            output.write("".join(f"{name:<14} {output.plain(value)}\n" for name, value in shown.items()))
            for source in sources[row["id"]]:
                where = f"thread {source['thread_id']}" if source["thread_id"] else "no thread"
                said = f"{one_line(source['said_at'])}, by {source['origin']}, {where}: {source['wording']}"
                output.write(f"{'said':<14} {output.plain(said)}\n")
            output.write("\n")


@app.command("history")
@output.command
async def show_history(
    memory_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="One memory; without it, all.")] = None,
    user: options.User = options.DEFAULT_USER,
    limit: _Limit = 100,
    as_json: options.Json = False,
) -> None:
    """Show what was done to memory: when, by whom, why; of one memory also its earlier and later words.

    \b
    Examples:
      ricordo memory history
      ricordo memory history 1b4e28ba-2fa1-51d2-883f-0016d3cca427 --json
    """
    async with _memory_of(user) as memory:
        key = output.as_text(memory_id) if memory_id else None
        events = await memory.history(key, limit)
        line = (await memory.show(key))[0] if key and (not events or events[-1]["action"] != "purge") else []
        if as_json:
            output.write_json({"user_id": memory.user_id, "memories": list(map(told, line)), "events": events})
            return
        if line:
            heads = ["from", "until", "id", "content"]
            write_table(heads, [(r["valid_from"], r["valid_to"], r["id"], r["content"]) for r in line])
            output.write("\n")
        heads = ["when", "who", "what", "id", "why"]
        write_table(heads, [(e["at"], e["actor"], e["action"], e["memory_id"], e["reason"]) for e in events])


@app.command("forget")
@output.command
async def forget_memory(
    memory_id: _Id,
    reason: Annotated[str, typer.Option("--reason", metavar="WHY", help="For the history.")] = "by the user's command",
    user: options.User = options.DEFAULT_USER,
    as_json: options.Json = False,
) -> None:
    """Forget a memory and its earlier words; `ricordo memory undo` brings them back for some time.

    \b
    Examples:
      ricordo memory forget 1b4e28ba-2fa1-51d2-883f-0016d3cca427
    """
    async with _memory_of(user) as memory:
        done = await memory.forget(output.as_text(memory_id), output.as_text(reason), actor="user")
        report(memory, done, "forgot", "what had replaced it still holds", as_json=as_json)


@app.command("undo")
@output.command
async def undo_forgetting(
    memory_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="What; without it, the last.")] = None,
    user: options.User = options.DEFAULT_USER,
    as_json: options.Json = False,
) -> None:
    """Bring back what was forgotten: the last memory, or the given one.

    \b
    Examples:
      ricordo memory undo
      ricordo memory undo 1b4e28ba-2fa1-51d2-883f-0016d3cca427
    """
    async with _memory_of(user) as memory:
        from ricordo.common.settings import get_settings

        key = output.as_text(memory_id) if memory_id else None
        done = await memory.undo(key, days=get_settings().memory_undo_days)
        report(memory, done, "brought back", "by now this holds in its place, so it is in history", as_json=as_json)


@app.command("export")
@output.command
async def export_memories(
    user: options.User = options.DEFAULT_USER,
    to: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file.")] = None,
) -> None:
    """Write all memories with their history as lines of JSON.

    \b
    Examples:
      ricordo memory export > memories.jsonl
      ricordo memory export --user alice -o alice.jsonl
    """
    async with _memory_of(user) as memory:
        from ricordo.stores.user_memory.transfer import export_memory

        lines = await export_memory(memory)
        text = "".join(f"{line}\n" for line in lines)
        if to is None:
            output.write(text)
        else:
            to.write_text(text, encoding="utf-8")
        output.note(f"exported {len(lines)} lines of '{output.plain(memory.user_id)}'")


@app.command("import")
@output.command
async def import_memories(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Lines of JSON; - reads standard input.")],
    user: options.User = options.DEFAULT_USER,
    as_json: options.Json = False,
) -> None:
    """Store what an export holds: all of it or, if a line cannot be read, nothing. Again without effect.

    A line is at least {"content": "The user prefers tea."}; type, importance, tags and dates may follow.

    \b
    Examples:
      ricordo memory import memories.jsonl
      ricordo memory import alice.jsonl --user bob      gives Bob copies of his own
    """
    async with _memory_of(user, embedding=True) as memory:
        from ricordo.stores.user_memory.transfer import import_memory

        with progress() as advance:
            done = await import_memory(memory, read_file(file).split("\n"), progress=partial(advance, "embedding"))
        if as_json:
            output.write_json({"user_id": memory.user_id, **vars(done)})
        else:
            output.note(f"imported {done.memories} memories ({done.known} known already) and {done.events} events")


@app.command("stats")
@output.command
async def show_stats(user: options.User = options.DEFAULT_USER, as_json: options.Json = False) -> None:
    """Count memories: those that hold by type, importance and origin, those replaced, those forgotten."""
    async with _memory_of(user) as memory:
        counts = await memory.stats()
        if as_json:
            output.write_json({"user_id": memory.user_id, **counts})
        else:
            output.write("".join(f"{name:<14} {one_line(value)}\n" for name, value in counts.items()))


@asynccontextmanager
async def _memory_of(user: str, *, embedding: bool = False) -> "AsyncIterator[UserMemory]":
    async with open_memory(user, embedding=embedding) as manager:
        yield manager.user_memory
