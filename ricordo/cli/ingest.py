"""`ricordo ingest`: documents into the knowledge base."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from ricordo.cli.parts import options, output
from ricordo.cli.parts.stores import open_memory

if TYPE_CHECKING:
    from rich.progress import Progress

    from ricordo.stores.ingest import Outcome

_SIGNS = {"new": "+", "replaced": "~", "unchanged": "=", "skipped": "-", "failed": "✗"}


@output.command
async def ingest(
    targets: Annotated[
        list[str], typer.Argument(metavar="PATH|URL|arxiv:ID…", help="Files, directories, web addresses, papers.")
    ],
    user: options.Owner = None,
    as_json: options.Json = False,
) -> int:
    """Store documents in the knowledge base, where every later turn finds them.

    Every user of this database may read what is stored without --user; with it, that user alone.

    PDF, Markdown, text and HTML are read; a directory with all of these that is below it. A file that is named itself
    is read as text whatever its ending. About two chunks of 1,000 characters are embedded a second. A document that is
    there already, and has not changed, is left as it is; one that has changed is replaced. The exit code is 1 if any of
    them failed.

    \b
    Examples:
      ricordo ingest paper.pdf notes/
      ricordo ingest https://www.postgresql.org/docs/current/textsearch-intro.html
      ricordo ingest arxiv:2310.08560
      ricordo ingest ~/papers --user alice --json
    """
    from ricordo.common.settings import get_settings
    from ricordo.stores.ingest import Ingestion
    from ricordo.stores.ingest import ingest as take_in

    outcomes: list[Outcome] = []
    async with open_memory(user, embedding=True) as memory:
        with _Display(quiet=as_json) as display:
            job = Ingestion(memory.knowledge_base, get_settings(), memory.user_id, progress=display.advance)
            for target in targets:
                display.start(target)
                async for outcome in take_in(job, target):
                    outcomes.append(outcome)
                    display.tell(outcome)
    if as_json:
        output.write_json(_report(memory.user_id, outcomes))
    else:
        output.note(_summary(outcomes))
    return output.FAILED if any(outcome.status == "failed" for outcome in outcomes) else 0


class _Display:
    """A bar on standard error, and a line on standard output for each document."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True, highlight=False)
        if console.is_terminal:
            columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
            self._bar = Progress(*columns, TextColumn("chunks"), TimeElapsedColumn(), console=console, transient=True)
            self._bar.add_task("", total=None)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def start(self, target: str) -> None:
        if self._bar is not None:
            self._bar.reset(self._bar.task_ids[0], description=f"reading {output.plain(target)[-60:]}", total=None)

    def advance(self, source: str, done: int, total: int) -> None:
        if self._bar is not None:
            name = f"embedding {output.plain(source)[-60:]}"
            self._bar.update(self._bar.task_ids[0], description=name, completed=done, total=total)

    def tell(self, outcome: "Outcome") -> None:
        if self._quiet:
            return
        line = output.plain(_line(outcome))
        if self._bar is not None and output.stdout().isatty():
            self._bar.console.print(line, markup=False, soft_wrap=True)  # above the bar, not through it
        else:
            output.write(f"{line}\n")


def _line(outcome: "Outcome") -> str:
    size = ""
    if outcome.chunks:
        pages = f"{outcome.pages} pages, " if outcome.pages else ""
        size = f" ({pages}{outcome.chunks} chunks)"
    detail = f": {outcome.detail}" if outcome.detail else ""
    return f"{_SIGNS[outcome.status]} {outcome.status:<9} {outcome.source}{size}{detail}"


def _summary(outcomes: "list[Outcome]") -> str:
    counts = Counter(outcome.status for outcome in outcomes)
    chunks = sum(outcome.chunks for outcome in outcomes if outcome.status in {"new", "replaced"})
    parts = [f"{count} {status}" for status, count in counts.items()]
    return f"{', '.join(parts) or 'nothing to do'}; {chunks} chunks stored"


def _report(user_id: str, outcomes: "list[Outcome]") -> dict[str, Any]:
    names = ("source", "status", "title", "pages", "chunks", "detail")
    return {
        "user_id": user_id,
        "documents": [{name: getattr(outcome, name) for name in names} for outcome in outcomes],
        "counts": Counter(outcome.status for outcome in outcomes),
    }
