"""`ricordo compact`: old turns of a thread go under summaries."""

from types import SimpleNamespace
from typing import Annotated

import typer

from ricordo.cli.parts import options, output


@output.command
async def compact(
    thread: Annotated[str, typer.Argument(metavar="THREAD", help="A thread's name or id; ricordo threads list.")],
    user: options.User = options.DEFAULT_USER,
    model: options.Model = None,
    as_json: options.Json = False,
) -> None:
    """Summarise all of a thread that no summary covers yet.

    The agent does this by itself when the window fills. Nothing is lost: the messages stay in memory word for word, the
    window shows a line for each summary instead, and the agent opens the originals when it needs them.

    \b
    Examples:
      ricordo compact 1
      ricordo compact work --user alice
      ricordo compact work --model offline      without a model, by quoting what matters
    """
    from ricordo.common.errors import NotFoundError
    from ricordo.graph.compaction.history import compact_thread
    from ricordo.graph.context import Context
    from ricordo.graph.limits import limits_of
    from ricordo.graph.resources import open_resources
    from ricordo.stores.conversation import thread_key

    name = output.as_text(thread)
    async with open_resources() as resources:
        memory = resources.manager.for_user(output.as_text(user))
        async with resources.db.transaction(memory.user_id) as conn:
            key = thread_key(memory.user_id, name)
            known = await conn.execute("SELECT FROM threads WHERE thread_id = %s", (key,))
        if not known.rowcount:
            raise NotFoundError(f"'{memory.user_id}' has no thread '{name}'. `ricordo threads list` shows them.")
        limits = limits_of(SimpleNamespace(context=Context(user_id=memory.user_id, model=model)))
        made = await compact_thread(memory, name, limits)
    if as_json:
        output.write_json({"thread": name, "user_id": memory.user_id, "summaries": [vars(one) for one in made]})
        return
    for one in made:
        what = "summaries" if one.level else "messages"
        output.write(f"{one.summary_id}  {one.covered} {what}: {output.plain(one.description)}\n")
    if not made:
        output.note(f"There is nothing to summarise in thread '{name}': summaries cover all of it already.")
