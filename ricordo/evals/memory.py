"""Recall of memory: dated turns of conversations, and questions whose answering turns are known.

Turns are stored as user memories, one user a conversation, in a scratch database that is dropped afterwards; nobody's
own memory is read or written.
"""

import json
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from ricordo.common.errors import InputError
from ricordo.common.text import clean, make_id
from ricordo.evals.metrics import Latency, Progress, ndcg, percent, perfect, recall
from ricordo.evals.scratch import scratch_database
from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.vectors import Unit, VectorMemory, make_query

_CUTS = (5, 10, 20)
_AT_ONCE = 64
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\s+([A-Za-z]{3})[a-z]*,?\s+(\d{4})")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@dataclass(frozen=True)
class Turn:
    """One utterance."""

    conversation: str
    id: str
    date: str
    speaker: str
    text: str

    @property
    def moment(self) -> datetime | None:
        """The date as far as it can be read: ISO 8601, or a day such as `8 May, 2023` in any company."""
        try:
            moment = datetime.fromisoformat(self.date)
        except ValueError:
            found = _DAY.search(self.date)
            if found is None or found[2].lower() not in _MONTHS:
                return None
            try:
                moment = datetime(int(found[3]), _MONTHS.index(found[2].lower()) + 1, int(found[1]), tzinfo=UTC)
            except ValueError:
                return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    def unit(self) -> Unit:
        """Return the turn as a memory; the turns of a conversation follow each other."""
        content = f"{self.speaker}: {self.text}"
        when = self.moment
        columns = {"type": "event", "origin": "import", "thread_id": make_id(self.conversation)}
        if when is not None:
            columns |= {"created_at": when, "valid_from": when}
        return Unit(make_id(self.conversation, self.id), content, columns, when=when)


@dataclass(frozen=True)
class Question:
    """A question with the turns that answer it."""

    conversation: str
    query: str
    category: str
    evidence: frozenset[str]


@dataclass(frozen=True)
class Report:
    """What was found, in per cent, and how long it took, in milliseconds."""

    embeddings: str
    turns: int
    queries: int
    k: int
    recall: dict[str, float]
    """By cut: 5, 10, 20 and k."""
    perfect: float
    """Questions of which all turns are among the first k."""
    ndcg: float
    """Of the first k."""
    by_category: dict[str, dict[str, Any]]
    search_ms: Latency
    embedding_ms: Latency

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class _Answer:
    question: Question
    found: list[UUID]
    embedding: float
    """Seconds."""
    searching: float
    """Seconds."""


_Pair = tuple[list[UUID], set[UUID]]
"""What was found, best first, and what was to be found."""


def read_rows(path: Path, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Read a JSONL file whose lines hold at least some keys.

    Raises:
        InputError: The file cannot be read, a line is no JSON object, or lacks a key.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}. Give a JSONL file in UTF-8.") from error
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(f"{path}, line {number}, is no JSON: {error}.") from error
        missing = [key for key in keys if not isinstance(row, dict) or key not in row]
        if missing:
            raise InputError(f"{path}, line {number}, lacks {', '.join(missing)}: each line holds {', '.join(keys)}.")
        rows.append(row)
    return rows


def read_turns(path: Path) -> list[Turn]:
    """Read turns, in order.

    Raises:
        InputError: The file cannot be read, or a line is not `{conversation, id, date, speaker, text}`.
    """
    keys = ("conversation", "id", "date", "speaker", "text")
    return [Turn(*(clean(str(row[key])) for key in keys)) for row in read_rows(path, keys)]


def read_questions(path: Path) -> list[Question]:
    """Read questions.

    Raises:
        InputError: The file cannot be read, or a line is not `{conversation, query, category?, evidence}`.
    """
    return [
        Question(
            clean(str(row["conversation"])),
            clean(str(row["query"])),
            str(row.get("category", "all")),
            frozenset(map(str, row["evidence"])),
        )
        for row in read_rows(path, ("conversation", "query", "evidence"))
    ]


async def evaluate_memory(
    turns: Path, queries: Path, k: int = 10, *, db: Database, embedder: Embedder, progress: Progress | None = None
) -> Report:
    """Store the turns, ask the questions, and count the turns that come back.

    Args:
        turns: JSONL of `{conversation, id, date, speaker, text}`, in order.
        queries: JSONL of `{conversation, query, category?, evidence}`, the evidence being turn ids.
        k: Cut of the second-order figures.
        db: A database on the server that is to hold the scratch database.
        embedder: The embedding model to be measured.
        progress: Told how far it is.

    Raises:
        InputError: A file cannot be read or is malformed, or k is below 1.
        DatabaseError: The scratch database cannot be made.
        EmbeddingError: The model cannot be loaded or reached.
    """
    if k < 1:
        raise InputError(f"-k {k} asks for no memories. Use 1 or more.")
    told = read_turns(turns)
    asked = read_questions(queries)
    tell = progress or (lambda _what, _done, _all: None)
    async with scratch_database(db.dsn, embedder) as scratch:
        memory = VectorMemory("user_memory", embedder)
        await _store(scratch, memory, told, tell)
        answers = await _ask(scratch, memory, asked, max(*_CUTS, k), tell)
    return _report(embedder.model_id, told, answers, k)


async def _store(db: Database, memory: VectorMemory, turns: Sequence[Turn], tell: Progress) -> None:
    by_user: dict[str, list[Turn]] = {}
    for turn in turns:
        by_user.setdefault(turn.conversation, []).append(turn)
    done = 0
    for user, own in by_user.items():
        for start in range(0, len(own), _AT_ONCE):
            units = [turn.unit() for turn in own[start : start + _AT_ONCE]]
            async with db.transaction(user) as conn:
                await memory.write(conn, user, units)
            done += len(units)
            tell("storing", done, len(turns))


async def _ask(
    db: Database, memory: VectorMemory, asked: Sequence[Question], most: int, tell: Progress
) -> list[_Answer]:
    answers = []
    for number, question in enumerate(asked, 1):
        started = time.perf_counter()
        query = await make_query(memory.embedder, question.query)
        embedded = time.perf_counter()
        async with db.transaction(question.conversation) as conn:
            hits = await memory.search(conn, query, most)
        found = time.perf_counter()
        answers.append(_Answer(question, [hit.id for hit in hits], embedded - started, found - embedded))
        tell("asking", number, len(asked))
    return answers


def _report(model: str, turns: Sequence[Turn], answers: Sequence[_Answer], k: int) -> Report:
    wanted = [{make_id(a.question.conversation, turn) for turn in a.question.evidence} for a in answers]
    pairs = [(answer.found, ids) for answer, ids in zip(answers, wanted, strict=True)]
    by_category: dict[str, list[_Pair]] = {}
    for answer, pair in zip(answers, pairs, strict=True):
        by_category.setdefault(answer.question.category, []).append(pair)
    return Report(
        embeddings=model,
        turns=len(turns),
        queries=len(answers),
        k=k,
        recall=_recalls(pairs, k),
        perfect=percent([perfect(found, ids, k) for found, ids in pairs]),
        ndcg=percent([ndcg(found, ids, k) for found, ids in pairs]),
        by_category={
            name: {"queries": len(own), "recall": _recalls(own, k)} for name, own in sorted(by_category.items())
        },
        search_ms=Latency.of([answer.searching for answer in answers]),
        embedding_ms=Latency.of([answer.embedding for answer in answers]),
    )


def _recalls(pairs: Sequence[_Pair], k: int) -> dict[str, float]:
    return {str(cut): percent([recall(found, ids, cut) for found, ids in pairs]) for cut in sorted({*_CUTS, k})}
