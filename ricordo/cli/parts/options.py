"""Options that several commands have."""

from typing import Annotated

import typer

User = Annotated[str, typer.Option("--user", "-u", metavar="NAME", help="Whose memory is read and written.")]
Owner = Annotated[
    str | None,
    typer.Option("--user", "-u", metavar="NAME", help="This user's own documents; without it, those for everyone."),
]
Thread = Annotated[
    str, typer.Option("--thread", "-t", metavar="NAME", help="The conversation: any name, or the id of a thread.")
]
Model = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="PROVIDER:NAME", help="Another chat model than RICORDO_MODEL, or offline."),
]
Json = Annotated[bool, typer.Option("--json", help="Write one JSON object instead of text.")]

DEFAULT_USER = "default"
DEFAULT_THREAD = "1"
