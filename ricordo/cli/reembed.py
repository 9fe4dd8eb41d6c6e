"""`ricordo reembed`: a change of embedding model."""

from ricordo.cli.parts import options, output
from ricordo.cli.parts.progress import progress
from ricordo.cli.parts.stores import open_memory


@output.command
async def reembed(as_json: options.Json = False) -> None:
    """Embed all of memory anew, with the model that RICORDO_EMBEDDINGS names.

    The agent goes on answering: what is not done yet is found by its words. Stopped or killed, it goes on where it was
    when it is started again. Agents that run with the old setting need a new start afterwards.

    \b
    Examples:
      RICORDO_EMBEDDINGS=minilm ricordo reembed
      ricordo reembed --json
    """
    from ricordo import tools  # noqa: F401 - registers the shipped tools, whose catalogue is embedded too
    from ricordo.stores.search.reembed import reembed as embed_anew
    from ricordo.stores.toolbox.box import toolbox

    async with open_memory(None) as memory:
        with progress() as advance:
            done = await embed_anew(memory.db, memory.embedder, progress=advance)
            await toolbox.sync(memory.db, memory.embedder)
    if as_json:
        output.write_json({"model": done.model, "before": done.before, "units": done.units})
        return
    output.note(f"{sum(done.units.values())} units are embedded by {done.model} now.")
    output.write("".join(f"{table}\t{count}\n" for table, count in done.units.items()))
