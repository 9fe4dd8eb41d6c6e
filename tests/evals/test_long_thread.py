import csv
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ricordo import tools
from ricordo.common.settings import Settings
from ricordo.evals.compaction import benchmark_compaction
from ricordo.evals.lines import Chart, Series, draw
from ricordo.evals.long_thread import plot, run_long_thread, summary_of, write_csv
from ricordo.graph.resources import Resources
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import Database
from tests.support.small_embedder import small_embedder


@pytest.fixture
def resources(db: Database, tmp_path: Path) -> Resources:
    embedder = small_embedder()
    return Resources(Settings(home=tmp_path), db, embedder, MemoryManager(db, embedder), tools.toolbox)


def _ignore(*_: object) -> None:
    """Report to nobody."""


async def test_on_a_long_thread_the_window_stays_below_the_threshold_and_the_cost_flat(
    resources: Resources, tmp_path: Path
) -> None:
    turns = 120
    rows = await run_long_thread(resources, turns=turns, window=6_000, progress=_ignore)
    assert [row.turn for row in rows] == list(range(1, turns + 1))
    assert all(row.tokens <= row.threshold for row in rows)
    assert sum(row.compactions for row in rows) > 10
    assert max(row.open_messages for row in rows) < 40
    assert max(row.summaries for row in rows) <= 10
    # After fifty turns the dialogue in the state is at its full length.
    late = [row.checkpoint_bytes for row in rows[55:]]
    assert sum(late[32:]) / len(late[32:]) < 1.2 * sum(late[:32]) / 32
    half = turns // 2
    assert rows[half - 1].kept_bytes < rows[half - 2].kept_bytes / 5, "pruned in the middle"
    assert rows[half].tokens > 1_000, "and the thread went on"

    write_csv(rows, tmp_path / "long.csv")
    with (tmp_path / "long.csv").open(encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert [int(row["tokens"]) for row in read] == [row.tokens for row in rows]
    plot(rows, tmp_path / "long.svg")
    assert len(_lines((tmp_path / "long.svg").read_text())) == 3
    assert summary_of(rows)["turns_above_threshold"] == 0


def _lines(svg: str) -> list[str]:
    root = ET.fromstring(svg)  # noqa: S314 - our own
    return [line.attrib["points"] for line in root.iter("{http://www.w3.org/2000/svg}polyline")]


def test_a_chart_places_its_points() -> None:
    svg = draw([Chart("a < b", [Series("rising", "#000000", [0, 50, 100])])], [1, 2, 3], "turn")
    (line,) = _lines(svg)
    points = [tuple(map(float, point.split(","))) for point in line.split()]
    (x0, y0), (x1, y1), (x2, y2) = points
    assert x1 - x0 == pytest.approx(x2 - x1)
    assert y0 - y1 == pytest.approx(y1 - y2)
    assert y0 > y2, "more is higher"
    assert "a &lt; b" in svg


async def test_counting_compacting_and_reading_are_clocked(resources: Resources) -> None:
    report = await benchmark_compaction(resources, repeats=1, progress=_ignore)
    assert len(report["milliseconds"]) == 4
    assert all(spread["p50"] > 0 for spread in report["milliseconds"].values())
