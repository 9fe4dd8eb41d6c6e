"""What the end of a turn leaves in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ricordo.common.text import clean, make_id
from ricordo.stores import conversation, workflow
from ricordo.stores.conversation import Connection, NewMessage
from ricordo.stores.entity import Entity
from ricordo.stores.search.vectors import Unit
from ricordo.stores.user_memory.heard import WRITERS

_OUTCOME = 500  # characters of the answer that stand in the workflow


def answer_id(thread_id: UUID, run_id: str, answer: str) -> UUID:
    """Return the id of an answer's message."""
    return make_id("answer", thread_id, run_id, clean(answer))


@dataclass(frozen=True)
class Turn:
    """A finished turn; everything it writes has an id that follows from thread and run, so that it is written once."""

    thread_id: UUID
    run_id: str
    question_id: UUID
    request: str
    answer: str
    stop_reason: str
    steps: Sequence[Mapping[str, Any]]
    """`{tool, args, status, error}` of each call, in order."""
    entities: Sequence[Entity]
    said_as: str | None = None
    """The answer's id in the state of the thread."""

    @property
    def answer_id(self) -> UUID:
        """Return the id of the answer's message; a turn that is run again from its middle has another answer."""
        return answer_id(self.thread_id, self.run_id, self.answer)

    def workflow_units(self) -> list[Unit]:
        """Return the workflow's unit; none for a turn that did nothing but look at memory, or that changed it.

        What was told to user memory stands there alone, where it can be corrected and forgotten. So does what was
        recalled: of a turn that recalled for other work, the answer is not kept.
        """
        called = {step["tool"] for step in self.steps}
        steps = [step for step in self.steps if step["tool"] != "recall"]
        if not steps or not called.isdisjoint(WRITERS):
            return []
        answer = "" if "recall" in called else clean(self.answer)[:_OUTCOME]
        outcome = f"{self.stop_reason}: {answer}".removesuffix(": ")
        return [workflow.unit(self.thread_id, self.run_id, self.request, steps, outcome)]

    async def write_answer(self, conn: Connection, user_id: str) -> None:
        """Write the answer to conversation memory, in the caller's transaction."""
        answer = NewMessage(self.answer_id, self.thread_id, self.run_id, "assistant", self.answer, self.said_as)
        await conversation.add(conn, user_id, answer)
