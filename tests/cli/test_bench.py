import csv
import json
from pathlib import Path

from tests.cli.conftest import Run


def test_a_long_thread_is_measured_beside_ones_own_memory(run: Run, tmp_path: Path) -> None:
    files = ("--csv", str(tmp_path / "long.csv"), "--svg", str(tmp_path / "long.svg"))
    done = run("bench", "thread", "--turns", "8", "--window", "4000", "--json", *files)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["turns"] == 8
    assert report["largest_call"] <= 4000 - 400
    with (tmp_path / "long.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 8
    assert (tmp_path / "long.svg").read_text().startswith("<svg")
    assert json.loads(run("threads", "list", "--json").stdout)["threads"] == []


def test_compaction_is_clocked(run: Run) -> None:
    done = run("bench", "compaction", "--repeats", "1")
    assert done.returncode == 0, done.stderr
    assert b"compact 200 messages" in done.stdout
