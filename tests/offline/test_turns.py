"""The offline model on whole tables of turns and questions, none of whose texts stand in the code."""

from pathlib import Path

import pytest

from ricordo.common.errors import InputError
from ricordo.evals.offline import evaluate_offline, read_turns
from ricordo.models.embeddings import Embedder

HERE = Path(__file__).parent
TURNS, QUESTIONS, TOOLS = HERE / "turns.jsonl", HERE / "questions.jsonl", HERE / "tools.jsonl"


async def test_most_turns_go_as_they_should_and_what_does_harm_never_happens(embedder: Embedder) -> None:
    report = await evaluate_offline(TURNS, TOOLS, embedder=embedder)
    assert report.by_kind["stored"] == report.by_kind["not"] == report.by_kind["talk"] == 100, report.misses
    assert report.right >= 85, report.misses


async def test_questions_without_an_answer_in_memory_are_mostly_told_so(embedder: Embedder, tmp_path: Path) -> None:
    memory, *questions = QUESTIONS.read_text(encoding="utf-8").splitlines()
    some = tmp_path / "some.jsonl"  # all of them are measured by `ricordo eval offline`
    some.write_text("\n".join([memory, *questions[::5]]), encoding="utf-8")
    report = await evaluate_offline(some, None, embedder=embedder)
    assert report.by_kind["quote"] >= 60
    assert report.by_kind["nothing"] >= 60


def test_a_line_that_is_no_turn_is_named(tmp_path: Path) -> None:
    (tmp_path / "turns.jsonl").write_text('{"lang": "en", "say": "hi", "want": {"sing": true}}\n')
    with pytest.raises(InputError, match="'hi' wants 'sing'"):
        read_turns(tmp_path / "turns.jsonl")
