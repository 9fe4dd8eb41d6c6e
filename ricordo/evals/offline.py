"""What the offline model makes of requests: whether it calls, stores, quotes and stays silent where it should.

Each turn is held alone, in the window that the agent would show; tools are offered and not run, but for those that look
into what the turn gives.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from ricordo.common.errors import InputError, ToolError
from ricordo.common.text import make_id
from ricordo.evals.memory import read_rows
from ricordo.evals.metrics import Progress, percent
from ricordo.graph.window import Window
from ricordo.models.embeddings import Embedder
from ricordo.offline.chat import OfflineChat
from ricordo.stores.passages import Passage, render_all
from ricordo.stores.search.fusion import closeness
from ricordo.stores.search.units import RELATED, covered, likeness, make_query
from ricordo.stores.user_memory.fields import in_its_field
from ricordo.tools import toolbox

_OFFERED = (
    "arxiv_search_candidates",
    "fetch_and_save_paper_to_kb_db",
    "search_knowledge_base",
    "search_tavily",
    "read_toolbox",
    "summarize_and_store",
    "get_current_time",
    "remember",
    "recall",
    "forget",
)
_LOOKS = frozenset({"recall", "search_knowledge_base", "read_toolbox"})
"""Tools that only look into memory: whether they are called makes no difference."""
_MOST_STEPS = 4
_SHOWN_FACTS = 5
_QUOTED = re.compile(r'^(?:- "|> )', re.MULTILINE)
_BULLET = re.compile(r"^- ", re.MULTILINE)
_THINGS_TO_TRY = 3


@dataclass(frozen=True)
class Turn:
    """A request with what memory holds, and what should come of it."""

    lang: str
    say: str
    want: Mapping[str, Any]
    """One of: `tool` (and `args`), `stored`, `quote`, `nothing`, `asks`, `not`, `help`, `talk`."""
    facts: Sequence[str] = ()
    docs: Sequence[Mapping[str, str]] = ()
    talk: Sequence[tuple[str, str]] = ()
    tools: Sequence[str] = ()

    @property
    def kind(self) -> str:
        """What is wanted, in one word."""
        return next(iter(self.want))


@dataclass(frozen=True)
class Outcome:
    """What came of a turn."""

    calls: Sequence[tuple[str, Mapping[str, Any]]]
    text: str


@dataclass(frozen=True)
class Report:
    """Turns that went as they should, in per cent of each kind and language, and the others."""

    turns: int
    right: float
    by_kind: dict[str, float]
    by_language: dict[str, float]
    misses: list[dict[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)


def read_turns(path: Path) -> list[Turn]:
    """Read turns; a line `{"memory": {…}}` holds for those after it.

    Raises:
        InputError: The file cannot be read, or a line is no turn.
    """
    turns: list[Turn] = []
    memory: dict[str, Any] = {}
    for row in read_rows(path, ()):
        if "memory" in row:
            memory = row["memory"]
            continue
        try:
            turn = Turn(**{**memory, **row})
            fits = turn.kind in _RIGHT
        except (TypeError, StopIteration) as error:
            raise InputError(f"{path}: {row} is no turn: {error}. It holds lang, say and want.") from error
        if not fits:
            raise InputError(f"{path}: '{turn.say}' wants '{turn.kind}'; it can be {', '.join(_RIGHT)}.")
        turns.append(turn)
    return turns


async def hold(turn: Turn, embedder: Embedder, schemas: Mapping[str, Mapping[str, Any]]) -> Outcome:
    """Hold a turn: up to its answer, or to the first step with a tool that does not merely look."""
    query = await make_query(embedder, turn.say)
    vectors = await embedder.passages([*turn.facts])
    background = await embedder.background()
    near = [
        in_its_field(
            closeness(likeness(query, float(v @ query.embedding), float(v @ background.centre)), covered(query, fact)),
            turn.say,
            fact,
        )
        for fact, v in zip(turn.facts, vectors, strict=True)
    ]
    ranked = sorted(zip(near, turn.facts, strict=True), reverse=True)[:_SHOWN_FACTS]
    facts = [_fact(fact, fit) for fit, fact in ranked if fit >= RELATED or not query.topic]
    window = Window(turn.say)
    for name, passages in {
        "User": facts if query.topic else [],
        "Conversation": [_said(i, *each) for i, each in enumerate(turn.talk)],
        "Knowledge Base": [_chunk(doc) for doc in turn.docs],
    }.items():
        window = window.with_passages(name, tuple(passages))
    model = OfflineChat(embedder=embedder, examples=_examples)
    offered = [toolbox.schema(name) for name in _OFFERED] + [
        {"type": "function", "function": schemas[name]} for name in turn.tools
    ]
    bound, exchange = model.bind_tools(offered), list[BaseMessage]()
    calls: list[tuple[str, Mapping[str, Any]]] = []
    while True:
        reply = await bound.ainvoke([HumanMessage(window.render()), *exchange])
        calls += [(call["name"], call["args"]) for call in reply.tool_calls]
        if not reply.tool_calls or len(calls) > _MOST_STEPS or {call["name"] for call in reply.tool_calls} - _LOOKS:
            return Outcome(calls, str(reply.text))
        exchange.append(AIMessage(reply.content, tool_calls=reply.tool_calls))
        for call in reply.tool_calls:
            found = render_all(facts) if call["name"] == "recall" else ""
            text = found or "[nothing found: nothing relevant to this is remembered]"
            exchange.append(ToolMessage(text, tool_call_id=call["id"], name=call["name"]))


def _examples(name: str) -> Sequence[str]:
    try:
        return toolbox.get(name).examples
    except ToolError:
        return ()


def _fact(text: str, fit: float) -> Passage:
    key = str(make_id(text))
    return Passage(key, f"id={key} date=2026-11-30T10:00Z type=fact origin=user score={fit:.2f}", text)


def _said(number: int, role: str, text: str) -> Passage:
    return Passage(str(make_id(number, text)), f"{role} · 2026-11-30T10:{number:02d}Z", text)


def _chunk(doc: Mapping[str, str]) -> Passage:
    key = str(make_id(doc["source"]))
    return Passage(key, f"id={key} date=2026-11-30T10:00Z source={doc['source']} score=0.50", doc["text"])


def _silent(outcome: Outcome) -> bool:
    return not {name for name, _ in outcome.calls} - _LOOKS


def _is_tool(turn: Turn, outcome: Outcome) -> bool:
    done = [(name, args) for name, args in outcome.calls if name not in _LOOKS]
    if not done or done[0][0] != turn.want["tool"]:
        return False
    wanted, given = turn.want.get("args"), done[0][1]
    return wanted is None or {k: str(v).casefold() for k, v in wanted.items()} == {
        k: str(v).casefold() for k, v in given.items()
    }


def _is_stored(turn: Turn, outcome: Outcome) -> bool:
    said = "\n".join(str(args.get("content")) for name, args in outcome.calls if name == "remember")
    others = {name for name, _ in outcome.calls} - _LOOKS - {"remember", "get_current_time"}
    return all(part in said for part in turn.want["stored"]) and "?" not in said and not others


_RIGHT: dict[str, Callable[[Turn, Outcome], bool]] = {
    "tool": _is_tool,
    "stored": _is_stored,
    "quote": lambda turn, outcome: _silent(outcome) and turn.want["quote"] in outcome.text,
    "nothing": lambda _, outcome: _silent(outcome) and not _QUOTED.search(outcome.text),
    "asks": lambda _, outcome: _silent(outcome) and not _QUOTED.search(outcome.text) and _asks(outcome.text),
    "not": lambda turn, outcome: not {name for name, _ in outcome.calls} & set(turn.want["not"]),
    "help": lambda _, outcome: not outcome.calls and len(_BULLET.findall(outcome.text)) >= _THINGS_TO_TRY,
    "talk": lambda _, outcome: not outcome.calls and not _QUOTED.search(outcome.text),
}


def _asks(text: str) -> bool:
    return bool(re.search(r"[?？]|still need|serve ancora", text))


async def evaluate_offline(
    path: Path, tools: Path | None, *, embedder: Embedder, progress: Progress = lambda *_: None
) -> Report:
    """Hold all turns of a file.

    Args:
        path: JSONL, see `Turn`; or lines `{"memory": {"facts": …, "docs": …}}` for the turns after them.
        tools: JSONL of function schemas that turns may offer beside the shipped ones.
        embedder: The model's.
        progress: Told how many are through.

    Raises:
        InputError: A file cannot be read, or a line in it.
    """
    turns = read_turns(path)
    schemas = {str(row["name"]): row for row in read_rows(tools, ("name", "parameters"))} if tools else {}
    for turn in turns:
        if missing := [name for name in turn.tools if name not in schemas]:
            raise InputError(f"A turn offers {', '.join(missing)}, and no such schema is given: name it by --tools.")
    outcomes = []
    for i, turn in enumerate(turns, 1):
        outcomes.append(await hold(turn, embedder, schemas))
        progress("asking", i, len(turns))
    verdicts = [_RIGHT[turn.kind](turn, outcome) for turn, outcome in zip(turns, outcomes, strict=True)]
    return Report(
        len(turns),
        percent(verdicts),
        dict(_shares((turn.kind for turn in turns), verdicts)),
        dict(_shares((turn.lang for turn in turns), verdicts)),
        [
            {"say": turn.say, "want": turn.want, "calls": outcome.calls, "answer": outcome.text}
            for turn, outcome, right in zip(turns, outcomes, verdicts, strict=True)
            if not right
        ],
    )


def _shares(keys: Iterator[str], verdicts: Sequence[bool]) -> Iterator[tuple[str, float]]:
    by_key: dict[str, list[bool]] = {}
    for key, right in zip(keys, verdicts, strict=True):
        by_key.setdefault(key, []).append(right)
    return ((key, percent(each)) for key, each in by_key.items())
