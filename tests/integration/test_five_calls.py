"""Find a paper, save it, ask about it, summarise, and recall the first question: each call in a process of its own."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import ask
from tests.support.stand_ins.arxiv_server import ArxivServer
from tests.support.stand_ins.openai_script import ChatRequest, Reply, call, say
from tests.support.stand_ins.openai_server import OpenAIServer


@dataclass(frozen=True)
class Talk:
    """Five questions about a paper, and what the third answer must hold."""

    paper: str
    questions: tuple[str, str, str, str, str]
    fact: str


TALKS = {
    "as in the article": Talk(
        "2310.08560",
        (
            "Can you get me the paper MemGPT",
            "Can you save the content of the paper",
            "What are the main key takeaways from the paper",
            "Summarize the conversation so far using your tool",
            "What was my first question?",
        ),
        "memory in tiers",
    ),
    "in other words": Talk(
        "2310.08560",
        (
            "I would like to read the MemGPT paper, could you look for it?",
            "Please store that paper's full text",
            "Tell me this paper's key takeaways",
            "Please use your tool to summarise what we have said so far",
            "Which question did I ask you first?",
        ),
        "memory in tiers",
    ),
    "another paper": Talk(
        "1706.03762",
        (
            "Find the paper Attention Is All You Need",
            "Save the paper's content, please",
            "How long was the big model of the paper trained?",
            "Summarize our conversation so far with your tool",
            "What was the first thing I asked you?",
        ),
        "three and a half days",
    ),
    "in Italian": Talk(
        "2310.08560",
        (
            "Puoi trovarmi il paper MemGPT?",
            "Puoi salvare il contenuto del paper?",
            "Quali sono i key takeaways del paper?",
            "Riassumi la conversazione fino a qui con il tuo strumento",
            "Qual era la mia prima domanda?",
        ),
        "memory in tiers",
    ),
}


@pytest.fixture
def arxiv() -> Iterator[ArxivServer]:
    with ArxivServer() as arxiv:
        yield arxiv


@pytest.fixture(params=TALKS)
def talk(request: pytest.FixtureRequest) -> Talk:
    return TALKS[request.param]


def names(answer: dict[str, Any]) -> list[str]:
    return [one["name"] for one in answer["tool_calls"]]


def check(talk: Talk, settings: dict[str, str], before: Callable[[int], None] = lambda _: None) -> None:
    """Hold the talk and check each answer."""
    answers: list[dict[str, Any]] = []
    for number, question in enumerate(talk.questions):
        before(number)
        answers.append(ask(question, settings=settings))
        assert answers[-1]["stop_reason"] == "answer"
        assert all(one["status"] == "success" for one in answers[-1]["tool_calls"]), answers[-1]
    found, saved, told, summarised, recalled = answers
    assert names(found) == ["arxiv_search_candidates"]
    assert talk.paper in found["answer"]
    assert names(saved) == ["fetch_and_save_paper_to_kb_db"]
    assert saved["tool_calls"][0]["args"]["arxiv_id"].startswith(talk.paper)
    assert (names(told), told["iterations"]) == ([], 1)
    assert talk.fact in told["answer"]
    assert re.search(rf"arxiv:{talk.paper}(v\d+)?, page \d", told["answer"])
    assert names(summarised) == ["summarize_and_store"]
    assert names(recalled) == ["expand_summary"]
    assert talk.questions[0] in recalled["answer"]


def test_the_five_calls_with_the_offline_model(talk: Talk, dsn: str, arxiv: ArxivServer, tmp_path: Path) -> None:
    check(talk, {"RICORDO_DATABASE_URL": dsn, "RICORDO_HOME": str(tmp_path), **arxiv.settings()})


class Model:
    """Does what a model does, from what it is sent alone; a tool that it is not offered it cannot call."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.number = 0

    def __call__(self, request: ChatRequest) -> Reply:
        assert request.streams
        if self.number == 2:
            source = re.search(r"source=(.+?) score=", request.segment("Knowledge Base"))
            known = self.talk.fact if self.talk.fact in request.segment("Knowledge Base") else "nothing"
            return say(f"It says: {known} [{source[1] if source else 'no source'}].")
        if request.results:
            return say(self.conclusion(request))
        name, args = self.wanted(request)
        return call(name, args) if name in request.tools else say(f"I have no tool for that, only {request.tools}.")

    def wanted(self, request: ChatRequest) -> tuple[str, dict[str, Any]]:
        said = request.segment("Conversation")
        if self.number == 0:
            return "arxiv_search_candidates", {"query": "MemGPT" if "MemGPT" in request.question else request.question}
        if self.number == 1:
            return "fetch_and_save_paper_to_kb_db", {"arxiv_id": re.findall(r"\d{4}\.\d{5}", said)[-1]}
        if self.number == 3:
            return "summarize_and_store", {}
        return "expand_summary", {"summary_id": re.findall(r"id=([0-9a-f-]{36})", request.segment("Summary"))[-1]}

    def conclusion(self, request: ChatRequest) -> str:
        result = request.results[-1]
        if self.number == 0:
            best = json.loads(result)[0]
            return f"I found {best['title']}, arXiv id {best['id']}."
        if self.number == 4:
            first = re.search(r"user · .*\n((?:> .*\n)+)", result)
            return f"You asked: {first[1].replace('> ', '').strip() if first else result}"
        return f"Done: {result}"


@pytest.mark.parametrize("talk", ["as in the article", "another paper", "in Italian"], indirect=True)
def test_the_five_calls_with_a_model_server(
    talk: Talk, arxiv: ArxivServer, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    model = Model(talk)
    openai_server.play_by(model)

    def before(number: int) -> None:
        model.number = number

    # On the embedded database: it too is started and stopped between the calls.
    check(talk, {"RICORDO_HOME": str(tmp_path), **arxiv.settings(), **openai_server.settings()}, before)
    assert openai_server.internal  # the summary is the model's
