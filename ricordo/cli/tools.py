"""`ricordo tools`: the tools that the agent can be offered."""

from contextlib import AsyncExitStack
from typing import Annotated, Any

import typer

from ricordo.cli.parts import options, output
from ricordo.cli.parts.toolbox import chosen_model, open_toolbox

app = typer.Typer(help="The tools that the agent can be offered.")

_Name = Annotated[str, typer.Argument(metavar="NAME", help="A tool's name, as in the list.")]
_Group = Annotated[str | None, typer.Option("--group", "-g", metavar="NAME", help="This group alone.")]
_SHOWN = 160
"""Characters of a description in a list."""


@app.callback()
def _group() -> None:
    """Look after the tools; docs/mcp.md tells how tools of your own and of MCP servers join."""


@app.command("list")
def list_tools(
    group: _Group = None,
    as_json: options.Json = False,
) -> None:
    """List all tools: name, group, tags, whether pinned, whether a call has an effect, and why a tool is hidden.

    \b
    Examples:
      ricordo tools list
      ricordo tools list --group web
      ricordo tools list --json | jq -r '.tools[] | select(.hidden) | .name'
    """
    output.stdout()

    async def show() -> None:
        from ricordo.cli.parts.tables import write_table

        async with open_toolbox() as parts:
            hidden = parts.toolbox.hidden(parts.settings)
            found = [parts.describe(tool, hidden) for tool in parts.toolbox if group is None or tool.group == group]
            servers = [vars(state) for state in parts.servers]
        if as_json:
            output.write_json({"tools": found, "mcp_servers": servers})
            return
        write_table(
            ["name", "group", "tags", "pinned", "effect", "hidden", "notes"],
            [
                (
                    tool["name"],
                    tool["group"],
                    ", ".join(tool["tags"]),
                    "pinned" if tool["pinned"] else "",
                    "effect" if tool["side_effect"] else "",
                    tool["hidden"],
                    "; ".join(tool["notes"]),
                )
                for tool in found
            ],
        )
        if not found:
            output.note("There are no such tools: ricordo tools list shows all, with their groups.")

    output.run(show, as_json=as_json)


@app.command("show")
def show_tool(name: _Name, as_json: options.Json = False) -> None:
    """Show a tool as the model sees it, and what else is known of it.

    \b
    Examples:
      ricordo tools show get_current_time
      ricordo tools show get_current_time --json | jq .schema
    """
    output.stdout()

    async def show() -> None:
        import json

        async with open_toolbox() as parts:
            tool = parts.toolbox.get(output.as_text(name))
            known = parts.describe(tool, parts.toolbox.hidden(parts.settings))
            known |= {"description": tool.description, "examples": list(tool.examples), "timeout": tool.timeout}
            known["searched_by"] = parts.toolbox.searched_by.get(tool.name)
            known["schema"] = parts.toolbox.schema(tool.name)
        if as_json:
            output.write_json(known)
            return
        schema = json.dumps(known.pop("schema")["function"]["parameters"], ensure_ascii=False, indent=2)
        flat = {
            key: _words(value) for key, value in known.items() if key not in {"description", "examples", "searched_by"}
        }
        lines = [f"{key:<12} {value}" for key, value in flat.items() if value]
        lines += ["", known["description"], "", "parameters", schema]
        if known["examples"]:
            lines += ["", "examples", *(f"  {example}" for example in known["examples"])]
        if known["searched_by"]:
            lines += ["", "found by, as a model wrote it; the chat model does not see it", known["searched_by"]]
        output.write(output.plain("\n".join(lines)) + "\n")

    output.run(show, as_json=as_json)


