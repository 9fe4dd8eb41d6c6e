"""A progress bar on standard error, for work that reports (what, done, all)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """Show bars, one for each kind of work, as long as somebody is looking; give the function to report to."""
    from rich.console import Console
    from rich.progress import Progress, TaskID

    console = Console(stderr=True)
    bars: dict[str, TaskID] = {}
    with Progress(console=console, transient=True, disable=not console.is_terminal) as shown:

        def advance(what: str, done: int, total: int) -> None:
            if what not in bars:
                bars[what] = shown.add_task(what, total=total)
            shown.update(bars[what], completed=done)

        yield advance
