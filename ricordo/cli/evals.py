"""`ricordo eval`: how well memory and the toolbox find what they should."""

from contextlib import AsyncExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.cli.parts import options, output
from ricordo.cli.parts.progress import progress
from ricordo.cli.parts.stores import open_memory
from ricordo.cli.parts.toolbox import chosen_model, open_toolbox

if TYPE_CHECKING:
    from ricordo.evals import memory, tools

app = typer.Typer(help="How well memory and the toolbox find what they should.")

_Depth = Annotated[int, typer.Option("-k", min=1, metavar="N", help="How many results count.")]


class By(StrEnum):
    """What tools are found by."""

    both = "both"
    words = "words"
    meaning = "meaning"
    groups = "groups"
    """Both, and compared with other ways to search by groups."""


@app.command("memory")
@output.command
async def eval_memory(
    turns: Annotated[Path, typer.Option(metavar="FILE", help="JSONL: conversation, id, date, speaker, text.")],
    queries: Annotated[Path, typer.Option(metavar="FILE", help="JSONL: conversation, query, category, evidence.")],
    k: _Depth = 10,
    as_json: options.Json = False,
) -> None:
    """Store the turns of conversations as memories and see which questions find the turns that answer them.

    It works in a scratch database that is dropped afterwards.

    \b
    Examples:
      ricordo eval memory --turns turns.jsonl --queries queries.jsonl
      ricordo eval memory --turns turns.jsonl --queries queries.jsonl -k 20 --json | jq .recall
    """
    from ricordo.evals.memory import evaluate_memory

    async with open_memory(options.DEFAULT_USER) as memory:
        with progress() as advance:
            report = await evaluate_memory(turns, queries, k, db=memory.db, embedder=memory.embedder, progress=advance)
    if as_json:
        output.write_json(report.as_dict())
    else:
        output.write(_memory_report(report))


@app.command("tools")
@output.command
async def eval_tools(
    queries: Annotated[Path, typer.Option(metavar="FILE", help="JSONL: task, ground_truth_tools.")],
    tools: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="JSONL: name, description, parameters, group, tags. None: the agent's tools."
        ),
    ] = None,
    k: _Depth = 5,
    by: Annotated[By, typer.Option(help="What tools are found by; groups: compare ways to search by them.")] = By.both,
    augment: Annotated[bool, typer.Option("--augment", help="First let the chat model write about each tool.")] = False,
    as_json: options.Json = False,
) -> None:
    """Search for the tools of each task, and see which are found; what was missed is listed with what came instead.

    Tasks that have their `steps` written out are also gone through step by step, as a turn does.

    \b
    Examples:
      ricordo eval tools --queries queries.jsonl
      ricordo eval tools --tools tools.jsonl --queries queries.jsonl
      ricordo eval tools --tools tools.jsonl --queries queries.jsonl -k 10 --json | jq .recall
      ricordo eval tools --tools tools.jsonl --queries queries.jsonl --by words
      ricordo eval tools --tools tools.jsonl --queries queries.jsonl --by groups
      ricordo eval tools --tools tools.jsonl --queries queries.jsonl --augment
    """
    from ricordo.common.settings import get_settings
    from ricordo.evals.tools import evaluate_tools
    from ricordo.models.embeddings import chosen_embedder

    settings = get_settings()
    async with AsyncExitStack() as stack:
        among = tools or (await stack.enter_async_context(open_toolbox())).toolbox
        advance = stack.enter_context(progress())
        report = await evaluate_tools(
            among,
            queries,
            k,
            embedder=None if by is By.words else chosen_embedder(settings),
            words=by is not By.meaning,
            groups=by is By.groups,
            writer=chosen_model(settings) if augment else None,
            progress=advance,
        )
    if as_json:
        output.write_json(report.as_dict())
    else:
        output.write(_tools_report(report))


