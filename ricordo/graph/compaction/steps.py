"""Earlier steps of a turn in short: what they found, and a line for each call with the way back to its whole output."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from ricordo.graph import prompts
from ricordo.graph.compaction.summarise import Spoken, summarise
from ricordo.graph.exchange import STEPS
from ricordo.graph.limits import Limits
from ricordo.stores.conversation import Row
from ricordo.stores.manager import MemoryManager
from ricordo.stores.pages import fit

READERS = ("expand_summary", "read_tool_log")
"""The tools that follow the pointers."""
_ARGS_CHARACTERS = 100
_FOUND_SHARE = 0.4  # of the room, for what the calls found; the rest is for the calls
_FRAME = 16  # tokens of the message around its parts
_LEAST_FOUND = 40  # tokens; less tells nothing
_LOGGED = "log_id"


def is_page(name: str) -> bool:
    """Tell whether a tool pages what is stored: it is never cut again, and its results can be asked for again."""
    return name in READERS


def call_text(name: str, args: Mapping[str, Any]) -> str:
    """Write a call down as the model would make it again."""
    return f"{name}({', '.join(f'{key}={json.dumps(value, ensure_ascii=False)}' for key, value in args.items())})"


def log_id_of(message: ToolMessage) -> str | None:
    """Return the tool log's id of a result, if it was logged."""
    log_id = (message.artifact or {}).get(_LOGGED)
    return str(log_id) if log_id else None


class Steps:
    """What is to be put in short: groups of an exchange, the short of still earlier ones included."""

    def __init__(self, groups: Sequence[Sequence[AnyMessage]], manager: MemoryManager, run_id: str) -> None:
        self._manager = manager
        self._run_id = run_id
        self._found = ""
        self._ids: list[str] = []
        self._first = groups[0][0].id  # the place of the short one
        for message in (m for group in groups for m in group):
            if isinstance(message, AIMessage) and (before := message.additional_kwargs.get(STEPS)):
                self._found, self._ids = before["found"], [*before["ids"], *self._ids]
            elif isinstance(message, ToolMessage) and (log_id := log_id_of(message)):
                self._ids.append(log_id)
        self._new = [m for group in groups for m in group if not m.additional_kwargs.get(STEPS)]

    async def in_short(self, limits: Limits, room: int, seconds: float) -> AIMessage:
        """Return the message that stands for the steps.

        Args:
            limits: The turn's limits.
            room: Tokens of the message, about.
            seconds: Time for a model's summary.
        """
        rows = await self._manager.tool_outputs(self._ids)
        most = int(room * _FOUND_SHARE)
        found = await self._what_was_found(rows, limits, most, seconds) if most >= _LEAST_FOUND else ""
        head = prompts.EARLIER_STEPS.format(run_id=self._run_id)
        left = room - _FRAME - limits.count(head) - limits.count(found)
        text = "\n".join([head, *([found] if found else []), *_latest_that_fit(map(_line, rows), left, limits)])
        mark = {"found": found, "ids": self._ids}
        return AIMessage(text, id=self._first, additional_kwargs={STEPS: mark})

    async def _what_was_found(self, rows: Iterable[Row], limits: Limits, most: int, seconds: float) -> str:
        """Summarise the outputs of the steps that are new here, together with what was said of those before.

        A page of an output that is there whole says nothing more; any other page counts as what was found.
        """
        new = {log_id for m in self._new if isinstance(m, ToolMessage) and (log_id := log_id_of(m))}
        source: list[Spoken] = [("before", self._found)] if self._found else []
        for row in rows:
            if str(row["id"]) in new and not (is_page(row["tool"]) and row["args"].get(_LOGGED) in self._ids):
                source += [("assistant", row["said"])] if row["said"] else []
                source.append((row["tool"], _told(row)))
        if not source:
            return self._found
        made = await summarise(source, limits, most=most, seconds=seconds)
        fenced = "\n".join(f"> {line}" for line in made.render().splitlines())  # it tells what outsiders said
        return fenced[: fit(fenced, most, limits.count)].rstrip()


def _told(row: Row) -> str:
    """Return what a call brought; of a page what was fenced in it, without its head."""
    if not is_page(row["tool"]) or row["status"] != "success":
        return str(row["output"])
    return "\n".join(line[2:] for line in row["output"].splitlines() if line.startswith("> "))


def _line(row: Row) -> str:
    whole = call_text(row["tool"], row["args"])
    if is_page(row["tool"]) and row["status"] == "success":
        return f"> {whole}: read; call it again for the page"
    short = whole if len(whole) <= _ARGS_CHARACTERS else f"{whole[:_ARGS_CHARACTERS]} …)"
    return f"> {short}: {row['status']}, {row['tokens']} tokens, log_id {row['id']}"


def _latest_that_fit(lines: Iterable[str], room: int, limits: Limits) -> list[str]:
    """Keep as many of the latest lines as there is room for, and say how many are left out."""
    every = list(lines)
    kept: list[str] = []
    for line in reversed(every):
        room -= limits.count(line) + 1
        if room < 0:
            break
        kept.append(line)
    out = len(every) - len(kept)
    return [*([prompts.EARLIER_CALLS.format(number=out)] if out else []), *reversed(kept)]
