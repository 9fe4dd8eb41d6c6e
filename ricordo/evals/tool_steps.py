"""What searching again before every step adds: the tools that a task of several steps has been offered in the end."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from ricordo.evals.metrics import mean, percent, perfect, recall
from ricordo.nodes.retrieve_tools import places
from ricordo.stores.toolbox.index import Request, ToolIndex


@dataclass(frozen=True)
class Steps:
    """Tasks with their steps written out, in per cent; the steps' words stand for what a model says at each."""

    tasks: int
    recall: float
    """Tools that were offered at some step, of those that the task needs."""
    perfect: float
    """Tasks of which all tools were offered."""
    offered: float
    """Tools that the last call carried, on average."""
    recall_of_one_search: float
    """Of as many tools, found by the task alone."""
    perfect_of_one_search: float
    """Likewise."""


async def over_steps(
    index: ToolIndex,
    asked: Sequence[tuple[Request, Sequence[str], frozenset[str]]],
    ask: Callable[[str], Awaitable[Request]],
    per_step: int,
    most: int,
) -> Steps | None:
    """Offer tools as a turn does: some for the task, then some for each step, each staying once it is offered.

    Args:
        index: The tools.
        asked: The task as a request, its steps, and the names of the tools that it needs.
        ask: Makes a request of what is said at a step.
        per_step: Tools that the first step adds.
        most: Tools that a call carries at most.

    Returns:
        The report; None where no task has its steps written out.
    """
    rows = []
    for task, steps, needs in asked:
        if not steps:
            continue
        offered = [name for name, _ in index.search([task], places(0, per_step, most, later=False))]
        for step in steps:
            room = places(len(offered), per_step, most, later=True)
            said = [task, await ask(step)]
            offered += [name for name, _ in index.search(said, room, offered)]
        once = [name for name, _ in index.search([task], len(offered))]
        rows.append((offered, once, needs))
    if not rows:
        return None
    return Steps(
        tasks=len(rows),
        recall=percent([recall(offered, needs, len(offered)) for offered, _, needs in rows]),
        perfect=percent([perfect(offered, needs, len(offered)) for offered, _, needs in rows]),
        offered=round(mean([len(offered) for offered, _, _ in rows]), 1),
        recall_of_one_search=percent([recall(once, needs, len(once)) for _, once, needs in rows]),
        perfect_of_one_search=percent([perfect(once, needs, len(once)) for _, once, needs in rows]),
    )
