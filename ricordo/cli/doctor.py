"""`ricordo doctor`: what is configured, what can be reached, what is missing, and what to do."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from ricordo.cli.parts import options, output

if TYPE_CHECKING:
    from ricordo.cli.checks.check import Check

_MARKS = {"ok": ("✓", "green"), "missing": ("·", "yellow"), "broken": ("✗", "red")}


@output.command
async def doctor(as_json: options.Json = False) -> int:
    """Check what is configured, what can be reached, what is missing, and say what to do.

    Nothing is sent but a question for the list of models, an empty search at arXiv, and a look at Tavily's address. No
    key is ever shown. The exit code is 1 if something is broken that Ricordo cannot work without.

    \b
    Examples:
      ricordo doctor
      ricordo doctor --json | jq '.checks[] | select(.status != "ok")'
    """
    from ricordo.cli.checks.all import run_checks

    checks = await _with_progress(run_checks())
    broken = [check.name for check in checks if check.status == "broken"]
    if as_json:
        output.write_json({"ok": not broken, "checks": [vars(check) for check in checks]})
    else:
        _show(checks)
    return output.FAILED if broken else 0


async def _with_progress(checks: "dict[str, asyncio.Task[Check]]") -> "list[Check]":
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("") as status:
        pending = set(checks.values())
        while pending:
            status.update(f"checking {', '.join(name for name, task in checks.items() if task in pending)}")
            _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
    return [task.result() for task in checks.values()]


def _show(checks: "list[Check]") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    for check in checks:
        mark, colour = _MARKS[check.status]
        about = Text(output.plain(check.detail))
        if check.advice:
            about.append(f"\n{output.plain(check.advice)}", "yellow")
        table.add_row(Text(mark, colour), Text(check.name, "bold"), about)
    console = Console(file=output.stdout(), highlight=False)
    with suppress(BrokenPipeError):
        console.print(table)
