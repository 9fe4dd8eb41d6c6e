"""`ricordo threads`: the conversations that there are."""

from typing import Annotated

import typer

from ricordo.cli.parts import options, output
from ricordo.cli.parts.stores import open_memory

app = typer.Typer(help="The conversations that there are.")


@app.callback()
def _group() -> None:
    """Look at the conversations that there are."""


@app.command("list")
def list_threads(
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
    output.stdout()

    async def show() -> None:
        from ricordo.cli.parts.tables import write_table

        async with open_memory(output.as_text(user)) as memory:
            rows = await memory.threads(limit)
        if as_json:
            output.write_json({"user_id": memory.user_id, "threads": rows})
        elif rows:
            write_table(
                ["thread", "messages", "last used", "id"],
                [(row["name"], row["messages"], row["updated_at"], row["thread_id"]) for row in rows],
            )
        else:
            output.note(f"'{memory.user_id}' has no threads yet: ricordo chat begins one.")

    output.run(show, as_json=as_json)
