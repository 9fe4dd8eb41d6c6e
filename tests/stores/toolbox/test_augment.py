"""What a model writes about tools: once, stored as it comes, and never in the way."""

import json
from typing import Any

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from pydantic import Field

from ricordo.stores.postgres.database import Database
from ricordo.stores.toolbox.box import Toolbox
from tests.support.toolboxes import TOOLS, Counting, best, box_of


class Writer(FakeListChatModel):
    """A model that writes about tools; keeps what it was told."""

    responses: list[str] = Field(default_factory=lambda: ["Requests: tell my aunt the news."])
    told: list[str] = Field(default_factory=list)
    down: bool = False

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.told.append("\n".join(str(message.text) for message in messages))
        if self.down:
            raise ConnectionError("no model")
        return super()._generate(messages, *args, **kwargs)


async def test_a_model_writes_once_about_the_tools_that_ask_for_it(db: Database, counting: Counting) -> None:
    writer = Writer()

    def dispatch(recipient: str) -> str:
        """Send it."""
        return recipient  # by pigeon

    def box() -> Toolbox:
        made = box_of({"tell_weather": TOOLS["tell_weather"], "list_directory": TOOLS["list_directory"]})
        made.register_tool(augment=True)(dispatch)
        return made

    plain = box()
    await plain.sync(db, counting)
    assert not writer.told, "no model, no call"

    rich = box()
    assert (await rich.sync(db, counting, model=writer)).changed == ("dispatch",)
    assert len(writer.told) == 1
    assert "by pigeon" in writer.told[0], "the model reads the source"
    assert await best(rich, "let my aunt have the news") == "dispatch"
    assert rich.schema("dispatch")["function"]["description"] == "Send it.", "the chat model sees the original"

    again = box()
    assert (await again.sync(db, counting, model=writer)).unchanged == 3
    assert (await box().sync(db, counting)).unchanged == 3, "what was written stays, with or without a model"
    assert len(writer.told) == 1
    assert await best(again, "let my aunt have the news") == "dispatch"


async def test_a_model_writes_about_every_tool_when_it_is_told_to(db: Database, counting: Counting) -> None:
    writer = Writer(responses=["Requests: will I need an umbrella?"])
    weather = {"tell_weather": TOOLS["tell_weather"]}
    await box_of(TOOLS).sync(db, counting)
    changes = await box_of(weather).sync(db, counting, model=writer, everything=True)
    assert changes.changed == ("tell_weather",)
    other = Counting(counting.real, name="other")
    box = box_of(TOOLS)
    await box.sync(db, other)
    assert len(writer.told) == 1
    assert await best(box, "umbrella") == "tell_weather", "another embedding model, and the text is still there"


async def test_what_a_model_wrote_outlives_a_start_without_the_tool(db: Database, counting: Counting) -> None:
    writer = Writer()
    await box_of(TOOLS).sync(db, counting, model=writer, everything=True)
    assert (await box_of({}).sync(db, counting)).removed == ()
    changes = await box_of(TOOLS).sync(db, counting, model=writer, everything=True)
    assert (changes.unchanged, len(writer.told)) == (3, 3)


async def test_a_model_that_is_down_is_not_asked_about_every_tool(db: Database, counting: Counting) -> None:
    many = {f"tool_{i}": f"Do number {i}." for i in range(40)}
    writer, told = Writer(down=True), list[tuple[str, int, int]]()
    box = box_of(many)
    changes = await box.sync(db, counting, model=writer, everything=True, progress=lambda *step: told.append(step))
    assert len(writer.told) == 4
    assert len(changes.added) == 40
    assert told[-1] == ("asking the model about tools", 40, 40)
    assert (await box_of(many).sync(db, counting)).unchanged == 40


async def test_a_model_that_fails_leaves_the_tools_own_description(db: Database, counting: Counting) -> None:
    box = box_of(TOOLS, augment=True)
    changes = await box.sync(db, counting, model=Writer(down=True))
    assert len(changes.added) == 3
    assert await best(box, "send an e-mail") == "send_mail"
    writer = Writer()
    assert len((await box_of(TOOLS, augment=True).sync(db, counting, model=writer)).changed) == 3, "tried again"
    assert json.dumps(writer.told).count("# Schema") == 3