@app.command("offline")
@output.command
async def eval_offline(
    turns: Annotated[Path, typer.Option(metavar="FILE", help="JSONL: lang, say, want, and what memory holds.")],
    tools: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSONL: name, description, parameters of more tools to offer.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Hold turns with the offline model and see which go as they should; --json lists what did not.

    \b
    Examples:
      ricordo eval offline --turns tests/offline/turns.jsonl --tools tests/offline/tools.jsonl
      ricordo eval offline --turns tests/offline/questions.jsonl --json | jq .misses
    """
    from ricordo.common.settings import get_settings
    from ricordo.evals.offline import evaluate_offline
    from ricordo.models.embeddings import chosen_embedder

    with progress() as advance:
        report = await evaluate_offline(turns, tools, embedder=chosen_embedder(get_settings()), progress=advance)
    if as_json:
        output.write_json(report.as_dict())
        return
    shares = [("all", report.right), *report.by_kind.items(), *report.by_language.items()]
    output.write("\n".join(f"{name:<10}{share:>7.1f} %" for name, share in shares) + f"\n{report.turns} turns\n")


_SHOWN = 20
"""Misses that are shown to people; --json lists all."""


def _tools_report(report: "tools.Report") -> str:
    cuts = list(report.recall)
    lines = [f"{'':<24}" + "".join(f"{'@' + cut:>9}" for cut in cuts)]
    lines += [
        f"{name:<24}" + "".join(f"{found[cut]:>9.1f}" for cut in cuts)
        for name, found in (("recall", report.recall), ("all of a task's tools", report.perfect))
    ]
    share = 100 * report.tokens_offered / max(report.tokens_all, 1)
    lines += [
        f"nDCG@{report.k}: {report.ndcg:.1f}",
        f"tokens offered: {report.tokens_offered:,.0f} of {report.tokens_all:,} ({share:.2f} %)",
        *_latency(report),
        f"{report.tools} tools, {report.tasks} tasks, {report.embeddings}",
    ]
    if steps := report.steps:
        lines += [
            f"{steps.tasks} tasks by steps: {steps.recall:.1f}, all {steps.perfect:.1f} ({steps.offered:.1f} tools)",
            f"as many by one search: {steps.recall_of_one_search:.1f}, all {steps.perfect_of_one_search:.1f}",
        ]
    for name, way in (report.ways or {}).items():
        lines += [
            f"{name:<24}" + "".join(f"{way.recall[cut]:>9.1f}" for cut in cuts),
            f"{'  all of its tools':<24}" + "".join(f"{way.perfect[cut]:>9.1f}" for cut in cuts),
            f"  search p50 {way.search_ms.p50:.1f} ms, p95 {way.search_ms.p95:.1f} ms",
        ]
    if report.repeated:
        lines.append(f"more than one tool has this name, and any of them counts: {', '.join(report.repeated)}")
    if report.unknown:
        lines.append(f"not among the tools, so never found: {', '.join(report.unknown)}")
    for miss in report.misses[:_SHOWN]:
        lines.append(f"missed {', '.join(miss.missing)} for: {miss.task}\n  came instead: {', '.join(miss.found)}")
    if len(report.misses) > _SHOWN:
        lines.append(f"… and {len(report.misses) - _SHOWN} more misses; --json lists all")
    return output.plain("\n".join(lines)) + "\n"


def _latency(report: "memory.Report | tools.Report") -> list[str]:
    return [
        f"{name} p50 {spread.p50:.1f} ms, p95 {spread.p95:.1f} ms"
        for name, spread in (("search", report.search_ms), ("embedding", report.embedding_ms))
    ]


def _memory_report(report: "memory.Report") -> str:
    cuts = list(report.recall)
    rows = [("all", report.queries, report.recall)]
    rows += [(name, part["queries"], part["recall"]) for name, part in report.by_category.items()]
    lines = [f"{'':<24}{'questions':>10}" + "".join(f"{'recall@' + cut:>11}" for cut in cuts)]
    lines += [f"{name:<24}{count:>10}" + "".join(f"{found[cut]:>11.1f}" for cut in cuts) for name, count, found in rows]
    lines += [
        f"all of a question's turns among the first {report.k}: {report.perfect:.1f} %; nDCG: {report.ndcg:.1f}",
        *_latency(report),
        f"{report.turns} turns, {report.embeddings}",
    ]
    return "\n".join(lines) + "\n"