@app.command("search")
def search_tools(
    query: Annotated[str, typer.Argument(metavar="TEXT", help="What is to be done.")],
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="How many tools to show.")] = 5,
    group: _Group = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", metavar="TAG", help="With this tag; may be given again.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Find tools by what is to be done, as the agent does before it asks the model.

    \b
    Examples:
      ricordo tools search "get the paper MemGPT"
      ricordo tools search "che ore sono" -k 1 --json
      ricordo tools search "keep this for later" --group memory
      ricordo tools search "papers about graphs" --tag arxiv
    """
    output.stdout()

    async def search() -> None:
        from ricordo.cli.parts.tables import write_table
        from ricordo.common.errors import InputError
        from ricordo.common.sentences import shortened
        from ricordo.common.text import clean

        wanted = clean(output.as_text(query)).strip()
        if not wanted:
            raise InputError("The text is empty: say what is to be done.")
        async with open_toolbox() as parts:
            hits = await parts.toolbox.search(
                wanted,
                k,
                group=group and output.as_text(group),
                tags=[output.as_text(each) for each in tag or ()],
                settings=parts.settings,
                embedder=parts.memory.embedder,
            )
        if as_json:
            output.write_json({"query": wanted, "tools": [vars(hit) for hit in hits]})
        elif hits:
            write_table(
                ["score", "name", "group", "description"],
                [(f"{hit.score:.2f}", hit.name, hit.group, shortened(hit.description, _SHOWN)) for hit in hits],
            )
        else:
            output.note("No tool fits. Say it in other words; ricordo tools list shows all.")

    output.run(search, as_json=as_json)


@app.command("sync")
def sync_tools(
    augment: Annotated[
        bool, typer.Option("--augment", help="Let the chat model write what each tool is found by, and not only some.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Bring the catalogue up to date: index and embed what is new or changed, remove what is gone.

    The agent does the same at every start; here you see the counts, and which tools cannot be used.

    Where there is a chat model, it writes about each tool that is registered with augment=True, and with --augment
    about all of them: what the tool does in everyday words, and requests in which a user would want it. It does so
    once, and again when the tool changes. Only the search sees that text. It costs one short call a tool.

    \b
    Examples:
      ricordo tools sync
      ricordo tools sync --augment
    """
    output.stdout()

    async def sync() -> int:
        from ricordo.cli.parts.progress import progress
        from ricordo.models.chat import OFFLINE
        from ricordo.stores.postgres.connection import alone

        async with AsyncExitStack() as stack:
            parts = await stack.enter_async_context(open_toolbox(synced=False))
            asking = sum(tool.augment for tool in parts.toolbox)
            there_is = parts.settings.chat_model != OFFLINE
            model = chosen_model(parts.settings) if augment or (asking and there_is) else None
            if model:  # two at once would pay twice
                await stack.enter_async_context(
                    alone(parts.memory.db.dsn, "augment", "letting a model write about tools")
                )
            advance = stack.enter_context(progress())
            changes = await parts.toolbox.sync(
                parts.memory.db, parts.memory.embedder, model=model, everything=augment, progress=advance
            )
        counts = {
            "added": len(changes.added),
            "changed": len(changes.changed),
            "removed": len(changes.removed),
            "unchanged": changes.unchanged,
        }
        failed = dict(changes.failed or {})
        if as_json:
            output.write_json(counts | {"failed": failed, "unwritten": list(changes.unwritten)})
            return output.FAILED if changes.unwritten else 0
        output.write("".join(f"{what}\t{count}\n" for what, count in counts.items()))
        for name, why in failed.items():
            output.note(f"{output.plain(name)}: {output.plain(why)}")
        if asking and not model:
            output.note(f"{asking} tools have augment=True, and there is no chat model that could write about them.")
        if changes.unwritten:
            output.note(
                f"The model wrote nothing about {len(changes.unwritten)} tools; the warnings above say why. "
                "What it wrote about others is kept: run the command again for the rest."
            )
        return output.FAILED if changes.unwritten else 0

    output.run(sync, as_json=as_json)


@app.command("disable")
def disable_tool(name: _Name) -> None:
    """Set a tool aside: it is neither offered nor found, by anyone, until it is enabled again.

    Agents that are running see it at their next start.

    \b
    Examples:
      ricordo tools disable search_tavily
    """
    _set_enabled(name, enabled=False)


@app.command("enable")
def enable_tool(name: _Name) -> None:
    """Take a tool back that was disabled.

    \b
    Examples:
      ricordo tools enable search_tavily
    """
    _set_enabled(name, enabled=True)


def _set_enabled(name: str, *, enabled: bool) -> None:
    async def change() -> None:
        wanted = output.as_text(name)
        async with open_toolbox() as parts:
            await parts.toolbox.set_enabled(parts.memory.db, wanted, enabled=enabled)
        output.note(f"{output.plain(wanted)} is {'enabled' if enabled else 'disabled'}; agents see it when they start")

    output.run(change)


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return "; ".join(value) if isinstance(value, list) else str(value or "")
