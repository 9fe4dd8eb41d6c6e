"""Workflow memory: how an earlier request was solved, step by step."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ricordo.common.text import make_id
from ricordo.stores.passages import Passage, stamp
from ricordo.stores.search.vectors import Hit, Unit

_INDEXED = 2_000  # characters of the request by which the workflow is found


def unit(thread_id: UUID, run_id: str, request: str, steps: Sequence[Mapping[str, Any]], outcome: str) -> Unit:
    """Make the unit of one turn: found by its request, read as request, steps and outcome.

    Args:
        steps: `{tool, args, status}` each, in order.
        outcome: The stop reason and the beginning of the answer.
    """
    lines = [f"{i}. {step['tool']}({', '.join(step['args'])}) → {step['status']}" for i, step in enumerate(steps, 1)]
    content = "\n".join([f"Request: {request}", *lines, f"Outcome: {outcome}"])
    columns = {
        "thread_id": thread_id,
        "run_id": run_id,
        "request": request,
        "steps": Jsonb(list(steps)),
        "outcome": outcome,
    }
    return Unit(make_id("workflow", thread_id, run_id), content, columns, indexed=request[:_INDEXED])


def passage(hit: Hit) -> Passage:
    """Lay out a found workflow."""
    return Passage(
        str(hit.id), f"id={hit.id} date={stamp(hit.row['created_at'])} score={hit.closeness:.2f}", hit.content
    )
