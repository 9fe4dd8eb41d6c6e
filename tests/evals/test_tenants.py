from uuid import uuid4

import psycopg
import pytest

from ricordo.evals.tenants import _sizes, benchmark_tenants
from ricordo.stores.postgres.database import Database
from tests.support.small_embedder import small_embedder


async def test_recall_is_measured_beside_others_and_nothing_is_left_behind(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = uuid4()
    monkeypatch.setattr("ricordo.evals.scratch.uuid4", lambda: name)
    told: list[str] = []
    report = await benchmark_tenants(
        db, small_embedder(), memories=300, users=6, queries=20, progress=lambda what, *_: told.append(what)
    )
    assert report["recall_at_10"]["smallest_user"]["per_cent"] == 100
    assert report["recall_at_10"]["largest_user"]["memories"] > report["recall_at_10"]["smallest_user"]["memories"]
    for spread in report["milliseconds"].values():
        assert 0 < spread["p50"] <= spread["p95"]
    assert told.count("recalls") == 2 * (20 + 20)
    async with await psycopg.AsyncConnection.connect(db.dsn) as conn:
        cursor = await conn.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", (f"%{name.hex[:12]}%",))
        assert await cursor.fetchall() == []
        cursor = await conn.execute("SELECT count(*) FROM user_memory")
        assert await cursor.fetchall() == [(0,)]


def test_memories_are_shared_out_unevenly_and_all_of_them() -> None:
    sizes = _sizes(100_000, 1000)
    assert sum(sizes) == 100_000
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 20 * sizes[-1] > 0
