"""`ricordo eval`: how well memory and the toolbox find what they should."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import options, output
from cli.stores import open_memory

if TYPE_CHECKING:
    from evals.memory import Report

app = typer.Typer(help="How well memory and the toolbox find what they should.")

_Depth = Annotated[int, typer.Option("-k", min=1, metavar="N", help="How many results count.")]


@app.callback()
def _group() -> None:
    """Measure retrieval on data of your own; your memory is neither read nor written."""


@app.command("memory")
def eval_memory(
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
    output.stdout()

    async def work() -> None:
        from cli.progress import progress
        from evals.memory import evaluate_memory

        async with open_memory(options.DEFAULT_USER) as memory:
            with progress() as advance:
                report = await evaluate_memory(
                    turns, queries, k, db=memory.db, embedder=memory.embedder, progress=advance
                )
        if as_json:
            output.write_json(report.as_dict())
        else:
            output.write(_memory_report(report))

    output.run(work, as_json=as_json)


def _memory_report(report: "Report") -> str:
    cuts = list(report.recall)
    rows = [("all", report.queries, report.recall)]
    rows += [(name, part["queries"], part["recall"]) for name, part in report.by_category.items()]
    lines = [f"{'':<24}{'questions':>10}" + "".join(f"{'recall@' + cut:>11}" for cut in cuts)]
    lines += [f"{name:<24}{count:>10}" + "".join(f"{found[cut]:>11.1f}" for cut in cuts) for name, count, found in rows]
    lines += [
        f"all of a question's turns among the first {report.k}: {report.perfect:.1f} %; nDCG: {report.ndcg:.1f}",
        f"search p50 {report.search_ms.p50:.1f} ms, p95 {report.search_ms.p95:.1f} ms",
        f"embedding p50 {report.embedding_ms.p50:.1f} ms, p95 {report.embedding_ms.p95:.1f} ms",
        f"{report.turns} turns, {report.embeddings}",
    ]
    return "\n".join(lines) + "\n"
