import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from ricordo.common.errors import ThreadBusyError
from ricordo.stores.postgres.connection import connect
from ricordo.stores.thread_lock import ThreadLocks


@asynccontextmanager
async def process(dsn: str) -> AsyncIterator[ThreadLocks]:
    """The locks of one process."""
    locks = ThreadLocks(dsn)
    try:
        yield locks
    finally:
        await locks.close()


@pytest.mark.parametrize("shared", [True, False], ids=["in one process", "in two"])
async def test_one_holds_a_thread_and_the_next_one_waits(dsn: str, *, shared: bool) -> None:
    thread, order = uuid4(), []

    async def turn(name: str, locks: ThreadLocks) -> None:
        async with locks.hold(thread, "t", 10):
            order.append(f"{name} in")
            await asyncio.sleep(0.05)
            order.append(f"{name} out")

    async with process(dsn) as one, process(dsn) as two:
        await asyncio.gather(turn("a", one), turn("b", one if shared else two))
    assert order in (["a in", "a out", "b in", "b out"], ["b in", "b out", "a in", "a out"])


@pytest.mark.parametrize("shared", [True, False], ids=["in one process", "in two"])
async def test_who_waits_too_long_is_told_so(dsn: str, *, shared: bool) -> None:
    thread = uuid4()
    async with process(dsn) as one, process(dsn) as two:
        other = one if shared else two
        async with one.hold(thread, "papers", 10):
            with pytest.raises(ThreadBusyError, match="'papers' is still under way"):
                async with other.hold(thread, "papers", 0.1):
                    pass
        async with other.hold(thread, "papers", 0.5):
            pass


async def test_other_threads_are_free(dsn: str) -> None:
    async with process(dsn) as locks, locks.hold(uuid4(), "a", 60), locks.hold(uuid4(), "b", 60):
        pass


async def test_a_process_that_ends_lets_go(dsn: str) -> None:
    thread = uuid4()
    async with process(dsn) as gone, process(dsn) as next_one:
        held = gone.hold(thread, "t", 1)
        await held.__aenter__()
        await gone.close()
        async with next_one.hold(thread, "t", 60):
            pass


async def test_a_lost_session_is_opened_again(dsn: str) -> None:
    async with process(dsn) as locks:
        async with locks.hold(uuid4(), "a", 1):
            pass
        assert locks._session
        await locks._session.close()
        async with locks.hold(uuid4(), "b", 1):
            pass


async def cut(dsn: str, locks: ThreadLocks) -> None:
    """End the session of the locks, as an administrator does."""
    assert locks._session
    async with await connect(dsn) as admin:
        await admin.execute("SELECT pg_terminate_backend(%s, 10_000)", [locks._session.info.backend_pid])


async def test_a_session_that_the_server_has_cut_is_opened_again(dsn: str) -> None:
    async with process(dsn) as locks:
        async with locks.hold(uuid4(), "a", 1):
            pass
        await cut(dsn, locks)
        async with locks.hold(uuid4(), "b", 1):
            pass


async def test_letting_go_of_a_lost_thread_is_no_error(dsn: str) -> None:
    async with process(dsn) as locks, locks.hold(uuid4(), "a", 1):
        await cut(dsn, locks)


async def test_a_thread_that_was_lost_and_is_free_is_held_again(dsn: str) -> None:
    thread = uuid4()
    async with process(dsn) as one, process(dsn) as two, one.hold(thread, "papers", 1) as assure:
        await cut(dsn, one)
        await assure()
        await assure()
        with pytest.raises(ThreadBusyError, match="still under way"):
            async with two.hold(thread, "papers", 0):
                pass


async def test_a_thread_that_was_lost_to_another_turn_is_noticed(dsn: str) -> None:
    thread = uuid4()
    async with process(dsn) as one, process(dsn) as two, one.hold(thread, "papers", 1) as assure:
        await cut(dsn, one)
        async with two.hold(thread, "papers", 1):
            with pytest.raises(ThreadBusyError, match="'papers' was lost, and another turn"):
                await assure()


async def test_the_session_is_not_ended_for_being_idle(dsn: str) -> None:
    async with process(dsn) as locks, locks.hold(uuid4(), "a", 1):
        assert locks._session
        row = await (await locks._session.execute("SHOW idle_session_timeout")).fetchone()
        assert row == {"idle_session_timeout": "0"}
