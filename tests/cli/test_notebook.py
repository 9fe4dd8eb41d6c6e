import ast
import inspect
import json
import os
from typing import Any

import pytest

from ricordo.common.settings import get_settings
from tests.support.langgraph_server import ROOT


def _cells() -> list[str]:
    notebook = json.loads((ROOT / "notebooks" / "quickstart.ipynb").read_text())
    assert (notebook["nbformat"], notebook["metadata"]["kernelspec"]["language"]) == (4, "python")
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code), "store it without outputs"
    return ["".join(cell["source"]) for cell in code]


async def _run(cell: str, names: dict[str, Any]) -> Any:
    """Run a cell as a kernel does: `await` at the top level, and its last expression is its value."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    running = eval(compile(tree, "cell", "exec", flags), names)  # noqa: S307 - our own notebook
    if inspect.isawaitable(running):
        await running
    if not isinstance(last, ast.Expr):
        return None
    value = eval(compile(ast.Expression(last.value), "cell", "eval", flags), names)  # noqa: S307 - the same
    return await value if inspect.isawaitable(value) else value


async def test_the_quickstart_runs_from_top_to_bottom(dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    os.environ["RICORDO_DATABASE_URL"] = dsn
    get_settings.cache_clear()
    names: dict[str, Any] = {"__name__": "__main__"}
    values = [await _run(cell, names) for cell in _cells()]
    printed = capsys.readouterr().out
    assert printed.count("From get_current_time:") == 2
    assert "What time is it?" in printed  # its first question, remembered
    assert "parrots.txt" in printed
    assert "[get_current_time {" in printed
    assert ["parrot_lifespan"] in values
