"""User memory, on purpose: remember, recall, correct, forget. What may be kept is decided here, not by the model."""

import asyncio
from dataclasses import replace
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from ricordo.common.errors import ToolError
from ricordo.common.moments import begin_of, end_of, zone_of
from ricordo.graph import resources
from ricordo.graph.context import Context, context_of, thread_of, user_of
from ricordo.stores.conversation import thread_key
from ricordo.stores.passages import render_all
from ricordo.stores.toolbox.box import toolbox
from ricordo.stores.user_memory.firewall import Heard, attribute, is_order, may_end, may_forget
from ricordo.stores.user_memory.heard import read_heard
from ricordo.stores.user_memory.query import Filter
from ricordo.stores.user_memory.view import FROM_OUTSIDE, NOT_ASKED, NOT_NEW, outcome_told, passage
from ricordo.stores.user_memory.work import Said

if TYPE_CHECKING:
    from langgraph.prebuilt import ToolRuntime

    from ricordo.graph.window import Window
    from ricordo.stores.manager import MemoryManager
    from ricordo.stores.search.units import Query

Type = Literal["fact", "preference", "event", "task"]
Importance = Literal["low", "medium", "high"]

_MOST = 50
_FIRST = 3
"""Memories that fit the user's words best: one of them may be meant where it is not named."""


@toolbox.register_tool(
    group="memory",
    tags=["remember", "save", "note", "preference", "profile", "ricorda", "memorizza"],
    examples=[
        "remember that I prefer tea",
        "please remember my birthday",
        "keep in mind that I am allergic to nuts",
        "note down that the meeting is on Monday",
        "my name is Anna",
        "I live in Rome now",
        "from now on answer in short sentences",
        "I can't stand jazz any more",
        "ricordati che preferisco il tè",
        "tieni a mente che sono allergico alle noci",
        "mi chiamo Luca e abito a Torino",
        "d'ora in poi rispondimi in breve",
        "non sopporto più il jazz",
    ],
    pinned=True,
)
async def remember(
    content: str,
    type: Type = "fact",  # noqa: A002 - the name that the model sees
    importance: Importance = "medium",
    tags: list[str] | None = None,
    *,
    runtime: "ToolRuntime[Context, Any]",
) -> str:
    """Remember one statement about the user or their affairs, in later conversations too.

    What is known is not stored twice, and what it contradicts goes into history. Only what the user said themselves
    counts as their wish. Tell the user what was stored.

    Args:
        content: One statement, in the user's own words and language: "The user prefers green tea." Put relative dates
            into absolute ones.
        type: What it is: a fact, a preference, an event (with its date in the content), or a task.
        importance: Preferences and facts of high importance stand in every window; all others are found by recall.
        tags: A few words to find it by: ["food"].
        runtime: Who asks, and on which thread.

    Returns:
        The memory's id and what happened: stored, known already, merged, or in whose place.
    """
    manager, thread = _manager(runtime), _thread(runtime)
    memory = manager.user_memory
    said = Said(content, type, importance, tags or (), thread_id=thread, zone=_zone(runtime)).checked()
    query = await manager.query(said.content)
    heard = await _hear(runtime, manager, query)
    known = await memory.nearest(query)
    # Long outputs take their time to look through: others are served meanwhile.
    verdict = await asyncio.to_thread(attribute, content, heard, [row["content"] for row in known])
    if verdict.origin is None:
        await memory.refuse("memory gave it", thread)
        raise ToolError(f"{NOT_NEW}\n{render_all(passage(row) for row in known)}".strip())
    if verdict.origin == "tool" and is_order(content, type):
        await memory.refuse("a document or a tool says what the user wants", thread)
        raise ToolError(FROM_OUTSIDE)
    from ricordo.graph.judging import judge_by  # noqa: PLC0415 - it imports graph.resources, which imports the shipped tools
    from ricordo.graph.limits import limits_of  # noqa: PLC0415 - the same

    judge = judge_by(limits_of(runtime)) if verdict.origin == "user" else None
    said = replace(said, origin=verdict.origin, message_id=verdict.message_id)
    return outcome_told(await memory.remember(said, judge=judge))


