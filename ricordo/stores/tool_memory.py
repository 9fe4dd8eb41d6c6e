"""The tool log as a memory of one user: every tool call, its whole output, read back in pages."""

from collections.abc import Sequence
from uuid import UUID

from ricordo.common.errors import NotFoundError
from ricordo.common.text import clean, parse_id
from ricordo.models import tokens
from ricordo.stores import pages, tool_log
from ricordo.stores.conversation import Row, thread_key
from ricordo.stores.postgres.database import Database
from ricordo.stores.tool_log import LoggedCall

PAGE = 2_000
"""Tokens of a page that is read back, where the caller names no other size."""


class ToolMemory:
    """The tool calls of one user."""

    def __init__(self, db: Database, user_id: str) -> None:
        self.db = db
        self.user_id = user_id

    async def begin_tool_call(self, call: LoggedCall) -> Row | None:
        """Note that a tool call with a side effect starts.

        Returns:
            None, or the entry if the call was begun before, by a process that died.
        """
        async with self.db.transaction(self.user_id) as conn:
            return await tool_log.begin(conn, self.user_id, call)

    async def write_tool_log(self, call: LoggedCall, status: str, output: str) -> UUID:
        """Store a call with its whole output; the first outcome stands.

        Args:
            call: The call, begun before or not.
            status: `success`, `error` or `interrupted`.
            output: The text.

        Returns:
            The entry's id.
        """
        output = clean(output)
        count = tokens.count(output)
        async with self.db.transaction(self.user_id) as conn:
            await tool_log.begin(conn, self.user_id, call)
            await tool_log.finish(conn, call.id, status, output, count)
        return call.id

    async def read_tool_log(
        self, log_id: str, offset: int = 0, *, budget: int = PAGE, count: pages.Count = tokens.count
    ) -> str:
        """Read a tool call's output from a character on, as much as fits.

        Args:
            log_id: The id of an entry; that of a turn gives the list of its calls with their arguments.
            offset: The character to begin with.
            budget: Tokens of a page.
            count: Counts tokens as the reader's model does.

        Raises:
            NotFoundError: This user has no such entry, or it ends before the offset.
        """
        key = parse_id(log_id, "tool log entry")
        async with self.db.transaction(self.user_id) as conn:
            row = await tool_log.read(conn, key) or await tool_log.account(conn, key)
        if row is None:
            raise NotFoundError(
                f"There is no tool log entry '{log_id}'. The ids stand in the pointers of tool results."
            )
        return tool_log.page(row, offset, budget, count)

    async def tool_outputs(self, log_ids: Sequence[str]) -> list[Row]:
        """Read some log entries, whole, in their order."""
        keys = [parse_id(log_id, "tool log entry") for log_id in log_ids]
        async with self.db.transaction(self.user_id) as conn:
            return await tool_log.outputs(conn, keys)

    async def tool_calls(self, thread_id: str, run_id: str) -> list[Row]:
        """Read a turn's log entries without their outputs, in order."""
        async with self.db.transaction(self.user_id) as conn:
            return await tool_log.of_run(conn, thread_key(self.user_id, thread_id), run_id)
