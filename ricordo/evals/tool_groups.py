"""Ways to search tools that have groups, compared: all at once, within the group, the group and then its tools."""

import time
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ricordo.evals.metrics import Latency, percent, perfect, recall
from ricordo.stores.toolbox.index import IndexedTool, Request, Scores, ToolIndex

_FIRST = 3
"""Groups that the search in two levels looks into."""


@dataclass(frozen=True)
class Way:
    """What one way finds, in per cent, and how long it takes."""

    recall: dict[str, float]
    """By cut."""
    perfect: dict[str, float]
    """Tasks of which all tools are among the first, by cut."""
    search_ms: Latency
    """Beside the embedding."""


def compare_ways(
    tools: Sequence[IndexedTool], asked: Sequence[tuple[Request, AbstractSet[str]]], cuts: Sequence[int]
) -> dict[str, Way]:
    """Search in each way for every request.

    Args:
        tools: All tools. One without a group is a group of its own.
        asked: Requests, with the names of the tools that each needs.
        cuts: Numbers of tools at which recall is told.

    Returns:
        `global`: all tools, as if there were no groups. `group`: only the groups of the tools that are needed, as if
        somebody had named them; no search can know that. `two-level`: the three best groups first, then their tools.
    """

    @lru_cache(maxsize=64)
    def within(groups: frozenset[str]) -> ToolIndex:
        return ToolIndex([replace(tool, group="") for tool in tools if not groups or _group(tool) in groups])

    most = max(cuts)
    of = {tool.name: _group(tool) for tool in tools}
    levels = ToolIndex(
        [_one(name, [tool for tool in tools if _group(tool) == name]) for name in dict.fromkeys(of.values())]
    )

    def first(request: Request) -> frozenset[str]:
        return frozenset(name for name, _ in levels.search([request], _FIRST))

    ways: dict[str, Callable[[Request, AbstractSet[str]], ToolIndex]] = {
        "global": lambda *_: within(frozenset()),
        "group": lambda _, needs: within(frozenset(of[name] for name in needs if name in of)),
        "two-level": lambda request, _: within(first(request)),
    }
    return {name: _measured(way, asked, cuts, most) for name, way in ways.items()}


def _measured(
    way: Callable[[Request, AbstractSet[str]], ToolIndex],
    asked: Sequence[tuple[Request, AbstractSet[str]]],
    cuts: Sequence[int],
    most: int,
) -> Way:
    pairs, took = [], []
    for request, needs in asked:
        way(request, needs)  # indexes that a deployment would have made are not timed
        began = time.perf_counter()
        ranked = [name for name, _ in way(request, needs).search([request], most)]
        took.append(time.perf_counter() - began)
        pairs.append((ranked, needs))
    return Way(
        {str(cut): percent([recall(ranked, needs, cut) for ranked, needs in pairs]) for cut in cuts},
        {str(cut): percent([perfect(ranked, needs, cut) for ranked, needs in pairs]) for cut in cuts},
        Latency.of(took),
    )


def _group(tool: IndexedTool) -> str:
    return tool.group or f"\0{tool.name}"


def _one(name: str, tools: Sequence[IndexedTool]) -> IndexedTool:
    """Make of a group one thing to be searched: the words of all its tools, and the mean of their vectors."""
    words: dict[str, float] = {}
    for tool in tools:
        for word, weight in zip(tool.terms, tool.weights, strict=True):
            words[word] = words.get(word, 0.0) + float(weight)
    return replace(
        tools[0],
        name=name,
        group="",
        terms=list(words),
        weights=np.fromiter(words.values(), np.float32, len(words)),
        vector=_mean([tool.vector for tool in tools]),
        light=_mean([tool.light for tool in tools]),
    )


def _mean(vectors: Sequence[Scores | None]) -> Scores | None:
    known = [vector for vector in vectors if vector is not None]
    return np.asarray(np.mean(known, axis=0), np.float32) if known else None
