"""LangGraph's own conformance suite on our saver, as notebooks and as the server open it."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate

from ricordo.common.settings import get_settings
from ricordo.graph.thread.checkpoints import open_checkpointer
from ricordo.server.app import checkpointer

_EVERYTHING = 8
"""What the suite can ask of a saver: put, read, list, delete by thread and by run, copy, prune."""


@pytest.mark.parametrize("served", [False, True])
async def test_the_saver_does_all_that_langgraph_asks_of_one(
    dsn: str, monkeypatch: pytest.MonkeyPatch, *, served: bool
) -> None:
    monkeypatch.setenv("RICORDO_DATABASE_URL", dsn)
    get_settings.cache_clear()

    @checkpointer_test(name="Ricordo")
    async def ours() -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
        async with checkpointer() if served else open_checkpointer(dsn) as saver:
            yield saver

    report = await validate(ours)
    assert [failure for result in report.results.values() for failure in result.failures] == []
    assert [result.passed for result in report.results.values()] == [True] * _EVERYTHING
