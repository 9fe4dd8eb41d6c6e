"""A thread with the offline model at a desk of its own: real window, real tool schemas, canned tool results."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import ToolCall

from ricordo.common.text import make_id
from ricordo.graph.window import Window
from ricordo.models.embeddings import Embedder
from ricordo.offline.chat import OfflineChat
from ricordo.stores.passages import Passage, render_all
from ricordo.tools import toolbox

PAPERS = {
    "2305.16291v2": "Voyager: An Open-Ended Embodied Agent",
    "2310.08560v2": "MemGPT: Towards LLMs as Operating Systems",
    "2303.11366v4": "Reflexion: Language Agents with Verbal Reinforcement Learning",
}
SHIPPED = (
    "arxiv_search_candidates",
    "fetch_and_save_paper_to_kb_db",
    "search_knowledge_base",
    "read_toolbox",
    "summarize_and_store",
    "get_current_time",
    "read_tool_log",
)


def search(_: Mapping[str, Any]) -> str:
    """List the papers as the arXiv tool does; the one that is looked for is not the first."""
    papers = [
        {
            "id": number,
            "entry_id": f"http://arxiv.org/abs/{number}",
            "title": title,
            "authors": ["A. One", "B. Two"],
            "abstract": f"We study {title}. " * 20,
        }
        for number, title in PAPERS.items()
    ]
    return "[\n" + ",\n".join(map(json.dumps, papers)) + "\n]"


def save(args: Mapping[str, Any]) -> str:
    """Confirm as the tool that saves does."""
    return f'Saved to the knowledge base: "{PAPERS[args["arxiv_id"]]}" (arxiv:{args["arxiv_id"]}), 13 pages, 40 chunks.'


def spoken(*turns: tuple[str, str]) -> tuple[Passage, ...]:
    """Lay messages out as conversation passages."""
    return tuple(
        Passage(str(make_id(i, text)), f"{role} · 2026-11-30T10:{i % 60:02d}Z", text)
        for i, (role, text) in enumerate(turns)
    )


def chunk(source: str, text: str, title: str = "") -> Passage:
    """Lay a chunk of a document out as a knowledge-base passage."""
    key = make_id(source, text)
    told = f' title="{title}"' if title else ""
    return Passage(str(key), f"id={key} date=2026-11-30T10:00Z source={source}{told} score=0.83", text)


def summary(description: str) -> Passage:
    """Lay a summary out as the window lists it."""
    key = make_id(description)
    return Passage(str(key), f"id={key} date=2026-11-30T10:00Z covers=6", description)


def expansion(*turns: tuple[str, str]) -> Callable[[Mapping[str, Any]], str]:
    """Return the tool that gives these messages back."""
    return lambda args: f"Original messages of {args['summary_id']}, page 1 of 1\n{render_all(spoken(*turns))}"


@dataclass
class Reply:
    """How a turn ended."""

    text: str
    calls: list[ToolCall]
    window: str
    results: list[str]

    @property
    def asked(self) -> list[tuple[str, dict[str, Any]]]:
        """Names and arguments of the calls."""
        return [(call["name"], call["args"]) for call in self.calls]

    @property
    def names(self) -> list[str]:
        """The tools that were called."""
        return [call["name"] for call in self.calls]


@dataclass
class Desk:
    """One thread; a new model for every turn, as after a restart."""

    embedder: Embedder
    memory: dict[str, tuple[Passage, ...]] = field(default_factory=dict)
    tools: Sequence[Mapping[str, Any]] = field(default_factory=lambda: [toolbox.schema(name) for name in SHIPPED])
    run: dict[str, Callable[[Mapping[str, Any]], str]] = field(
        default_factory=lambda: {"arxiv_search_candidates": search, "fetch_and_save_paper_to_kb_db": save}
    )
    talk: list[tuple[str, str]] = field(default_factory=list)

    def window(self, question: str) -> str:
        """Render the window as the graph does."""
        window = Window(question)
        for name, passages in ({"Conversation": spoken(*self.talk)} | self.memory).items():
            window = window.with_passages(name, passages)
        return window.render()

    def model(self) -> OfflineChat:
        """Return the model as a fresh process has it."""
        return OfflineChat(embedder=self.embedder, examples=lambda name: toolbox.get(name).examples)

    async def ask(self, question: str) -> Reply:
        """Run a turn to its answer, which joins the conversation."""
        bound = self.model().bind_tools(list(self.tools))
        window, exchange = self.window(question), list[AIMessage | ToolMessage]()
        while True:
            whole: Any = AIMessageChunk(content="")
            async for part in bound.astream([SystemMessage("You are Ricordo."), HumanMessage(window), *exchange]):
                whole += part
            if not whole.tool_calls:
                break
            exchange.append(AIMessage(whole.content, tool_calls=whole.tool_calls))
            exchange += [self._result(call) for call in whole.tool_calls]
        self.talk += [("user", question), ("assistant", whole.text)]
        calls = [call for message in exchange if isinstance(message, AIMessage) for call in message.tool_calls]
        return Reply(str(whole.text), calls, window, [str(m.text) for m in exchange if isinstance(m, ToolMessage)])

    def _result(self, call: ToolCall) -> ToolMessage:
        try:
            text = self.run[call["name"]](call["args"]) if call["name"] in self.run else "done"
        except LookupError as error:
            return ToolMessage(f"Unknown: {error}", tool_call_id=call["id"], name=call["name"], status="error")
        return ToolMessage(text, tool_call_id=call["id"], name=call["name"])
