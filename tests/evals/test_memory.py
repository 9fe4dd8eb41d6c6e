import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ricordo.common.errors import InputError
from ricordo.evals import scratch
from ricordo.evals.memory import Turn, evaluate_memory, read_questions, read_turns
from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.database import Database

TALKS = {
    "harbour": [
        ("Ines", "Good morning, how was the weekend?"),
        ("Olaf", "I repaired the mast of my little boat."),
        ("Ines", "Lovely. My sister opened a bakery in Lisbon."),
        ("Olaf", "Does she bake rye bread?"),
        ("Ines", "She does, every Friday."),
    ],
    "hills": [
        ("Tariq", "We planted forty olive trees on the slope."),
        ("Noor", "My telescope arrived, I saw Saturn."),
        ("Tariq", "Shall we hike on Sunday?"),
    ],
}
QUESTIONS: list[dict[str, Any]] = [
    {"conversation": "harbour", "query": "What did Olaf repair?", "category": 4, "evidence": ["2"]},
    {"conversation": "harbour", "query": "Where is the bakery of Ines's sister?", "category": 4, "evidence": ["3"]},
    {"conversation": "hills", "query": "Which planet did Noor see?", "category": 1, "evidence": ["2"]},
    {"conversation": "hills", "query": "How many olive trees were planted?", "category": 1, "evidence": ["1"]},
]


def write(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n", encoding="utf-8")
    return path


@pytest.fixture
def turns(tmp_path: Path) -> Path:
    rows = [
        {"conversation": name, "id": number, "date": "1:56 pm on 8 May, 2023", "speaker": speaker, "text": text}
        for name, talk in TALKS.items()
        for number, (speaker, text) in enumerate(talk, 1)
    ]
    return write(tmp_path / "turns.jsonl", rows)


@pytest.fixture
def scratch_name(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of the scratch database, which other tests' ones do not share."""
    known = uuid4()
    monkeypatch.setattr(scratch, "uuid4", lambda: known)
    return f"ricordo_scratch_{known.hex[:12]}"


async def is_there(dsn: str, database: str) -> bool:
    async with await psycopg.AsyncConnection.connect(dsn) as conn:
        found = await conn.execute("SELECT FROM pg_database WHERE datname = %s", (database,))
        return bool(await found.fetchall())


async def test_turns_that_answer_are_found_and_counted(
    db: Database, embedder: Embedder, turns: Path, tmp_path: Path, scratch_name: str
) -> None:
    queries = write(tmp_path / "queries.jsonl", QUESTIONS)
    told: list[tuple[str, int, int]] = []
    report = await evaluate_memory(
        turns, queries, 1, db=db, embedder=embedder, progress=lambda *step: told.append(step)
    )
    assert (report.turns, report.queries, report.k) == (8, 4, 1)
    assert report.recall == {"1": 100.0, "5": 100.0, "10": 100.0, "20": 100.0}
    assert (report.perfect, report.ndcg) == (100.0, 100.0)
    assert {name: part["queries"] for name, part in report.by_category.items()} == {"1": 2, "4": 2}
    assert report.search_ms.p95 >= report.search_ms.p50 > 0
    assert told[-1] == ("asking", 4, 4)
    assert ("storing", 8, 8) in told
    assert json.loads(json.dumps(report.as_dict()))["embeddings"] == embedder.model_id
    assert not await is_there(db.dsn, scratch_name)
    for user in TALKS:
        async with db.transaction(user) as conn:
            assert await (await conn.execute("SELECT FROM user_memory")).fetchall() == []


async def test_a_turn_that_is_not_found_counts_against_it(
    db: Database, embedder: Embedder, turns: Path, tmp_path: Path
) -> None:
    questions = [QUESTIONS[0] | {"evidence": ["2", "no such turn"]}, QUESTIONS[0] | {"evidence": ["5"]}]
    report = await evaluate_memory(turns, write(tmp_path / "queries.jsonl", questions), 1, db=db, embedder=embedder)
    assert report.recall["1"] == 25.0
    assert report.perfect == 0


async def test_the_scratch_database_goes_when_the_evaluation_is_cancelled(
    db: Database, embedder: Embedder, turns: Path, tmp_path: Path, scratch_name: str
) -> None:
    stored = asyncio.Event()
    work = asyncio.create_task(
        evaluate_memory(
            turns,
            write(tmp_path / "queries.jsonl", QUESTIONS * 50),
            db=db,
            embedder=embedder,
            progress=lambda *_step: stored.set(),
        )
    )
    await stored.wait()
    assert await is_there(db.dsn, scratch_name)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert not await is_there(db.dsn, scratch_name)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"conversation": "a"}', r"line 1, lacks id, date, speaker, text"),
        ('{"conversation": "a", "id": 1, "date": "", "speaker": "s", "text": ""}\nnonsense', "line 2, is no JSON"),
        ("[1]", "line 1, lacks conversation"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        read_turns(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin.jsonl").write_bytes(b"\xff")
    for name in ("missing.jsonl", "latin.jsonl"):
        with pytest.raises(InputError, match=f"{name} cannot be read"):
            read_questions(tmp_path / name)


async def test_k_below_one_is_refused(db: Database, embedder: Embedder, turns: Path) -> None:
    with pytest.raises(InputError, match="-k 0"):
        await evaluate_memory(turns, turns, 0, db=db, embedder=embedder)


@pytest.mark.parametrize(
    ("date", "moment"),
    [
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, tzinfo=UTC)),
        ("3rd of no month, 2023", None),
        ("31 February 2023", None),
        ("2023-05-08T13:56:00+00:00", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("2023-05-08", datetime(2023, 5, 8, tzinfo=UTC)),
        ("12 Foo 2023", None),
        ("yesterday", None),
    ],
)
def test_dates_are_read_as_far_as_they_can_be(date: str, moment: datetime | None) -> None:
    assert Turn("c", "1", date, "s", "t").moment == moment
