"""`ricordo user`: who has a memory here, and the end of one."""

import asyncio
from typing import Annotated

import typer

from ricordo.cli.parts import options, output
from ricordo.cli.parts.progress import progress
from ricordo.cli.parts.stores import open_memory
from ricordo.cli.parts.tables import write_list

app = typer.Typer(help="Users: list them, delete one with every trace.")


@app.command("list")
@output.command
async def list_users(as_json: options.Json = False) -> None:
    """List the users for whom something is stored.

    \b
    Examples:
      ricordo user list
      ricordo user list --json | jq -r '.users[].user_id'
    """
    from ricordo.stores.users import list_users as read

    async with open_memory(None) as memory:
        users = await read(memory.db)
    counted = ["threads", "messages", "user_memory", "documents"]
    write_list(
        {"users": [{"user_id": u.user_id, "rows": dict(u.rows), "last_seen": u.last_seen} for u in users]},
        ["user", *counted, "last seen"],
        [(u.user_id, *(u.rows.get(table, 0) for table in counted), u.last_seen) for u in users],
        "Nobody has a memory here yet: ricordo chat begins one.",
        as_json=as_json,
    )


@app.command("delete")
@output.command
async def delete_user(
    user: Annotated[str, typer.Argument(metavar="NAME", help="The user, as in the list.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for the name again.")] = False,
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Write the tables anew: nothing of it stays in their files.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Delete a user for good: threads, messages, memories, documents, checkpoints, shares.

    Turns of the user that are under way are waited for. Nobody else's memory is touched. There is no way back.

    Space that is freed in a file keeps its old bytes until something is written over them: whoever can read the
    database's files could still find words there. --rewrite writes the tables anew, and locks each meanwhile. The
    write-ahead log holds them until its files are used again.

    \b
    Examples:
      ricordo user delete anna
      ricordo user delete anna --rewrite
      ricordo user delete anna --yes --json
    """
    from ricordo.common.errors import NotFoundError
    from ricordo.common.settings import get_settings
    from ricordo.server.state import forget_in_files
    from ricordo.stores.users import delete_user as end

    name = output.as_text(user)
    async with open_memory(None) as memory:
        if not yes:
            _ask_for_name(name)
        with progress() as advance:
            wait = get_settings().thread_wait_seconds
            deleted = await end(memory.db, name, wait_seconds=wait, progress=advance, rewrite=rewrite)
    servers = await asyncio.to_thread(forget_in_files, get_settings().home, name, deleted.thread_ids)
    if not any(deleted.rows.values()):
        raise NotFoundError(
            f"Nothing is stored about '{output.plain(name)}': is the name right? `ricordo user list` shows all."
        )
    if as_json:
        output.write_json({"user_id": name, "threads": deleted.threads, "rows": deleted.rows})
        return
    rows = sum(deleted.rows.values())
    output.note(f"deleted {output.plain(name)}: {deleted.threads} threads, {rows} rows")
    if servers:
        output.note("the LangGraph server that is running takes the threads off its list within seconds")
    output.note(
        "in files, freed space and the write-ahead log hold old bytes until they are written over"
        + ("; the tables were written anew" if rewrite else ": --rewrite writes the tables anew")
    )
    output.write("".join(f"{table}\t{count}\n" for table, count in deleted.rows.items()))


def _ask_for_name(name: str) -> None:
    """Let the name be typed again, and end the command if it is another one."""
    shown = output.plain(name)
    with output.answered():
        typed = typer.prompt(f"All that is stored of '{shown}' goes for good. Type the name to go on", err=True)
    if typed != name:
        output.fail(f"That is not '{shown}'. Nothing was deleted.")
