import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.support.stand_ins.openai_script import say
from tests.support.stand_ins.openai_server import KEY, OpenAIServer


def test_a_question_is_answered_and_its_thread_listed_and_compacted(run: Run) -> None:
    said = run("ask", "What time is it?", "--thread", "clock")
    assert said.returncode == 0
    assert "get_current_time" in said.stdout.decode()
    assert "⚙ get_current_time(" in said.stderr.decode()

    listed = run("threads", "list")
    assert listed.stdout.decode().split("\t")[:2] == ["clock", "2"]

    made = json.loads(run("compact", "clock", "--json").stdout)
    assert [(one["covered"], one["level"]) for one in made["summaries"]] == [(2, 0)]
    unknown = run("compact", "clocks")
    assert (unknown.returncode, unknown.stdout) == (1, b"")
    assert unknown.stderr.decode().startswith("error: 'default' has no thread 'clocks'")


def test_json_is_one_object_whatever_comes_in_and_whatever_the_locale(run: Run) -> None:
    done = run("ask", "-", "--json", "--user", b"caf\xe8", given=b"What time is it? \xff\x00 \xe4\xbd\xa0", LC_ALL="C")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert done.stdout.count(b"\n") == 1
    assert answer["user_id"] == "caf\N{REPLACEMENT CHARACTER}"
    assert answer["stop_reason"] == "answer"
    assert answer["tool_calls"][0] | {"args": ...} == {
        "name": "get_current_time",
        "args": ...,
        "status": "success",
        "log_id": answer["tool_calls"][0]["log_id"],
    }
    assert {"tokens", "window", "percent", "segments"} <= set(answer["context"])
    assert {"answer", "iterations", "thread_id", "run_id", "model", "tools_offered", "compactions", "seconds"} <= set(
        answer
    )


def test_what_goes_wrong_has_an_exit_code_and_no_traceback(run: Run) -> None:
    empty = run("ask", " ", "--json")
    assert empty.returncode == 1
    assert json.loads(empty.stdout)["type"] == "InputError"
    assert empty.stderr.decode().startswith("error: The question is empty")

    failed = run("ask", "Hello?", "--model", "nonsense:model", "--json")
    assert failed.returncode == 1
    assert json.loads(failed.stdout)["stop_reason"] == "error"

    down = run("ask", "Hello?", RICORDO_DATABASE_URL="postgresql://nobody@127.0.0.1:9/none")
    assert (down.returncode, down.stdout) == (1, b"")
    assert down.stderr.decode().startswith("error: PostgreSQL failed")

    setting = run("threads", "list", "--json", RICORDO_MAX_ITERATIONS="none")
    assert setting.returncode == 1
    assert "RICORDO_MAX_ITERATIONS" in json.loads(setting.stdout)["error"]

    assert b"Traceback" not in empty.stderr + failed.stderr + down.stderr + setting.stderr


def test_documents_are_taken_in_listed_shown_and_deleted(run: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "whales.md").write_text("# Whales\n\nThe blue whale is the largest animal that has ever lived.\n")
    (notes / "broken.pdf").write_text("no pdf")
    first = run("ingest", str(notes), "--user", "ann")
    assert first.returncode == 1
    failed, new = sorted(first.stdout.decode().splitlines(), reverse=True)
    assert new == "+ new       whales.md (1 chunks)"
    assert failed.startswith("✗ failed    broken.pdf: broken.pdf is not a PDF")
    assert first.stderr.decode().strip().endswith("1 failed, 1 new; 1 chunks stored")

    again = run("ingest", str(notes / "whales.md"), "--user", "ann", "--json")
    assert again.returncode == 0
    assert json.loads(again.stdout)["counts"] == {"unchanged": 1}

    shown = json.loads(run("kb", "show", "whales.md", "--user", "ann", "--json").stdout)
    assert (shown["title"], shown["chunks"], shown["kind"]) == ("Whales", 1, "markdown")
    kept = run("kb", "delete", "whales.md", "--user", "ann", given=b"n\n")
    assert kept.returncode == 1
    assert b"bug" not in kept.stderr
    assert b"Add --yes" in run("kb", "delete", "whales.md", "--user", "ann").stderr, "nobody is there to answer"
    assert run("kb", "delete", shown["id"], "--user", "ann", "--yes").returncode == 0
    gone = run("kb", "list", "--user", "ann")
    assert (gone.returncode, gone.stdout) == (0, b"")


@pytest.fixture
def picky() -> OpenAIServer:
    """A model server that knows one model."""
    return OpenAIServer(models=("gpt-known",))


