"""The ladder of compaction: means in the order of their cost, until the window is down to its target."""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, ToolMessage

from graph import compaction, prompt, prompts, tokens
from graph.context import thread_of, user_of
from graph.exchange import exchange_of, groups_of, repaired
from graph.limits import Limits
from graph.resources import get_resources
from graph.state import State
from graph.window import Window
from stores.pages import head_and_tail
from stores.passages import Passage

_POINTER_ABOVE = 120  # tokens; a shorter result costs no more than the pointer to it
_GIVE_WAY = ("Workflow", "Entity", "Knowledge Base", "User")
"""Segments in the order in which they lose their last passages."""


class Ladder:
    """One pass of compaction over one turn's window and exchange."""

    def __init__(self, state: State, window: Window, runtime: Any, limits: Limits) -> None:
        self.state = state
        self.window = window
        self.did: list[str] = []
        self._limits = limits
        self._thread = thread_of(runtime)
        self._manager = get_resources().manager.for_user(user_of(runtime))
        self._exchange: list[AnyMessage] = repaired(exchange_of(state))
        self._target = limits.compact_to - limits.reserve
        if state["overflows"]:
            # The provider's window is smaller than we think: half of what it refused is a safe guess.
            self._target = min(self._target, self.tokens() // 2)

    def tokens(self) -> int:
        """Count the next call as it stands now."""
        use = prompt.measure({**self.state, "messages": [*self._exchange]}, self.window, self._limits)
        return use["tokens"]

    def changed_messages(self) -> list[AnyMessage | RemoveMessage]:
        """Return what the state's messages need: the exchange as it is now, in place of what it was."""
        was = exchange_of(self.state)
        if self._exchange == was:
            return []
        kept = {m.id for m in self._exchange}
        return [*(RemoveMessage(id=m.id) for m in was if m.id and m.id not in kept), *self._exchange]

    async def run(self) -> None:
        """Take step after step until the target is reached."""
        steps: list[Callable[[], Awaitable[None]]] = [
            self._point_at_old_results,
            self._shorten_exchange,
            self._summarise_turns,
            self._let_segments_give_way,
            self._cut_passages,
            self._cut_latest_results,
        ]
        for step in steps:
            if self.tokens() <= self._target:
                return
            await step()

    async def _point_at_old_results(self) -> None:
        """Put pointers for the results of all steps but the latest."""
        groups = groups_of(self._exchange)
        old = {m.id for group in groups[:-1] for m in group}
        changed = [self._pointer(m) if m.id in old and isinstance(m, ToolMessage) else m for m in self._exchange]
        pointed = sum(a is not b for a, b in zip(changed, self._exchange, strict=True))
        if pointed:
            self._exchange = changed
            self.did.append(f"{pointed} tool results became pointers")

    def _pointer(self, message: ToolMessage, keep: int = 40) -> ToolMessage:
        text, log_id = tokens.text_of(message), (message.artifact or {}).get("log_id")
        size = self._limits.count(text)
        if not log_id or size <= max(_POINTER_ABOVE, keep):
            return message
        note = prompts.POINTER.format(log_id=log_id, tokens=message.artifact["tokens"])
        return message.model_copy(
            update={"content": head_and_tail(text, keep + self._limits.count(note), self._limits.count, note)}
        )

    async def _shorten_exchange(self) -> None:
        """Put all steps but the latest in a line each; their outputs are in the tool log."""
        groups = groups_of(self._exchange)
        if len(groups) < 3:
            return
        lines = [line for group in groups[:-1] for line in _lines_of(group)]
        first = groups[0][0]
        short = AIMessage(prompts.EARLIER_STEPS.format(lines="\n".join(lines)), id=first.id)
        self._exchange = [short, *groups[-1]]
        self.did.append(f"{len(groups) - 1} steps were put in short")

    async def _summarise_turns(self) -> None:
        """Put the oldest turns under a summary, as many as it takes; the latest stay."""
        passages = self.window.segment("Conversation").passages
        turns = compaction.turns_of(passages)
        old = turns[: max(0, len(turns) - self._limits.keep_turns)]
        excess, chosen = self.tokens() - self._target, []
        for turn in old:
            if excess <= 0:
                break
            chosen += turn
            excess -= sum(self._limits.count(p.text) for p in turn)
        if not chosen:
            return
        made = await compaction.cover(self._manager, self._thread, chosen, self._limits)
        folded = await compaction.fold(self._manager, self._thread, self._limits)
        if made is None:
            # Another process has compacted this thread meanwhile: what it left is read again.
            self.did.append("the thread was compacted elsewhere")
            left = await self._manager.read_conversational_memory(self._thread, but=prompt.question_of(self.state))
        else:
            gone = {p.id for p in chosen}
            left = [p for p in passages if p.id not in gone]
            self.did.append(f"{made.covered} messages under summary {made.summary_id}")
        if folded:
            self.did.append(f"{folded.covered} summaries under summary {folded.summary_id}")
        self.window = self.window.with_passages("Conversation", tuple(left), "older turns are under Summary Memory")
        summaries = await self._manager.read_summary_context(self._thread)
        self.window = self.window.with_passages("Summary", tuple(summaries))

    async def _let_segments_give_way(self) -> None:
        """Drop the last passages of the other segments, one at a time, the least important segment first."""
        dropped = 0
        for name in _GIVE_WAY:
            passages = self.window.segment(name).passages
            while passages and self.tokens() > self._target:
                passages, dropped = passages[:-1], dropped + 1
                self.window = self.window.with_passages(name, passages, "left out: the window is full")
        if dropped:
            self.did.append(f"{dropped} passages gave way")

    async def _cut_passages(self) -> None:
        """Show long messages, and at last the question, as head, tail and pointer; they are stored whole."""
        room = max(200, (self._target - self.tokens()) + self._conversation_tokens())
        passages = self.window.segment("Conversation").passages
        if passages:
            each = max(60, room // len(passages))
            cut = tuple(self._cut(p, each) for p in passages)
            if cut != passages:
                self.window = self.window.with_passages("Conversation", cut)
                self.did.append("long messages are shown by head, tail and pointer")
        size, excess = self._limits.count(self.window.question), self.tokens() - self._target
        question_id = prompt.question_of(self.state)
        if excess > 0 and size > 400 and question_id:
            note = prompts.MESSAGE_POINTER.format(message_id=question_id)
            question = head_and_tail(self.window.question, max(400, size - excess), self._limits.count, note)
            self.window = Window(question, self.window.segments)
            self.did.append("the question is shown by head, tail and pointer")

    def _conversation_tokens(self) -> int:
        return sum(self._limits.count(p.text) for p in self.window.segment("Conversation").passages)

    def _cut(self, passage: Passage, room: int) -> Passage:
        if self._limits.count(passage.text) <= room:
            return passage
        note = prompts.MESSAGE_POINTER.format(message_id=passage.id)
        return Passage(passage.id, passage.head, head_and_tail(passage.text, room, self._limits.count, note))

    async def _cut_latest_results(self) -> None:
        """Cut the latest results to what room there is."""
        results = [m for m in self._exchange if isinstance(m, ToolMessage)]
        if not results:
            return
        excess = self.tokens() - self._target
        room = max(
            _POINTER_ABOVE, (sum(self._limits.count(tokens.text_of(m)) for m in results) - excess) // len(results)
        )
        changed = [self._pointer(m, room) if isinstance(m, ToolMessage) else m for m in self._exchange]
        if any(a is not b for a, b in zip(changed, self._exchange, strict=True)):
            self._exchange = changed
            self.did.append("the latest tool results are shown by head, tail and pointer")


def _lines_of(group: list[AnyMessage]) -> list[str]:
    """Say what one step did: what the model said, and each call with its log id."""
    first = group[0]
    if not isinstance(first, AIMessage):
        return []
    said = [f"> {' '.join(tokens.text_of(first).split())[:200]}"] if tokens.text_of(first) else []
    by_id = {m.tool_call_id: m for m in group if isinstance(m, ToolMessage)}
    for call in first.tool_calls:
        result = by_id.get(call["id"] or "")
        log_id = (result.artifact or {}).get("log_id", "none") if result else "none"
        said.append(
            f"> {call['name']}({', '.join(call['args'])}): {result.status if result else 'no result'}, log_id {log_id}"
        )
    return said
