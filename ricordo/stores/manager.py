"""The one door to memory: `read_…` and `write_…` for each of them, for one user."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any
from uuid import UUID, uuid4

from ricordo.common.errors import InputError, NotFoundError
from ricordo.common.text import clean, parse_id
from ricordo.models import tokens
from ricordo.models.embeddings import Embedder
from ricordo.stores import branch, conversation, entity, pages, summary, tool_log, workflow
from ricordo.stores.conversation import NewMessage, Row, thread_key
from ricordo.stores.entity import Entity
from ricordo.stores.knowledge_base import KnowledgeBase
from ricordo.stores.passages import Passage
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.units import related
from ricordo.stores.search.vectors import Hit, Prepared, Query, Unit, VectorMemory, make_query
from ricordo.stores.summary import NewSummary
from ricordo.stores.tool_memory import PAGE, ToolMemory
from ricordo.stores.toolbox.box import toolbox
from ricordo.stores.turn import Turn
from ricordo.stores.user_memory import view as memory_view
from ricordo.stores.user_memory.store import UserMemory
from ricordo.stores.user_memory.truth import may_replace

_CONSIDERED = 50
"""Memories of the user that have to do with a question, of which the window shows the best."""


class MemoryManager(ToolMemory):
    """All memories of one user; `for_user` gives another user's door on the same database."""

    def __init__(self, db: Database, embedder: Embedder, user_id: str = "default") -> None:
        super().__init__(db, user_id)
        self.embedder = embedder
        self.knowledge_base = KnowledgeBase(db, VectorMemory("knowledge_base", embedder))
        self.workflow = VectorMemory("workflow", embedder)
        self.entity = VectorMemory("entity", embedder)
        self.summary = VectorMemory("summary", embedder)
        self._user_memory = VectorMemory("user_memory", embedder)

    def for_user(self, user_id: str) -> "MemoryManager":
        """Return the same memories for another user.

        Raises:
            InputError: The name is empty or reserved.
        """
        if not (name := clean(user_id).strip()) or name == "*":
            raise InputError(f"'{user_id}' cannot be a user's id: it is empty or reserved. Give another by --user.")
        other = copy(self)
        other.user_id = name
        return other

    @property
    def user_memory(self) -> UserMemory:
        """What the user asked to be remembered."""
        return UserMemory(self.db, self._user_memory, self.user_id)

    async def read_user_memory(self, query: Query | None = None, k: int = 5) -> list[Passage]:
        """Read what always stands in the window, the newest first, and what has to do with a question.

        It is by the user's own word, all of it: what a model concluded or a tool gave is found by recall, and says so.
        """
        standing = await self.user_memory.critical()
        known = {row["id"] for row in standing}
        hits = await self.user_memory.recall(query, _CONSIDERED) if query and query.topic else []
        fit = [hit for hit in hits if hit.id not in known and may_replace(hit.row["origin"], "user")][:k]
        return [*map(memory_view.passage, standing), *(memory_view.passage(hit.row, hit.closeness) for hit in fit)]

    async def query(self, text: str) -> Query:
        """Prepare a text for searching: embedded once, used for every memory."""
        return await make_query(self.embedder, text)

    async def _as_query(self, query: Query | str) -> Query:
        return await self.query(query) if isinstance(query, str) else query

    # Conversation

    async def read_conversational_memory(self, thread_id: str, *, but: UUID | None = None) -> list[Passage]:
        """Read the messages of a thread that no summary covers, oldest first, without the one being answered."""
        async with self.db.transaction(self.user_id) as conn:
            rows = await conversation.open_messages(conn, thread_key(self.user_id, thread_id), but)
        return [conversation.passage(row) for row in rows]

    async def messages_of_run(self, thread_id: str, run_id: str) -> list[Row]:
        """Read what a run has stored in a thread: id, role, content, said_as."""
        async with self.db.transaction(self.user_id) as conn:
            return await conversation.of_run(conn, thread_key(self.user_id, thread_id), run_id)

    async def write_conversational_memory(
        self,
        thread_id: str,
        role: str,
        content: str,
        *,
        run_id: str = "",
        message_id: UUID | None = None,
        said_as: str | None = None,
    ) -> UUID:
        """Store a message, whole; the same `message_id` is stored once.

        Args:
            role: `user` or `assistant`.
            message_id: None makes a new one for every call.
            said_as: The message's id in the state of the thread.

        Returns:
            The message's id.

        Raises:
            ThreadOwnerError: The thread belongs to another user.
        """
        key = thread_key(self.user_id, thread_id)
        new = NewMessage(message_id or uuid4(), key, run_id, role, content, said_as)
        async with self.db.transaction(self.user_id) as conn:
            await conversation.claim_thread(conn, self.user_id, key, thread_id)
            await conversation.add(conn, self.user_id, new)
        return new.id

    async def follow_branch(self, thread_id: str, said: Mapping[str, str | None], rows: Sequence[UUID]) -> None:
        """Make the messages of a thread those of its state; arguments as for `ricordo.stores.branch.follow`."""
        async with self.db.transaction(self.user_id) as conn:
            await branch.follow(conn, self.summary, thread_key(self.user_id, thread_id), said, rows)

    async def claim_thread(self, thread_id: str) -> None:
        """Make a thread this user's, if it is nobody's yet.

        Raises:
            ThreadOwnerError: It belongs to another user.
        """
        async with self.db.transaction(self.user_id) as conn:
            await conversation.claim_thread(conn, self.user_id, thread_key(self.user_id, thread_id), thread_id)

    async def thread_called(self, called: str) -> str:
        """Return the id of the user's thread of that name or id.

        Raises:
            NotFoundError: There is none.
        """
        async with self.db.transaction(self.user_id) as conn:
            return str(await conversation.thread_called(conn, self.user_id, called))

    async def threads(self, limit: int = 100) -> list[Row]:
        """List the user's threads, the latest first."""
        async with self.db.transaction(self.user_id) as conn:
            return await conversation.threads(conn, limit)

    # Knowledge base

    async def read_knowledge_base(self, query: Query | str, k: int = 5) -> list[Passage]:
        """Find passages of stored documents."""
        return await self.knowledge_base.search(self.user_id, await self._as_query(query), k)

    async def write_knowledge_base(self, text: str, metadata: Mapping[str, Any]) -> UUID:
        """Store a text as a document of its own; `source` and `title` in the metadata name it.

        Returns:
            The document's id.
        """
        return await self.knowledge_base.add_text(self.user_id, clean(text), metadata)

    # Workflow

    async def read_workflow(self, query: Query | str, k: int = 3) -> list[Passage]:
        """Find how requests like this one were solved."""
        return workflow.best(await self._search(self.workflow, query, 2 * k), k)

    async def write_workflow(
        self, thread_id: str, run_id: str, request: str, steps: Sequence[Mapping[str, Any]], outcome: str
    ) -> UUID:
        """Store how a request was solved; once for a run."""
        unit = workflow.unit(thread_key(self.user_id, thread_id), run_id, request, steps, outcome)
        prepared = await self._prepare(self.workflow, [unit])
        async with self.db.transaction(self.user_id) as conn:
            await self.workflow.write(conn, self.user_id, prepared)
        return unit.id

    # Entities

    async def read_entity(self, query: Query | str, k: int = 5) -> list[Passage]:
        """Find entities, each with its latest mentions."""
        ready = await self._as_query(query)
        async with self.db.transaction(self.user_id) as conn:
            hits = related(await self.entity.search(conn, ready, k))
            rows = await entity.mentions(conn, [hit.id for hit in hits])
        return entity.passages(hits, rows)

    async def write_entity(self, entities: Sequence[Entity], message_id: UUID) -> None:
        """Store entities with the message that mentions them; known ones get one more mention."""
        async with self.db.transaction(self.user_id) as conn:
            planned = await entity.plan(conn, self.user_id, entities)
            ready = await self.entity.prepare(conn, self.user_id, planned.units)
        async with self.db.transaction(self.user_id) as conn:
            await entity.store(conn, self.entity, self.user_id, entities, ready, question_id=message_id)

    # Summaries

    async def summaries(self, thread_id: str) -> list[Row]:
        """Read a thread's summaries that no other one covers, oldest first."""
        async with self.db.transaction(self.user_id) as conn:
            return await summary.tops(conn, thread_key(self.user_id, thread_id))

    async def read_summary_context(self, thread_id: str) -> list[Passage]:
        """Read the one-line descriptions of a thread's summaries, oldest first."""
        return [summary.passage(row) for row in await self.summaries(thread_id)]

    async def read_summary_memory(
        self, summary_id: str, page: int = 1, *, budget: int = PAGE, count: pages.Count = tokens.count
    ) -> str:
        """Read the original messages under a summary, or one message, word for word, a page at a time.

        Args:
            summary_id: The id of a summary, of a summary of summaries, or of a message.
            page: Counted from 1.
            budget: Tokens of a page.
            count: Counts tokens as the reader's model does.

        Raises:
            NotFoundError: This user has no such summary or message, or it has no such page.
        """
        key = parse_id(summary_id, "summary")
        async with self.db.transaction(self.user_id) as conn:
            parts = await summary.parts(conn, key)
            if not parts and (row := await conversation.message(conn, key)):
                parts = [pages.Part([conversation.passage(row)])]
        if not parts:
            raise NotFoundError(f"There is no summary '{summary_id}'. The ids stand in the Summary Memory segment.")
        return pages.one_of(parts, summary_id, page, budget, count)

    async def write_summary(self, new: NewSummary) -> bool:
        """Store a summary and mark what it covers, at once.

        Returns:
            False, and nothing stored, if another compaction has covered a part of it meanwhile.
        """
        prepared = await self._prepare(self.summary, [new.unit()])
        async with self.db.transaction(self.user_id) as conn:
            if await summary.store(conn, self.summary, self.user_id, new, prepared):
                return True
            await conn.rollback()
            return False

    # Toolbox

    async def read_toolbox(self, query: str, k: int = 5) -> list[Passage]:
        """Find tools by what they do."""
        found = await toolbox.search(query, k, embedder=self.embedder)
        return [Passage(hit.name, f"{hit.name} score={hit.score:.2f}", hit.description) for hit in found]

    async def write_toolbox(self) -> None:
        """Store the registered tools, as far as they changed."""
        await toolbox.sync(self.db, self.embedder)

    # The turn

    async def read_turn(self, thread_id: str, run_id: str, question_id: UUID) -> tuple[str, list[Row]]:
        """Read a turn's question, whole, and its log entries without their outputs."""
        async with self.db.transaction(self.user_id) as conn:
            asked = await conversation.message(conn, question_id)
            calls = await tool_log.of_run(conn, thread_key(self.user_id, thread_id), run_id)
        return asked["content"] if asked else "", calls

    async def finish_turn(self, turn: Turn) -> None:
        """Write the answer, the workflow and the entities of a turn, in one transaction and once."""
        async with self.db.transaction(self.user_id) as conn:
            steps = await self.workflow.prepare(conn, self.user_id, turn.workflow_units())
            planned = await entity.plan(conn, self.user_id, turn.entities)
            things = await self.entity.prepare(conn, self.user_id, planned.units)
        async with self.db.transaction(self.user_id) as conn:
            await turn.write_answer(conn, self.user_id)
            await self.workflow.write(conn, self.user_id, steps)
            asked, answered = turn.question_id, turn.answer_id
            await entity.store(
                conn, self.entity, self.user_id, turn.entities, things, question_id=asked, answer_id=answered
            )

    async def _prepare(self, memory: VectorMemory, units: Sequence[Unit]) -> Prepared:
        """Embed before the writing transaction is opened, which then need not wait for the model."""
        async with self.db.transaction(self.user_id) as conn:
            return await memory.prepare(conn, self.user_id, units)

    async def _search(self, memory: VectorMemory, query: Query | str, k: int) -> list[Hit]:
        ready = await self._as_query(query)
        async with self.db.transaction(self.user_id) as conn:
            return related(await memory.search(conn, ready, k))