def test_a_provider_that_fails_inside_of_its_streams_is_an_error_of_the_turn_and_no_bug(run: Run) -> None:
    with OpenAIServer() as failing:
        failing.play(*[say("Half.", event={"message": "Provider disconnected", "code": 502}, cut=2)] * 9)
        done = run("ask", "Are you well?", "--json", **failing.settings())
    assert (done.returncode, json.loads(done.stdout)["stop_reason"]) == (1, "error")
    assert b"bug" not in done.stderr


def test_doctor_says_what_is_wrong_and_shows_no_key(run: Run, picky: OpenAIServer) -> None:
    with picky:
        done = run(
            "doctor",
            "--json",
            **picky.settings(),
            RICORDO_MODEL="openai:gpt-unknown",
            RICORDO_MODLE="x",
            RICORDO_ARXIV_API_URL="http://127.0.0.1:9/api",
            TAVILY_API_KEY="tvly-secret",
            RICORDO_TAVILY_BASE_URL=picky.url,
        )
    report = json.loads(done.stdout)
    found = {check["name"]: check for check in report["checks"]}
    assert (done.returncode, report["ok"]) == (1, False)
    assert {name: check["status"] for name, check in found.items()} == {
        "system": "ok",
        "settings": "missing",
        "home": "ok",
        "database": "ok",
        "embeddings": "ok",
        "chat model": "broken",
        "arXiv": "missing",
        "Tavily": "ok",
        "Studio": "ok",
    }
    assert "do you mean RICORDO_MODEL?" in found["settings"]["advice"]
    assert "gpt-known" in found["chat model"]["advice"]
    assert "works as ricordo_app" in found["database"]["detail"]
    assert KEY.encode() not in done.stdout + done.stderr
    assert b"tvly-secret" not in done.stdout + done.stderr


def test_doctor_is_content_without_a_key(run: Run) -> None:
    done = run("doctor", RICORDO_ARXIV_API_URL="http://127.0.0.1:9/api")
    assert done.returncode == 0, done.stdout
    shown = done.stdout.decode()
    assert "✓" in shown
    assert "set OPENAI_API_KEY" in shown


def test_retrieval_is_measured_on_files_of_ones_own(run: Run, tmp_path: Path) -> None:
    files: dict[str, list[dict[str, object]]] = {
        "tools": [
            {"name": "send_mail", "description": "Send an e-mail.", "parameters": {}},
            {"name": "get_weather", "description": "Tell the weather of a place.", "parameters": {}},
        ],
        "tasks": [
            {"task": "Mail the report to Ann", "ground_truth_tools": ["send_mail"]},
            {"task": "Paint the fence", "ground_truth_tools": ["paint"]},
        ],
        "turns": [
            {
                "conversation": "c",
                "id": "1",
                "date": "2026-01-02",
                "speaker": "Ann",
                "text": "My parrot is Rex.",
            },
            {"conversation": "c", "id": "2", "date": "2026-01-03", "speaker": "Bob", "text": "It rained all day."},
        ],
        "questions": [{"conversation": "c", "query": "What is the parrot's name?", "evidence": ["1"]}],
    }
    for name, rows in files.items():
        (tmp_path / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    tools = run("eval", "tools", "--tools", str(tmp_path / "tools"), "--queries", str(tmp_path / "tasks"), "-k", "1")
    assert tools.returncode == 0, tools.stderr
    shown = tools.stdout.decode()
    assert "2 tools, 2 tasks" in shown
    assert "not among the tools, so never found: paint" in shown
    assert "missed paint for: Paint the fence" in shown

    (tmp_path / "own").write_text('{"task": "what time is it", "ground_truth_tools": ["get_current_time"]}')
    own = json.loads(run("eval", "tools", "--queries", str(tmp_path / "own"), "--by", "words", "--json").stdout)
    assert (own["recall"]["5"], own["unknown"]) == (100.0, [])

    asked = ["--turns", str(tmp_path / "turns"), "--queries", str(tmp_path / "questions")]
    memory = json.loads(run("eval", "memory", *asked, "--json").stdout)
    assert (memory["recall"]["5"], memory["turns"]) == (100.0, 2)

    missing = run("eval", "memory", "--turns", "nowhere", "--queries", "nowhere")
    assert (missing.returncode, missing.stderr.decode()[:29]) == (1, "error: nowhere cannot be read")


def test_a_turn_is_timed(run: Run) -> None:
    timed = run("bench", "turn", "--memories", "20", "--turns", "20", "--json")
    assert timed.returncode == 0, timed.stderr
    report = json.loads(timed.stdout)
    assert (report["memories"], report["turns"]) == (20, 20)
    assert report["milliseconds"]["turn_beside_embeddings"]["p50"] > 0
