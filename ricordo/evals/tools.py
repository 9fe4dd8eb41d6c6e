"""Recall of the toolbox: which of the tools that a task needs are among the first k.

The tools are those of a file, or those that are registered; they are indexed in memory, and nothing is stored.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.common.errors import InputError, ModelError
from ricordo.common.settings import Settings, get_settings
from ricordo.common.text import clean
from ricordo.evals.metrics import Latency, mean, ndcg, percent, perfect, recall
from ricordo.evals.tool_groups import Way, compare_ways
from ricordo.evals.tool_steps import Steps, over_steps
from ricordo.models import tokens
from ricordo.models.embeddings import Embedder, light_embedder
from ricordo.stores.toolbox.augment import AT_ONCE, write_about
from ricordo.stores.toolbox.box import Toolbox
from ricordo.stores.toolbox.catalogue import embed, indexed
from ricordo.stores.toolbox.index import IndexedTool, Request, ToolIndex, request
from ricordo.stores.toolbox.schema import bounded
from ricordo.stores.toolbox.text import ToolText

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Progress = Callable[[str, int, int], None]
"""Told what is done (`indexing`, `asking`), how many are through, and how many there are."""

_CUTS = (1, 3, 5, 10)
_BATCH = 64


@dataclass(frozen=True)
class Task:
    """A request with the tools that it needs."""

    task: str
    needs: frozenset[str]
    steps: tuple[str, ...] = ()
    """What is to be done, one thing after the other, where it is written out."""


@dataclass(frozen=True)
class Miss:
    """A task of which not all tools were among the first k."""

    task: str
    missing: tuple[str, ...]
    found: tuple[str, ...]
    """What came instead: the first k."""


@dataclass(frozen=True)
class Report:
    """What was found, in per cent; how long it took, in milliseconds; what it costs, in tokens."""

    embeddings: str
    tools: int
    tasks: int
    k: int
    recall: dict[str, float]
    """By cut: 1, 3, 5, 10 and k."""
    perfect: dict[str, float]
    """Tasks of which all tools are among the first, by cut."""
    ndcg: float
    """Of the first k."""
    search_ms: Latency
    """Beside the embedding."""
    embedding_ms: Latency
    tokens_offered: float
    """Of the first k tools' schemas, on average."""
    tokens_all: int
    """Of the schemas of all tools."""
    unknown: tuple[str, ...]
    """Tools that tasks need and that are not among the tools; they count as not found."""
    repeated: tuple[str, ...]
    """Names that more than one tool has; whichever is found counts."""
    steps: Steps | None
    """What searching again before every step adds, where tasks have their steps written out."""
    misses: tuple[Miss, ...] = field(repr=False)
    ways: dict[str, Way] | None = None
    """Other ways to search tools that have groups, if they were asked for."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)


def _lines(path: Path, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Read a JSONL file.

    Raises:
        InputError: The file cannot be read, a line is no JSON object, or lacks one of the keys.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}. Give a JSONL file in UTF-8.") from error
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {number} is no JSON: {error}.") from error
        if not isinstance(item, dict) or not all(key in item for key in keys):
            raise InputError(f"{path}, line {number} must be an object with {', '.join(keys)}.")
        found.append(item)
    if not found:
        raise InputError(f"{path} is empty. Give a JSONL file with {', '.join(keys)} in each line.")
    return found


def read_tools(path: Path) -> list[ToolText]:
    """Read tools: `name`, `description`, `parameters` (JSON schema), and if there are any `group`, `tags`, `examples`.

    Raises:
        InputError: The file cannot be read or is not of that form.
    """
    tools = _lines(path, ["name", "description"])
    for item in tools:
        if not all(_are_texts(item.get(key) or []) for key in ("tags", "examples")):
            raise InputError(f"{path}, tool {str(item['name'])[:60]!r}: tags and examples must be lists of texts.")
    return [
        ToolText(
            clean(str(item["name"])),
            clean(str(item["description"] or "")),
            item["parameters"] if isinstance(item.get("parameters"), Mapping) else {},
            clean(str(item.get("group") or "")),
            tuple(map(str, item.get("tags") or ())),
            tuple(map(str, item.get("examples") or ())),
        )
        for item in tools
    ]


def read_tasks(path: Path) -> list[Task]:
    """Read requests: `task`, `ground_truth_tools` (the names of the tools that it needs), and if there are any `steps`.

    Raises:
        InputError: The file cannot be read or is not of that form.
    """
    tasks = []
    for item in _lines(path, ["task", "ground_truth_tools"]):
        needs, steps = item["ground_truth_tools"], item.get("steps") or []
        if not (_are_texts(needs) and _are_texts(steps)):
            raise InputError(
                f"{path}, task {str(item['task'])[:60]!r}: ground_truth_tools must be a list of names, "
                "and steps a list of texts."
            )
        said = [clean(str(step)).strip() for step in steps]
        tasks.append(Task(clean(str(item["task"])), frozenset(map(str, needs)), tuple(filter(None, said))))
    return tasks


def _are_texts(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(each, str) for each in given)


async def evaluate_tools(
    tools: Path | Sequence[ToolText] | Toolbox,
    queries: Path | Sequence[Task],
    k: int = 5,
    *,
    embedder: Embedder | None,
    words: bool = True,
    groups: bool = False,
    writer: "BaseChatModel | None" = None,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> Report:
    """Search for each task among the tools, and compare with what it needs.

    Args:
        tools: A JSONL file (see `read_tools`), tools, or the toolbox with what is registered in it.
        queries: A JSONL file (see `read_tasks`), or tasks.
        k: How many tools count.
        embedder: The deployment's embedding model, beside the light one; None searches by words alone.
        words: Whether words count; if not, tools are found by their meaning alone.
        groups: Whether to compare with other ways to search by groups.
        writer: A chat model that first writes about each tool, as `ricordo tools sync --augment` does.
        settings: Tells how many tools a step adds and a call carries; None: the process's settings.
        progress: Told how far it is.

    Raises:
        InputError: A file cannot be read or is not of the form it should have.
        EmbeddingError: The model cannot be loaded or reached.
    """
    settings = settings or get_settings()
    light = light_embedder() if embedder else None

    async def ask(text: str, by: Embedder | None = None) -> Request:
        made = await request(text, by.query if by else None, light.query if light else None)
        return made if words else replace(made, words={}, parts=[replace(part, words={}) for part in made.parts])

    tasks = read_tasks(queries) if isinstance(queries, Path) else list(queries)
    tell = progress or (lambda *_: None)
    texts = await _written(_texts(tools), writer, tell) if writer else _texts(tools)
    made = await _indexed(texts, embedder, tell)
    index = ToolIndex(made)
    costs = {text.name: tokens.count(_schema(text)) for text in texts}
    asked: list[Request] = []
    rankings: list[list[str]] = []
    searching, embedding = [], []
    for number, task in enumerate(tasks, 1):
        began = time.perf_counter()
        wanted = await ask(task.task, embedder)
        embedded = time.perf_counter()
        ranked = [name for name, _ in index.search([wanted], max(k, *_CUTS))]
        embedding.append(embedded - began)
        searching.append(time.perf_counter() - embedded)
        asked.append(wanted)
        rankings.append(ranked)
        tell("asking", number, len(tasks))
        await asyncio.sleep(0)
    pairs = list(zip(rankings, tasks, strict=True))
    cuts = sorted({*_CUTS, k})
    return Report(
        embeddings=f"{embedder.model_id}, {light.model_id}" if embedder and light else "none",
        tools=len(texts),
        tasks=len(tasks),
        k=k,
        recall={str(cut): percent([recall(ranked, task.needs, cut) for ranked, task in pairs]) for cut in cuts},
        perfect={str(cut): percent([perfect(ranked, task.needs, cut) for ranked, task in pairs]) for cut in cuts},
        ndcg=percent([ndcg(ranked, task.needs, k) for ranked, task in pairs]),
        search_ms=Latency.of(searching),
        embedding_ms=Latency.of(embedding),
        tokens_offered=round(mean([sum(costs[name] for name in ranked[:k]) for ranked in rankings]), 1),
        tokens_all=sum(costs.values()),
        unknown=tuple(sorted({name for task in tasks for name in task.needs} - costs.keys())),
        repeated=tuple(sorted(name for name, times in Counter(text.name for text in texts).items() if times > 1)),
        steps=await over_steps(
            index,
            [(request, task.steps, task.needs) for request, task in zip(asked, tasks, strict=True)],
            ask,
            settings.tools_per_step,
            settings.max_tools,
        ),
        misses=tuple(
            Miss(task.task, tuple(sorted(task.needs - set(ranked[:k]))), tuple(ranked[:k]))
            for ranked, task in pairs
            if not task.needs <= set(ranked[:k])
        ),
        ways=compare_ways(made, [(request, task.needs) for request, task in zip(asked, tasks, strict=True)], cuts)
        if groups
        else None,
    )


def _texts(tools: Path | Sequence[ToolText] | Toolbox) -> list[ToolText]:
    if isinstance(tools, Path):
        return read_tools(tools)
    return [tool.text() for tool in tools] if isinstance(tools, Toolbox) else list(tools)


async def _written(texts: Sequence[ToolText], model: "BaseChatModel", tell: Progress) -> list[ToolText]:
    """Let a model write about tools of which there is no source, only the schema.

    Raises:
        ModelError: It wrote nothing about the first few.
    """
    made: list[ToolText] = []
    for start in range(0, len(texts), AT_ONCE):
        batch = texts[start : start + AT_ONCE]
        told = await asyncio.gather(*(write_about(_schema(text), text.description, model) for text in batch))
        if not start and not any(told):
            raise ModelError("The chat model wrote nothing about the first tools; the warnings above say why.")
        made += [replace(t, phrases=(*t.phrases, said)) if said else t for t, said in zip(batch, told, strict=True)]
        tell("asking the model about tools", len(made), len(texts))
    return made


async def _indexed(texts: Sequence[ToolText], embedder: Embedder | None, tell: Progress) -> list[IndexedTool]:
    made: list[IndexedTool] = []
    for start in range(0, len(texts), _BATCH):
        batch = texts[start : start + _BATCH]
        vectors = await embed(embedder, batch) if embedder else [None] * len(batch)
        lights = await embed(light_embedder(), batch) if embedder else [None] * len(batch)
        made += [indexed(text, vector=v, light=w) for text, v, w in zip(batch, vectors, lights, strict=True)]
        tell("indexing", start + len(batch), len(texts))
    return made


def _schema(text: ToolText) -> str:
    function = {"name": text.name, "description": bounded(text.description), "parameters": text.parameters}
    return json.dumps({"type": "function", "function": function}, ensure_ascii=False)
