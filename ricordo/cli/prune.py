"""`ricordo prune`: what is older or more than the settings keep goes."""

from typing import Annotated

import typer

from ricordo.cli.parts import options, output


@output.command
async def prune(
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only tell what would go.")] = False,
    as_json: options.Json = False,
) -> None:
    """Remove what the settings do not keep: idle threads, old outputs of tools, old checkpoints.

    The agent does this by itself once a day. Within a thread no message ever goes, so every summary can be expanded; a
    thread that has been idle for longer than RICORDO_KEEP_THREADS_DAYS goes as a whole. Unless you set it, threads and
    outputs are kept for good; what goes are checkpoints that a later one has replaced, and memories that were forgotten
    more than RICORDO_MEMORY_UNDO_DAYS (30) ago and can then not be brought back. A thread in use is left alone.

    \b
    Examples:
      ricordo prune --dry-run
      RICORDO_KEEP_TOOL_LOG_DAYS=90 ricordo prune
      ricordo prune --json
    """
    from ricordo.common.settings import get_settings
    from ricordo.graph.thread.checkpoints import checkpointer_of
    from ricordo.stores.postgres.database import open_database
    from ricordo.stores.retention import keep_of
    from ricordo.stores.retention import prune as remove

    settings = get_settings()
    async with open_database(settings) as db, checkpointer_of(db) as saver:
        pruned = await remove(db, saver, keep_of(settings), dry_run=dry_run)
    if as_json:
        output.write_json({"dry_run": dry_run, **pruned.as_dict()})
        return
    lines = [f"{name.replace('_', ' ')}\t{number}\n" for name, number in pruned.as_dict().items() if number]
    output.note(("would go:" if dry_run else "gone:") if lines else "There is nothing to remove.")
    output.write("".join(lines))
