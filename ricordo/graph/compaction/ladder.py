"""The ladder of compaction: means in the order of what they cost the reader, until the window is down to its goals."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage

from ricordo.graph import memories, prompt, prompts
from ricordo.graph.compaction import history as compaction
from ricordo.graph.compaction import results
from ricordo.graph.compaction.long_texts import Long, heights
from ricordo.graph.compaction.steps import Steps
from ricordo.graph.context import thread_of, user_of
from ricordo.graph.exchange import exchange_of, groups_of, repaired
from ricordo.graph.limits import DESCRIPTION_TOKENS, Limits, seconds_left
from ricordo.graph.resources import get_resources
from ricordo.graph.state import ContextUse, State
from ricordo.graph.window import Window, shown_question
from ricordo.models import tokens
from ricordo.stores.pages import fenced_count
from ricordo.stores.passages import Passage

_GIVE_WAY = ("Workflow", "Entity", "Knowledge Base", "User")
"""Segments in the order in which they lose their last passages."""
_KEEP_BEST: Mapping[str, int] = {"Knowledge Base": 1, "User": 100}
"""Passages of a segment that stay as long as the threshold is met with them."""
_LEAST_TEXT = 60  # tokens of a long message or result that is shown in part
_LEAST_QUESTION = 400
_RESULT_WEIGHT, _QUESTION_WEIGHT = 4, 8
_LEAST_SHORT = 100  # tokens of steps put in short
_IN_PART = "long texts shown by head, tail and pointer"
_CUTS = 3  # until what was reckoned by parts fits as a whole


class Goals(NamedTuple):
    """How many tokens the next call may carry, beside the reply."""

    target: int
    """Down to here by what loses nothing of this turn: pointers, summaries, passages of other memories."""
    threshold: int
    """Down to here by showing long messages and results by head, tail and pointer."""
    hard: int
    """Down to here by everything else."""


def goals_of(limits: Limits, refused: int | None = None) -> Goals:
    """Set the goals.

    Args:
        limits: The turn's limits.
        refused: Tokens of a call that the provider has found too long, although we thought that it fits.
    """
    target, threshold, hard = limits.compact_to - limits.reserve, limits.compact_above - limits.reserve, limits.hard
    if refused is not None:
        target, hard = min(target, refused // 2), min(hard, refused * 3 // 4)
    return Goals(target, min(threshold, hard), hard)


class Ladder:
    """One pass of compaction over one turn's window and exchange."""

    def __init__(self, state: State, window: Window, runtime: Any, limits: Limits) -> None:
        self.state = state
        self.window = window
        self._did: dict[str, int | None] = {}
        self.goals = goals_of(limits, state["context"]["tokens"] if state["overflows"] else None)
        self._limits = limits
        self._thread = thread_of(runtime)
        self._manager = get_resources().manager.for_user(user_of(runtime))
        self._exchange: list[AnyMessage] = repaired(exchange_of(state))

    @property
    def did(self) -> list[str]:
        """Say what was done, a line for each means."""
        return [what if number is None else f"{what}: {number}" for what, number in self._did.items()]

    def use(self, *, least: bool = False, beside: Sequence[AnyMessage] = ()) -> ContextUse:
        """Measure the next call as it stands now.

        Args:
            least: With no more tools than those that the window points to.
            beside: Messages counted in.
        """
        state = self._as_it_stands(*beside)
        if least:
            state = {**state, "offered": prompt.pointed_at(state, self.window)}
        return prompt.measure(state, self.window, self._limits, final=least)

    def _as_it_stands(self, *beside: AnyMessage) -> State:
        return {**self.state, "messages": [*self._exchange, *beside]}

    def carried(self) -> int:
        """Count the next call as it stands now, without the tools that are yet to be chosen."""
        return prompt.measure(self._as_it_stands(), self.window, self._limits, final=True)["tokens"]

    def tokens(self, goal: int | None = None) -> int:
        """Count the next call as it stands now; for the hard goal with the fewest tools."""
        return self.use(least=goal == self.goals.hard)["tokens"]

    def changed_messages(self) -> list[AnyMessage | RemoveMessage]:
        """Return what the state's messages need: the exchange as it is now, in place of what it was."""
        was = exchange_of(self.state)
        if self._exchange == was:
            return []
        kept = {m.id for m in self._exchange}
        return [*(RemoveMessage(id=m.id) for m in was if m.id and m.id not in kept), *self._exchange]

    async def run(self) -> None:
        """Take step after step, each only if its goal is not reached yet."""
        target, threshold, hard = self.goals
        steps: list[tuple[int, Callable[[int], Awaitable[None]]]] = [
            (target, self._point_at_old_results),
            (target, self._put_old_steps_in_short),
            (threshold, self._keep_results_to_half),
            (target, self._summarise_old_turns),
            (target, self._let_the_weaker_give_way),
            (threshold, self._let_all_give_way),
            (threshold, self._cut_long_ones),
            (hard, self._cut_question_too),
            (hard, self._take_back_pages),
            (hard, self._put_all_steps_in_short),
            (hard, self._summarise_latest_turns),
            (hard, self._cut_question_too),
        ]
        for goal, step in steps:
            if self.tokens(goal) > goal:
                await step(goal)

    # The exchange

    async def _point_at_old_results(self, _: int) -> None:
        """Put pointers for the results of all steps but the latest."""
        self._exchange_becomes(results.with_pointers(self._exchange, self._limits), "old results behind pointers")

    async def _take_back_pages(self, goal: int) -> None:
        """Take back pages that were read in one step and are too much together, the last ones first."""
        for page in reversed(results.results_in(self._exchange, pages=True)):
            if self.tokens(goal) <= goal:
                return
            self._exchange_becomes(results.without_page(self._exchange, page), "pages taken back")

    def _exchange_becomes(self, exchange: list[AnyMessage], what: str) -> None:
        number = sum(a is not b for a, b in zip(exchange, self._exchange, strict=True))
        self._exchange = exchange
        self._note(what, number)

    def _note(self, what: str, number: int) -> None:
        if number:
            self._did[what] = (self._did.get(what) or 0) + number

    async def _put_old_steps_in_short(self, _: int) -> None:
        await self._put_in_short(len(groups_of(self._exchange)) - 1, self._limits.page)

    async def _put_all_steps_in_short(self, goal: int) -> None:
        log = AIMessage(prompts.EARLIER_STEPS)  # it will point to the log, whose reader has to be offered
        use = self.use(least=True, beside=[log])
        room = goal - (use["tokens"] - use["segments"]["exchange"])
        await self._put_in_short(len(groups_of(self._exchange)), max(_LEAST_SHORT, room))

    async def _put_in_short(self, number: int, room: int) -> None:
        """Put the first steps in short, if that is shorter; their outputs are in the tool log."""
        groups = groups_of(self._exchange)
        old, later = groups[:number], [m for group in groups[number:] for m in group]
        if not old:
            return
        short = await Steps(old, self._manager, self.state["run_id"]).in_short(self._limits, room, self._patience())
        before = tokens.count_messages([m for group in old for m in group], self._limits.encoding)
        if tokens.count_message(short, self._limits.encoding) < before:
            self._exchange = [short, *later]
            self._note("steps put in short", number)

    def _patience(self) -> float:
        """Return the seconds that a model may take for a summary: never more than half of what is left of the turn."""
        return max(0.0, seconds_left(self.state, self._limits) / 2)

    # The conversation

    async def _summarise_old_turns(self, goal: int) -> None:
        """Put the oldest turns under a summary, as many as it takes; the latest stay."""
        await self._summarise_turns(goal, self._limits.keep_turns)

    async def _summarise_latest_turns(self, goal: int) -> None:
        """Summarise even turns that are to be kept, where more are to be kept than there is room for."""
        await self._summarise_turns(goal, 0)

    async def _summarise_turns(self, goal: int, keep: int) -> None:
        chosen = self._worth_summarising(goal, keep)
        many = len(self.window.segment("Summary").passages) > self._limits.most_summaries
        if not chosen and not many:
            return
        asked = prompt.question_of(self.state)
        if chosen:
            stored = await self._manager.read_conversational_memory(self._thread, but=asked)
            whole = [p for p in stored if p.id in chosen]  # the window may show a part of them
            covered = await compaction.cover(self._manager, self._thread, whole, self._limits, seconds=self._patience())
            self._did[str(covered) if covered else "the thread was compacted elsewhere"] = None
            left = await self._manager.read_conversational_memory(self._thread, but=asked)
            self._show("Conversation", left, "older turns are under Summary Memory")
        folded = await compaction.fold(self._manager, self._thread, self._limits, seconds=self._patience())
        self._did |= dict.fromkeys(map(str, folded))
        self._show("Summary", await self._manager.read_summary_context(self._thread))

    def _worth_summarising(self, goal: int, keep: int) -> set[str]:
        """Choose messages from the oldest turn on, until the goal is met; none if their summary costs as much."""
        turns = compaction.turns_of(self.window.segment("Conversation").passages)
        chosen: set[str] = set()
        excess, gained = self.tokens(goal) - goal, -DESCRIPTION_TOKENS
        for turn in turns[: max(0, len(turns) - keep)]:
            if gained >= excess:
                break
            chosen |= {p.id for p in turn}
            gained += sum(self._limits.count(p.render(1)) for p in turn)
        return chosen if gained > 0 else set()

    def _show(self, name: str, passages: Sequence[Passage], empty: str | None = None) -> None:
        shown = memories.segment(name, list(passages), self._limits).passages
        self.window = self.window.with_passages(name, shown, empty)

    # Other memories

    async def _let_the_weaker_give_way(self, goal: int) -> None:
        """Drop the last passages of the other segments, the least important segment first; the best ones stay."""
        self._give_way(goal, _KEEP_BEST)

    async def _let_all_give_way(self, goal: int) -> None:
        self._give_way(goal, {})

    def _give_way(self, goal: int, keep: Mapping[str, int]) -> None:
        excess, dropped = self.tokens() - goal, 0
        for name in _GIVE_WAY:
            passages = self.window.segment(name).passages
            kept = len(passages)
            while kept > keep.get(name, 0) and excess > 0:
                kept -= 1
                excess -= self._limits.count(passages[kept].render(kept + 1)) + 1
            if kept < len(passages):
                dropped += len(passages) - kept
                self.window = self.window.with_passages(name, passages[:kept], "left out: the window is full")
        self._note("passages of other memories left out", dropped)

    # What is long

    async def _keep_results_to_half(self, goal: int) -> None:
        """Keep the latest results to half of what there is for them and for memory."""
        sizes = sum(self._limits.count(tokens.text_of(m)) for m in results.results_in(self._exchange, pages=False))
        parts = self.use()["segments"]
        fixed = parts["system"] + parts["tools"] + parts["question"] + parts["exchange"] - sizes
        if sizes > (half := max(0, (goal - fixed) // 2)):
            self._cut(self.tokens() - sizes + half, conversation=False)

    async def _cut_long_ones(self, goal: int) -> None:
        """Show long messages of the conversation and long results by head, tail and pointer."""
        self._cut(goal)

    async def _cut_question_too(self, goal: int) -> None:
        """Show even the question by head, tail and pointer: it alone is too large for the window."""
        self._cut(goal, question=True)

    def _cut(self, goal: int, *, conversation: bool = True, question: bool = False) -> None:
        passages = self.window.segment("Conversation").passages if conversation else ()
        shown = [(m, note) for m in results.results_in(self._exchange, pages=False) if (note := results.note_of(m))]
        texts = [self._long_message(p) for p in passages]
        texts += [Long(tokens.text_of(m), n, self._limits.count, _LEAST_TEXT, _RESULT_WEIGHT) for m, n in shown]
        texts += [self._long_question(asked)] if question and (asked := prompt.question_of(self.state)) else []
        room = goal - self.tokens(goal) + sum(text.size for text in texts)
        window, exchange, cut = self.window, self._exchange, 0
        for _ in range(_CUTS):
            new = [text.cut(height) for text, height in zip(texts, heights(texts, room), strict=True)]
            cut = sum(a != b.text for a, b in zip(new, texts, strict=True))
            messages, rest = new[: len(passages)], new[len(passages) :]
            self._exchange = results.with_texts(exchange, {id(m): t for (m, _), t in zip(shown, rest, strict=False)})
            self.window = replace(window, question=rest[len(shown)]) if len(rest) > len(shown) else window
            if passages:
                left = tuple(replace(p, text=t) for p, t in zip(passages, messages, strict=True))
                self.window = self.window.with_passages("Conversation", left)
            if (over := self.tokens(goal) - goal) <= 0:
                break
            room -= over
        if cut:
            self._did[_IN_PART] = cut

    def _long_message(self, passage: Passage) -> Long:
        note = prompts.MESSAGE_POINTER.format(message_id=passage.id)
        return Long(passage.text, note, fenced_count(self._limits.count), _LEAST_TEXT)

    def _long_question(self, asked: Any) -> Long:
        note = prompts.MESSAGE_POINTER.format(message_id=asked)
        floor = min(_LEAST_QUESTION, self._limits.window // 10)
        return Long(
            self.window.question, note, lambda t: self._limits.count(shown_question(t)), floor, _QUESTION_WEIGHT
        )
