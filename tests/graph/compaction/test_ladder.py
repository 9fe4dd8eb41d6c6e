"""The ladder in the real graph, over random threads: nothing overflows, nothing is lost."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from langchain_core.messages import AIMessage, BaseMessage

from ricordo.graph import prompt, prompts
from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.database import Database
from ricordo.stores.toolbox.box import toolbox
from tests.support.harness import Harness, open_harness, says
from tests.support.threads import Story, assert_pairs_are_whole, reply_of, size_of, stories

_EXACT = "openai:gpt-of-the-tests"  # counted with OpenAI's own tables, without a margin
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Bench:
    """A harness in an event loop of its own, for tests that hypothesis calls many times."""

    def __init__(self, runner: asyncio.Runner, harness: Harness) -> None:
        self.run = runner.run
        self.harness = harness
        self.outputs: list[str] = []


@pytest.fixture
def bench(dsn: str, embedder: Embedder, tmp_path: Path) -> Iterator[Bench]:
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        db = runner.run(stack.enter_async_context(Database.open(dsn)))
        harness = runner.run(stack.enter_async_context(open_harness(db, embedder, tmp_path)))
        harness.resources.models[_EXACT] = harness.model
        made = Bench(runner, harness)

        @toolbox.register_tool(side_effect=False, examples=["look it up"])
        def look_up(place: int, note: str = "") -> str:
            """Look something up.

            Args:
                place: Where it is.
                note: What it is for.
            """
            return made.outputs[place] + note[:0]

        yield made
        toolbox.remove("look_up")
        runner.run(stack.aclose())


class Play:
    """A story that is played: what was stored, what the model was asked."""

    def __init__(self, bench: Bench, story: Story) -> None:
        self.user = uuid4().hex
        self.story = story
        self.harness = bench.harness
        self.memory = bench.harness.memory(self.user)
        self.outputs = bench.outputs = []

    async def play(self) -> None:
        self.ids = [
            str(await self.memory.write_conversational_memory("t", ("user", "assistant")[i % 2], said.text))
            for i, said in enumerate(self.story.history)
        ]
        model = self.harness.model
        model.asked.clear()
        model.offered.clear()
        replies = [self._reply(text.text, asked, i) for i, (text, asked) in enumerate(self.story.steps)]
        self.answer = await self.harness.ask(
            self.story.question.text,
            *replies,
            says("Done."),
            user_id=self.user,
            context_window=self.story.window,
            model=_EXACT,
        )

    def _reply(self, text: str, asked: Any, step: int) -> Any:
        def reply(messages: list[BaseMessage]) -> AIMessage:
            ids = list(dict.fromkeys(re.findall(rf"(?:\bid=|summary_id=')({_ID.pattern})", str(messages[1].text))))
            return reply_of(text, asked, self.outputs, ids, step)

        return reply

    async def rows(self, query: str) -> list[dict[str, Any]]:
        async with self.harness.resources.db.transaction(self.user) as conn:
            return await (await conn.execute(query)).fetchall()

    async def read_all(self, read: Any, id_: str) -> str:
        """Read something page by page, and return the text that was fenced."""
        found, page = "", 1
        while True:
            text = await read(id_, page)
            found += "\n".join(re.findall(r"(?m)^> (.*)$", text))
            if f"page={page + 1})" not in text:
                return found
            page += 1


def _plain(text: str) -> str:
    """Drop what fencing changes: line ends."""
    return re.sub(r"[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+", "", text)


# Not shrunk: an example takes long, and tells enough as it is.
FEW = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)


@FEW
@given(story=stories())
def test_whatever_the_thread_every_call_fits_and_nothing_is_lost(bench: Bench, story: Story) -> None:
    play = Play(bench, story)
    bench.run(play.play())
    limit = story.window - max(200, round(story.window * 0.1))
    model = play.harness.model
    for messages, offered in zip(model.asked, model.offered, strict=True):
        assert size_of(messages, prompt.schemas_of(offered)) <= limit
        assert_pairs_are_whole(messages)
    for did in play.answer.compactions:
        before, after = map(int, re.findall(r"^(\d+) to (\d+) tokens: ", did)[0])
        assert after < before or did.endswith("nothing was left to shorten")
    bench.run(_assert_nothing_is_lost(play))


async def _assert_nothing_is_lost(play: Play) -> None:
    stored = await play.rows("SELECT * FROM messages ORDER BY seq")
    assert [r["content"] for r in stored] == [
        *(said.text for said in play.story.history),
        play.story.question.text,
        "Done.",
    ]
    *_, question, answer = stored
    assert question["summary_id"] is None, "the question is never summarised"
    assert answer["summary_id"] is None
    covered = {str(i) for r in await play.rows("SELECT covers FROM summary WHERE level = 0") for i in r["covers"]}
    assert covered == {str(r["id"]) for r in stored if r["summary_id"]}
    window = str(play.harness.model.asked[-1][1].text)
    conversation = window.split("## Conversation Memory\n", 1)[1].split("\n\n## ", 1)[0]
    shown = re.findall(r"(?m)^\[\d+\] (?:user|assistant) · ", conversation)
    assert len(shown) == len(play.ids) - len(covered), "what no summary covers is in the window"
    latest = stored[:-2][-_last_turns(len(play.ids)) :] if play.ids else []
    if play.story.window >= _ROOMY:  # the least window may have no room for them beside system prompt, tools and a page
        assert not any(r["summary_id"] for r in latest), "the latest turns are never summarised"
    logged = await play.rows("SELECT * FROM tool_log WHERE tool = 'look_up' ORDER BY (args->>'place')::int")
    assert len(logged) == len(play.outputs)
    for row, output in zip(logged, play.outputs, strict=True):
        offered = any("look_up" in names for names in play.harness.model.offered[: row["step"]])
        assert row["output"] == (output if offered else prompts.NOT_OFFERED.format(name="look_up"))
    if play.story.question.text not in window and "shown in part" in window:
        read = await play.read_all(play.memory.read_summary_memory, str(question["id"]))
        assert _plain(read) == _plain(play.story.question.text)


_ROOMY = 3_000  # tokens


def _last_turns(number: int, keep: int = 2) -> int:
    """Return how many messages the latest turns are, where user and assistant take turns."""
    return min(number, 2 * keep - number % 2)
