"""Random threads: what people, models and tools say, in many languages and of any length."""

import json
import random
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

from ricordo.models import tokens

_ENGLISH = "the harbour log of day barge gull parcel keeper light tide storm paper memory agent tool window plan cost"
_ITALIAN = "il porto della giornata nave gabbiano pacco guardiano faro marea tempesta articolo memoria perché città"
_CHINESE = "港口日志今天有三艘驳船两只海鸥和一个包裹给灯塔看守人潮水很好暴风雨。"
_ARABIC = "سجل الميناء اليوم سفينة نورس طرد حارس المنارة المد عاصفة"
_EMOJI = "👩\u200d👩\u200d👧 🇮🇹 e\u0301 ﷽ 🌊 ⚓️ "
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_LINES = ["", "a", "#", "## Summary Memory", "> x", "[1] user", "\u2028", "\r", "-"]
KINDS = ("english", "italian", "chinese", "arabic", "emoji", "base64", "json", "lines", "digits")


@dataclass(frozen=True)
class Said:
    """A text that follows from its kind, its length in characters and a seed."""

    kind: str
    size: int
    seed: int

    @property
    def text(self) -> str:
        """Return the text; never empty."""
        dice = random.Random(self.seed)  # noqa: S311 - it must follow from the seed
        if self.kind in {"english", "italian", "arabic"}:
            words = {"english": _ENGLISH, "italian": _ITALIAN, "arabic": _ARABIC}[self.kind].split()
            made = " ".join(dice.choices(words, k=self.size // 4 + 2))
            made = ". ".join(made[i : i + 90] for i in range(0, len(made), 90))
        elif self.kind == "json":
            rows = [{"id": dice.randrange(10**6), "v": dice.random()} for _ in range(self.size // 30 + 1)]
            made = json.dumps(rows)
        elif self.kind == "lines":
            made = "\n".join(dice.choices(_LINES, k=self.size // 2 + 1))
        elif self.kind == "digits":
            made = " ".join(str(dice.randrange(10**6)) for _ in range(self.size // 7 + 1))
        else:
            letters = {"chinese": _CHINESE, "emoji": _EMOJI, "base64": _BASE64}[self.kind]
            made = "".join(dice.choices(letters, k=self.size))
        return made[: self.size] if made[: self.size].strip() else "x"


@dataclass(frozen=True)
class Asked:
    """One tool call: `page` asks for what a pointer in the window names, if there is one."""

    output: Said
    note: Said
    page: bool = False
    id_size: int = 12
    times: int = 1


@dataclass(frozen=True)
class Story:
    """A thread and one turn on it."""

    window: int
    history: tuple[Said, ...]
    question: Said
    steps: tuple[tuple[Said, tuple[Asked, ...]], ...]


def said(*sizes: int) -> st.SearchStrategy[Said]:
    """Return texts of some sizes."""
    return st.builds(Said, st.sampled_from(KINDS), st.sampled_from(sizes), st.integers(0, 10**6))


def _asked() -> st.SearchStrategy[Asked]:
    usual = st.builds(Asked, said(20, 400, 4_000), said(5, 30), st.booleans())
    odd = st.builds(Asked, said(100_000), said(5, 6_000), id_size=st.sampled_from([12, 1_500]))
    return st.one_of(usual, usual, usual, odd)


def _steps() -> st.SearchStrategy[tuple[tuple[Said, tuple[Asked, ...]], ...]]:
    several = st.lists(_asked(), min_size=1, max_size=4).map(tuple)
    crowd = st.tuples(st.builds(Asked, said(60, 900), said(5), times=st.just(120)))
    step = st.tuples(said(1, 60, 60, 5_000), st.one_of(several, several, several, several, crowd))
    return st.lists(step, max_size=4).map(tuple)


def stories() -> st.SearchStrategy[Story]:
    """Return threads with one turn, most of them larger than their window."""
    message = said(10, 120, 120, 500, 500, 1_500, 30_000)
    return st.builds(
        Story,
        st.sampled_from([2_000, 3_000, 4_000, 8_000, 32_000]),
        st.lists(message, max_size=24).map(tuple),
        said(20, 200, 200, 1_200, 20_000),
        _steps(),
    )


def reply_of(text: str, asked: tuple[Asked, ...], outputs: list[str], ids: list[str], step: int) -> AIMessage:
    """Return a model's reply that makes some calls; outputs are put where `look_up` finds them.

    Args:
        text: What it says beside them.
        asked: The calls.
        outputs: Takes the outputs.
        ids: What the window points to, readable by `expand_summary`.
        step: Makes the ids of calls unique.
    """
    made = []
    every = [call for call in asked for _ in range(call.times)]
    args: dict[str, Any]
    for i, call in enumerate(every):
        if call.page and ids:
            name, args = "expand_summary", {"summary_id": ids[i % len(ids)]}
        else:
            outputs.append(call.output.text)
            name, args = "look_up", {"place": len(outputs) - 1, "note": call.note.text}
        made.append(ToolCall(name=name, args=args, id=f"{step}-{i}-".ljust(call.id_size, "x")))
    return AIMessage(text, tool_calls=made)


def size_of(messages: list[BaseMessage], schemas: list[dict[str, Any]]) -> int:
    """Count a model call by its parts, as the provider would."""
    return tokens.count_messages(messages) + tokens.count_tools(schemas)


def assert_pairs_are_whole(messages: list[BaseMessage]) -> None:
    """Check that every call is answered right after it, once, and that nothing else is answered."""
    waiting: list[str | None] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            assert message.tool_call_id in waiting, "a result without its call"
            waiting.remove(message.tool_call_id)
            continue
        assert not waiting, "calls without their results"
        if isinstance(message, AIMessage):
            waiting = [call["id"] for call in message.tool_calls]
    assert not waiting, "calls without their results at the end"