@toolbox.register_tool(
    group="memory",
    tags=["recall", "preferences", "profile", "past", "memories", "about me", "ricordi"],
    examples=[
        "what do you know about me",
        "do I like jazz",
        "what did I tell you last week",
        "what is my favourite colour",
        "when is my birthday",
        "who do I work with",
        "where do I live",
        "con chi lavoro",
        "what did I prefer in March",
        "which tasks did I ask you to remember",
        "cosa sai di me",
        "qual è il mio colore preferito",
        "cosa ti ho detto la settimana scorsa",
        "ti ricordi dove abito",
    ],
    side_effect=False,
    pinned=True,
)
async def recall(
    query: str,
    *,
    type: Type | None = None,  # noqa: A002 - the name that the model sees
    tags: list[str] | None = None,
    importance: Importance | None = None,
    since: str | None = None,
    until: str | None = None,
    as_of: str | None = None,
    limit: int = 5,
    runtime: "ToolRuntime[Context, Any]",
) -> str:
    """Look up what the user told to be remembered, by meaning and by words.

    Dates are of the user's time zone: a day (2026-11-30), a month (2026-11), or a moment (2026-11-30T18:00).

    Args:
        query: What the memories should be about.
        type: Only of this kind.
        tags: Only with one of these tags.
        importance: Only of this importance.
        since: Only what was said on this day or later.
        until: Only what was said on this day or earlier.
        as_of: What held at the end of this day, not what holds now.
        limit: How many at most, from 1 to 50.
        runtime: Who asks.

    Returns:
        Numbered memories, best first, each with its id, date, type, importance, origin and score (0 to 1, the same
        measure in every search); or that nothing relevant is remembered.
    """
    zone = _zone(runtime)
    moment = end_of(as_of, zone) if as_of else None
    which = Filter(
        type,
        tags or (),
        importance,
        since=begin_of(since, zone) if since else None,
        until=end_of(until, zone) if until else None,
        as_of=moment,
    )
    memory = _manager(runtime).user_memory
    hits = await memory.recall(query, max(1, min(limit, _MOST)), which, shared=True)
    if not hits:
        narrowed = " in these bounds" if which != Filter() else ""
        return f"[nothing found: nothing relevant to this is remembered{narrowed}; remember stores what the user tells]"
    return render_all(passage(hit.row, hit.closeness, as_of=moment, reader=memory.user_id) for hit in hits)


@toolbox.register_tool(
    group="memory",
    tags=["correct", "change", "update", "edit", "correggi", "modifica"],
    examples=[
        "correct what you remember about my address",
        "that is wrong, my birthday is in May",
        "update my phone number",
        "make that memory more important",
        "correggi quello che sai su di me",
        "no, il mio indirizzo è cambiato",
        "modifica quel ricordo",
    ],
)
async def update_memory(
    memory_id: str,
    content: str | None = None,
    importance: Importance | None = None,
    tags: list[str] | None = None,
    *,
    runtime: "ToolRuntime[Context, Any]",
) -> str:
    """Correct a memory: its words, its importance or its tags. Old words stay in history.

    Args:
        memory_id: The id that recall or the User Memory shows; the id of a replaced memory leads to what holds now.
        content: The whole new statement, in the user's own words.
        importance: The new importance.
        tags: The new tags, in place of the old ones.
        runtime: Who asks, and on which thread.

    Returns:
        The memory as it is now.
    """
    manager, thread = _manager(runtime), _thread(runtime)
    memory = manager.user_memory
    source = Said("", thread_id=thread, zone=_zone(runtime))
    if content is not None:
        old = await memory.current(memory_id)
        heard = await _hear(runtime, manager, await manager.query(content))
        # The words that stay are those of the memory: only the new ones must be the user's.
        told = replace(heard, asked=f"{old['content']}\n{heard.asked}")
        verdict = await asyncio.to_thread(attribute, content, told)
        origin = verdict.origin or "agent"
        if origin == "tool" and is_order(content, old["type"]):
            await memory.refuse("a document or a tool says what the user wants", thread)
            raise ToolError(FROM_OUTSIDE)
        source = replace(source, origin=origin, message_id=verdict.message_id)
    return outcome_told(
        await memory.update(memory_id, content=content, importance=importance, tags=tags, source=source)
    )


