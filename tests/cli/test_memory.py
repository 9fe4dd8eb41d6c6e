"""`ricordo memory`, from the outside."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

JAZZ, TEA = "The user loves jazz.", "The user prefers tea."

Json = Callable[..., Any]


@pytest.fixture
def told(run: Run) -> Json:
    """Run a command of `ricordo memory` with --json and return what it prints."""

    def command(*arguments: str) -> Any:
        done = run("memory", *arguments, "--json")
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    return command


def fill(run: Run, *lines: dict[str, Any], user: str = "default") -> None:
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    done = run("memory", "import", "-", "--user", user, given=text.encode())
    assert done.returncode == 0, done.stderr.decode()


def test_memories_are_put_in_listed_found_shown_and_counted(run: Run, told: Json) -> None:
    past = {"valid_from": "2020-05-01T12:00Z", "valid_to": "2021-05-01T12:00Z"}
    fill(
        run,
        {"content": JAZZ, "type": "preference", "tags": ["music"], "importance": "high"},
        {"content": TEA, "type": "preference", "tags": ["drink"]},
        {"content": "The user lives in Rome", **past},
    )
    listed = run("memory", "list", "--type", "preference", "--tag", "music")
    [line] = listed.stdout.decode().splitlines()
    cells = line.split("\t")
    assert cells[2:7] == ["preference", "high", "import", JAZZ, "music"]
    assert [m["content"] for m in told("list", "--as-of", "2020-06-01")["memories"]] == ["The user lives in Rome"]
    assert told("list", "--until", "2019-12-31")["memories"] == []

    found = told("search", "what music do I like", "-n", "1")["memories"]
    assert [m["content"] for m in found] == [JAZZ]
    assert 0 < found[0]["score"] <= 1

    shown = run("memory", "show", cells[7]).stdout.decode()
    assert f"content        {JAZZ}" in shown
    assert "by import, no thread" in shown
    assert told("stats")["live"] == 2
    assert b"superseded     1" in run("memory", "stats").stdout

    nobody = run("memory", "list", "--user", "nobody")
    assert (nobody.returncode, nobody.stdout) == (0, b"")
    assert nobody.stderr.decode() == "'nobody' has no memories of that kind.\n"


def test_the_user_forgets_undoes_and_sees_the_history(run: Run, told: Json) -> None:
    fill(run, {"content": JAZZ}, {"content": TEA})
    jazz = next(m["id"] for m in told("list")["memories"] if m["content"] == JAZZ)
    gone = run("memory", "forget", jazz, "--reason", "private")
    assert gone.stderr.decode() == f"forgot {jazz}: {JAZZ}\n"
    assert [m["content"] for m in told("list", "--state", "forgotten")["memories"]] == [JAZZ]
    again = run("memory", "forget", jazz)
    assert again.returncode == 1
    assert "ricordo memory undo" in again.stderr.decode()

    assert run("memory", "undo").stderr.decode() == f"brought back {jazz}: {JAZZ}\n"
    nothing = run("memory", "undo")
    assert (nothing.returncode, nothing.stderr.decode()[:18]) == (1, "error: Nothing was")

    events = [(e["actor"], e["action"], e["reason"]) for e in told("history", jazz)["events"]]
    assert events == [("user", "import", ""), ("user", "forget", "private"), ("user", "undo", "")]
    trail = run("memory", "history")
    assert trail.returncode == 0, trail.stderr.decode()
    lines = trail.stdout.decode().splitlines()
    assert [line.split("\t")[1:3] for line in lines[-2:]] == [["user", "forget"], ["user", "undo"]]
    unknown = run("memory", "show", "1", "--json")
    assert unknown.returncode == 1
    assert json.loads(unknown.stdout)["type"] == "NotFoundError"


def test_an_export_comes_back_and_a_bad_file_leaves_nothing(run: Run, told: Json, tmp_path: Path) -> None:
    fill(run, {"content": f"{JAZZ}\u2028And blues."}, {"content": TEA})
    file = tmp_path / "memories.jsonl"
    exported = run("memory", "export", "-o", str(file))
    assert exported.stderr.decode() == "exported 4 lines of 'default'\n"
    done = told("import", str(file), "--user", "bea")
    assert (done["memories"], done["known"], done["events"]) == (2, 0, 2)
    assert told("import", str(file))["known"] == 2

    file.write_text(f'{{"content": "{TEA}"}}\nnot JSON\n')
    bad = run("memory", "import", str(file), "--user", "cleo")
    assert bad.returncode == 1
    assert bad.stderr.decode().startswith("error: Line 2 cannot be imported: Invalid JSON")
    missing = run("memory", "import", str(tmp_path / "none.jsonl"))
    assert "cannot be read" in missing.stderr.decode()
    odd = run("memory", "list", "--since", "last week")
    assert "2026-11-30" in odd.stderr.decode()
    assert told("list", "--user", "cleo")["memories"] == []
