"""`ricordo threads`: the conversations that there are."""

from typing import Annotated

import typer

from ricordo.cli.parts import options, output
from ricordo.cli.parts.stores import open_memory
from ricordo.cli.parts.tables import write_list

app = typer.Typer(help="The conversations that there are.")


@app.command("list")
@output.command
async def list_threads(
    user: options.User = options.DEFAULT_USER,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="The latest N.")] = 100,
    as_json: options.Json = False,
) -> None:
    """List a user's threads, the latest first.

    \b
    Examples:
      ricordo threads list
      ricordo threads list --user alice -n 10
      ricordo threads list --json | jq -r '.threads[].thread_id'     ids, as Studio and the server's API know them
    """
    async with open_memory(user) as memory:
        rows = await memory.threads(limit)
    write_list(
        {"user_id": memory.user_id, "threads": rows},
        ["thread", "messages", "last used", "id"],
        [(row["name"], row["messages"], row["updated_at"], row["thread_id"]) for row in rows],
        f"'{memory.user_id}' has no threads yet: ricordo chat begins one.",
        as_json=as_json,
    )
