"""The commands of `ricordo`. What is slow to import is imported inside them."""

from typing import Annotated

import typer

from ricordo.cli import (
    ask,
    bench,
    chat,
    compact,
    doctor,
    evals,
    ingest,
    kb,
    memory,
    prune,
    reembed,
    share,
    threads,
    tools,
    user,
)

app = typer.Typer(
    rich_markup_mode=None,  # rich takes longer to import than the help to print
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"ricordo {version('ricordo')}")
        raise typer.Exit


@app.callback()
def ricordo(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Ricordo: an agent that remembers, stays inside its context window, and picks its tools.

    \b
    Start here:
      ricordo chat                        talk to it
      ricordo ingest paper.pdf notes/     give it documents
      ricordo ask "What do they say?"     ask one question
      ricordo doctor                      see what is configured and what is missing

    Settings are environment variables or lines of a .env file; .env.example explains each.
    """


app.command("chat")(chat.chat)
app.command("ask")(ask.ask)
app.command("ingest")(ingest.ingest)
app.command("doctor")(doctor.doctor)
app.command("compact")(compact.compact)
app.command("prune")(prune.prune)
app.command("reembed")(reembed.reembed)
app.add_typer(threads.app, name="threads", no_args_is_help=True)
app.add_typer(kb.app, name="kb", no_args_is_help=True)
app.add_typer(tools.app, name="tools", no_args_is_help=True)
app.add_typer(memory.app, name="memory", no_args_is_help=True)
app.add_typer(user.app, name="user", no_args_is_help=True)
app.add_typer(share.app, name="share", no_args_is_help=True)
app.add_typer(evals.app, name="eval", no_args_is_help=True)
app.add_typer(bench.app, name="bench", no_args_is_help=True)
