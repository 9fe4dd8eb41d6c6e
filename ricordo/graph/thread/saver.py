"""LangGraph's saver on PostgreSQL, with what its server wants of a saver beyond upstream's."""

from collections.abc import Sequence

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

_UNDO = (
    """
    DELETE FROM checkpoint_writes w USING checkpoints c WHERE c.metadata ->> 'run_id' = ANY(%s)
        AND (w.thread_id, w.checkpoint_ns, w.checkpoint_id) = (c.thread_id, c.checkpoint_ns, c.checkpoint_id)""",
    """
    WITH gone AS (DELETE FROM checkpoints WHERE metadata ->> 'run_id' = ANY(%s)
        RETURNING thread_id, checkpoint_ns, checkpoint_id, checkpoint -> 'channel_versions' AS versions),
    kept AS (SELECT c.thread_id, c.checkpoint_ns, v.key, v.value FROM checkpoints c
        CROSS JOIN LATERAL jsonb_each_text(c.checkpoint -> 'channel_versions') v
        WHERE c.thread_id IN (SELECT thread_id FROM gone) AND (c.thread_id, c.checkpoint_ns, c.checkpoint_id)
            NOT IN (SELECT thread_id, checkpoint_ns, checkpoint_id FROM gone))
    DELETE FROM checkpoint_blobs b USING gone, LATERAL jsonb_each_text(gone.versions) v
    WHERE (b.thread_id, b.checkpoint_ns, b.channel, b.version) = (gone.thread_id, gone.checkpoint_ns, v.key, v.value)
        AND NOT EXISTS (SELECT FROM kept WHERE (kept.thread_id, kept.checkpoint_ns, kept.key, kept.value)
            = (b.thread_id, b.checkpoint_ns, b.channel, b.version))""",
)
_COPY = (
    """
    INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    SELECT %(to)s, checkpoint_ns, channel, version, type, blob FROM checkpoint_blobs WHERE thread_id = %(of)s
    ON CONFLICT DO NOTHING""",
    """
    INSERT INTO checkpoint_writes
        (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
    SELECT %(to)s, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob
    FROM checkpoint_writes WHERE thread_id = %(of)s ON CONFLICT DO NOTHING""",
    """
    INSERT INTO checkpoints
        (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
    SELECT %(to)s, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, CASE
        WHEN metadata ? 'thread_id' THEN metadata || jsonb_build_object('thread_id', %(to)s::text) ELSE metadata END
    FROM checkpoints WHERE thread_id = %(of)s ON CONFLICT DO NOTHING""",
    # And conversation memory, all of it open; the rows are those of the thread's user.
    "SELECT set_config('app.user_id', user_id, true) FROM threads WHERE thread_id::text = %(of)s",
    """
    INSERT INTO threads (thread_id, user_id, name) SELECT %(to)s::uuid, user_id, %(to)s FROM threads
    WHERE thread_id::text = %(of)s ON CONFLICT DO NOTHING""",
    """
    INSERT INTO messages (id, user_id, thread_id, run_id, role, content, tokens, created_at, said_as, aside)
    SELECT md5(m.id::text || %(to)s)::uuid, m.user_id, t.thread_id, run_id, role, content, tokens, m.created_at,
        said_as, aside
    FROM messages m JOIN threads t ON t.thread_id = %(to)s::uuid AND t.user_id = m.user_id
    WHERE m.thread_id::text = %(of)s ORDER BY m.seq ON CONFLICT DO NOTHING""",
)


class Saver(AsyncPostgresSaver):
    """The saver of command line, notebooks and server."""

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of some runs: `multitask_strategy="rollback"` takes a run back as if it had not been.

        Without this the server cannot end such a run, and its thread takes no other one.
        """
        runs = [str(run_id) for run_id in run_ids]
        async with self._cursor() as cur, cur.connection.transaction():
            for statement in _UNDO:
                await cur.execute(statement.encode(), (runs,))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints of a thread, and what was said in it."""
        async with self._cursor() as cur, cur.connection.transaction():
            for statement in _COPY:
                await cur.execute(statement.encode(), {"of": str(source_thread_id), "to": str(target_thread_id)})
