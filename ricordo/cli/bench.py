"""`ricordo bench`: how long a turn takes, a recall beside many other users, a start with thousands of tools."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ricordo.cli.parts import options, output
from ricordo.cli.parts.progress import progress
from ricordo.cli.parts.stores import open_memory

app = typer.Typer(help="How long a turn takes, a recall, a search for tools.")


@app.command("turn")
@output.command
async def bench_turn(
    memories: Annotated[int, typer.Option(min=0, metavar="N", help="Units in memory before the first turn.")] = 10_000,
    turns: Annotated[int, typer.Option(min=20, metavar="N", help="Turns that are measured, on one thread.")] = 200,
    as_json: options.Json = False,
) -> None:
    """Measure turns of one tool call each, with a stand-in for the chat model that takes no time.

    It works in a scratch database that is dropped afterwards. The time of the embeddings is reported apart.

    \b
    Examples:
      ricordo bench turn
      ricordo bench turn --memories 100000 --json
    """
    from ricordo.evals.benchmark import benchmark_turns
    from ricordo.graph.resources import open_resources

    async with open_resources() as resources:
        with progress() as advance:
            report = await benchmark_turns(resources, memories=memories, turns=turns, progress=advance)
    if as_json:
        output.write_json(report)
        return
    times = report.pop("milliseconds")
    _write_facts(report, 18)
    phases = times.pop("phases_with_their_embeddings")
    output.write("\n")
    _write_times(times | {f"  {name}": spread for name, spread in phases.items()}, 32)


@app.command("thread")
@output.command
async def bench_thread(
    turns: Annotated[int, typer.Option(min=4, metavar="N", help="Turns of the thread.")] = 500,
    window: Annotated[int, typer.Option(min=2000, metavar="TOKENS", help="The model's window.")] = 8_000,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a line for each turn there.")] = None,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw window and checkpoints there.")] = None,
    as_json: options.Json = False,
) -> None:
    """Hold one conversation of hundreds of turns: does the window stay below its threshold, and a turn's cost flat?

    A stand-in for the chat model talks at length, calls tools and opens summaries. In the middle the checkpoints are
    pruned, and the thread goes on. It works in a scratch database that is dropped afterwards.

    \b
    Examples:
      ricordo bench thread
      ricordo bench thread --turns 500 --csv docs/long-thread.csv --svg docs/long-thread.svg
    """
    from ricordo.evals.long_thread import plot, run_long_thread, summary_of, write_csv
    from ricordo.graph.resources import open_resources

    async with open_resources() as resources:
        with progress() as advance:
            rows = await run_long_thread(resources, turns=turns, window=window, progress=advance)
    if csv:
        write_csv(rows, csv)
    if svg:
        plot(rows, svg)
    report = summary_of(rows)
    if as_json:
        output.write_json(report)
    else:
        _write_facts(report, 28)


@app.command("compaction")
@output.command
async def bench_compaction(
    repeats: Annotated[int, typer.Option(min=1, max=50, metavar="N", help="How often each is measured.")] = 20,
    as_json: options.Json = False,
) -> None:
    """Measure counting a full window, compacting 200 messages without a model, and reading a page of a summary.

    It works in a scratch database that is dropped afterwards.

    \b
    Examples:
      ricordo bench compaction
      ricordo bench compaction --json
    """
    from ricordo.evals.compaction import benchmark_compaction
    from ricordo.graph.resources import open_resources

    async with open_resources() as resources:
        with progress() as advance:
            report = await benchmark_compaction(resources, repeats=repeats, progress=advance)
    if as_json:
        output.write_json(report)
        return
    _write_times(report["milliseconds"], 36)


@app.command("tools")
@output.command
async def bench_tools(
    tools: Annotated[int, typer.Option(min=10, metavar="N", help="How many tools are registered.")] = 10_000,
    as_json: options.Json = False,
) -> None:
    """Measure a start with thousands of tools, new ones and unchanged ones, and one search among them.

    The vectors of the deployment's embedding model are random; those of the light model are real. It works in a scratch
    database that is dropped afterwards.

    \b
    Examples:
      ricordo bench tools
      ricordo bench tools --tools 1000 --json
    """
    from ricordo.evals.tool_start import benchmark_tools

    async with open_memory(None) as memory:
        with progress() as advance:
            report = await benchmark_tools(memory.db, memory.embedder, tools=tools, progress=advance)
    if as_json:
        output.write_json(report)
        return
    output.write(f"{'seconds':<30}{'registering':>14}{'until a turn':>14}{'in the background':>19}\n")
    for name, spread in report["seconds"].items():
        registering, ready, after = spread.values()
        output.write(f"{name.replace('_', ' '):<30}{registering:>14.2f}{ready:>14.2f}{after:>19.2f}\n")
    p50, p95 = report["milliseconds"]["search"].values()
    output.write(f"\none search among {report['tools']:,}: p50 {p50:.2f} ms, p95 {p95:.2f} ms\n")


@app.command("tenants")
@output.command
async def bench_tenants(
    memories: Annotated[int, typer.Option(min=100, metavar="N", help="Memories of all users.")] = 100_000,
    users: Annotated[int, typer.Option(min=2, metavar="N", help="Whom they belong to, in uneven shares.")] = 1000,
    queries: Annotated[int, typer.Option(min=20, metavar="N", help="Recalls that are measured.")] = 500,
    as_json: options.Json = False,
) -> None:
    """Measure recall of one user's memories beside those of many others, without the embedding of the question.

    It works in a scratch database that is dropped afterwards. What a recall finds is compared with what a search
    without any index finds.

    \b
    Examples:
      ricordo bench tenants --memories 10000 --users 100
      ricordo bench tenants --memories 100000 --users 1000 --json
    """
    from ricordo.evals.tenants import benchmark_tenants

    async with open_memory(None) as memory:
        with progress() as advance:
            report = await benchmark_tenants(
                memory.db, memory.embedder, memories=memories, users=users, queries=queries, progress=advance
            )
    if as_json:
        output.write_json(report)
        return
    times, found = report.pop("milliseconds"), report.pop("recall_at_10")
    _write_facts(report, 18)
    output.write("\n")
    _write_times(times, 34)
    output.write("\nof the ten best, found\n")
    for name, part in found.items():
        of = part.get("memories", part.get("users"))
        output.write(f"{name.replace('_', ' '):<34}{part['per_cent']:>9.1f}%  ({of})\n")


def _write_facts(facts: Mapping[str, Any], width: int) -> None:
    output.write("".join(f"{name.replace('_', ' '):<{width}} {value}\n" for name, value in facts.items()))


def _write_times(times: Mapping[str, Mapping[str, float]], width: int) -> None:
    output.write(f"{'milliseconds':<{width}}{'p50':>10}{'p95':>10}\n")
    for name, spread in times.items():
        output.write(f"{name.replace('_', ' '):<{width}}{spread['p50']:>10.1f}{spread['p95']:>10.1f}\n")
