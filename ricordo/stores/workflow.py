"""Workflow memory: how an earlier request was solved, step by step."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ricordo.common.secrets import secrets_in, value_without_secrets, without_secrets
from ricordo.common.text import make_id
from ricordo.stores.passages import Passage, stamp
from ricordo.stores.search.vectors import Hit, Unit

_INDEXED = 2_000  # characters of the request by which the workflow is found
_VALUE = 120  # characters of an argument's value
_FAULT = 300  # characters of what went wrong


def unit(thread_id: UUID, run_id: str, request: str, steps: Sequence[Mapping[str, Any]], outcome: str) -> Unit:
    """Make the unit of one turn: found by its request, read as request, steps and outcome.

    Args:
        steps: `{tool, args, status, error}` each, in order; `error` are a failed call's words.
        outcome: The stop reason and the beginning of the answer.
    """
    known = {secret for step in steps for secret in secrets_in(step["args"])}
    kept = [_kept(step, known) for step in steps]
    request, outcome = without_secrets(request, known), without_secrets(outcome, known)
    lines = [f"{i}. {_line(step)}" for i, step in enumerate(kept, 1)]
    columns = {
        "thread_id": thread_id,
        "run_id": run_id,
        "request": request,
        "steps": Jsonb(kept),
        "outcome": outcome,
    }
    content = "\n".join([f"Request: {request}", *lines, f"Outcome: {outcome}"])
    return Unit(make_id("workflow", thread_id, run_id), content, columns, indexed=request[:_INDEXED])


def _kept(step: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return a step with its values cut, and without secrets."""
    args = {name: _short(value_without_secrets(value, name, known)) for name, value in step["args"].items()}
    kept = {"tool": step["tool"], "args": args, "status": step["status"]}
    said = " ".join(without_secrets(step.get("error") or "", known).split())
    return kept | ({"error": _cut(said, _FAULT)} if said else {})


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return _cut(value, _VALUE)
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return value if len(shown) <= _VALUE else _cut(shown, _VALUE)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _line(step: Mapping[str, Any]) -> str:
    args = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in step["args"].items())
    return f"{step['tool']}({args}) → {step['status']}" + (f": {step['error']}" if step.get("error") else "")


def best(hits: Sequence[Hit], k: int) -> list[Passage]:
    """Lay out k of those that fit best; what failed comes behind all that did not."""
    return [_passage(hit) for hit in sorted(hits, key=lambda hit: _has_failed(hit.row))[:k]]


def _has_failed(row: Mapping[str, Any]) -> bool:
    """Tell whether a turn came to no answer, or none of its calls succeeded."""
    statuses = [step["status"] for step in row["steps"]]
    return not str(row["outcome"]).startswith("answer") or bool(statuses and "success" not in statuses)


def _passage(hit: Hit) -> Passage:
    head = f"id={hit.id} date={stamp(hit.row['created_at'])} score={hit.closeness:.2f}"
    return Passage(str(hit.id), f"{head} failed" if _has_failed(hit.row) else head, hit.content)