@toolbox.register_tool(
    group="memory",
    tags=["forget", "delete", "erase", "privacy", "dimentica", "cancella"],
    examples=[
        "forget my phone number",
        "please forget what I told you about my job",
        "delete that from your memory",
        "stop remembering where I live",
        "dimentica il mio indirizzo",
        "cancella quel ricordo",
        "scordati quello che ti ho detto",
        "the dentist appointment is off",
        "I have paid the rent, tick it off",
    ],
)
async def forget(memory_id: str, reason: str, *, runtime: "ToolRuntime[Context, Any]") -> str:
    """Forget a memory, because the user asks for it in this turn. The user can undo it for some time.

    A task or an event that the user calls done, over or off ends: it holds no longer and stays in history.

    Args:
        memory_id: The id that recall or the User Memory shows.
        reason: Why, in the user's words.
        runtime: Who asks, and on which thread.

    Returns:
        What was forgotten, and until when it can be undone; or what has ended.
    """
    manager, thread = _manager(runtime), _thread(runtime)
    memory = manager.user_memory
    row = await memory.find(memory_id)
    heard = await _hear(runtime, manager)
    if row["type"] in {"task", "event"} and may_end(row["content"], row["id"], heard):
        ended = await memory.end(memory_id, reason, thread=thread)
        return f"Ended: it holds no longer and stays in history.\n{passage(ended).render(1)}"
    asked = "\n".join(spoken.text for spoken in heard.now)
    first = [one["id"] for one in await memory.nearest(asked, _FIRST)]
    if not may_forget(row["content"], row["id"], heard, first=row["id"] in first):
        await memory.refuse("the user has not asked for it", thread)
        raise ToolError(NOT_ASKED)
    done = await memory.forget(memory_id, reason, thread=thread)
    days = resources.get_resources().settings.memory_undo_days
    more = f", with {len(done.with_it)} earlier wordings" if done.with_it else ""
    still = f"\nWhat had replaced it still holds:\n{passage(done.holds).render(1)}" if done.holds else ""
    return (
        f"Forgotten{more}. For {days:g} days the user can bring it back by `ricordo memory undo {row['id']}`; then it "
        f"is gone for good.\n{passage(done.memory).render(1)}{still}"
    )


def _manager(runtime: "ToolRuntime[Context, Any]") -> "MemoryManager":
    return resources.get_resources().manager.for_user(user_of(runtime))


def _thread(runtime: "ToolRuntime[Context, Any]") -> UUID:
    return thread_key(user_of(runtime), thread_of(runtime))


def _zone(runtime: "ToolRuntime[Context, Any]") -> tzinfo:
    return zone_of(context_of(runtime).timezone)


async def _hear(runtime: "ToolRuntime[Context, Any]", manager: "MemoryManager", query: "Query | None" = None) -> Heard:
    """Gather what was said and read on the thread, up to this call.

    Documents are asked for the statement itself: what the window showed of them may have left it since.
    """
    window: Window | None = runtime.state.get("window")
    passages = await manager.read_knowledge_base(query) if query else []
    shown = window.segment("User").passages if window else ()
    async with manager.db.transaction(manager.user_id) as conn:
        return await read_heard(
            conn, _thread(runtime), recalled=[one.text for one in shown], outside=[one.text for one in passages]
        )
