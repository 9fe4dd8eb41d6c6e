"""Names of users and threads that are chosen to be taken for others."""

import secrets
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.common.errors import InputError, ThreadOwnerError
from ricordo.common.identity import assert_identity
from ricordo.graph.context import Context, user_of
from ricordo.stores.conversation import claim_thread, thread_key, threads
from ricordo.stores.postgres.database import Database
from ricordo.stores.thread_lock import ThreadLocks

UNSEEN = ["\u00a0", "\u2003", "\u3000", "\u200b", "\u200d", "\ufeff", "\u202e", "\u2028", "\t", "\n", "\x00", "\x7f"]


async def claim(db: Database, user: str, thread: str) -> None:
    async with db.transaction(user) as conn:
        await claim_thread(conn, user, thread_key(user, thread), thread)


async def names(db: Database, user: str) -> list[str]:
    async with db.transaction(user) as conn:
        return [row["name"] for row in await threads(conn)]


async def test_nobody_takes_the_id_of_a_name_before_its_user(db: Database) -> None:
    for name in ("plans", "diary"):
        with pytest.raises(ThreadOwnerError):
            await claim(db, "bert", str(thread_key("anna", name)))
    await claim(db, "anna", "plans")
    await claim(db, "anna", str(thread_key("anna", "plans")))
    assert (await names(db, "anna"), await names(db, "bert")) == (["plans"], [])


async def test_a_refusal_does_not_tell_whether_there_is_such_a_thread(db: Database) -> None:
    await claim(db, "anna", "diary")
    said = set()
    for name in ("diary", "never begun"):
        thread = str(thread_key("anna", name))
        with pytest.raises(ThreadOwnerError) as refused:
            await claim(db, "bert", thread)
        said.add(str(refused.value).replace(thread, "ID"))
    assert len(said) == 1
    assert "anna" not in said.pop()


async def test_a_random_id_is_whoever_speaks_first(db: Database) -> None:
    thread = str(uuid4())
    await claim(db, "bert", thread)
    await claim(db, "bert", thread)
    with pytest.raises(ThreadOwnerError):
        await claim(db, "anna", thread)


async def test_an_id_that_looks_like_another_one_is_refused_and_not_mended(db: Database) -> None:
    await claim(db, "anna", "plans")
    for odd in (" ", *UNSEEN):
        for user in (f"anna{odd}", f"{odd}anna"):
            with pytest.raises(InputError, match="no blank at its beginning or end"):
                await claim(db, user, "plans")
    assert await names(db, "anna") == ["plans"]


@pytest.mark.parametrize("odd", UNSEEN)
def test_what_does_not_show_is_refused_inside_an_id_too(odd: str) -> None:
    with pytest.raises(InputError):
        assert_identity(f"an{odd}na")


@given(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=256))
def test_all_that_shows_is_an_id(user: str) -> None:
    assert_identity(user)
    assert_identity(f"{user[:100]} {user[:100]}")


@pytest.mark.parametrize("user", ["", "a" * 257])
def test_an_id_has_a_length(user: str) -> None:
    with pytest.raises(InputError):
        assert_identity(user)


def test_an_authenticated_identity_without_a_name_is_not_the_contexts_user() -> None:
    def runtime(*, authenticated: bool) -> SimpleNamespace:
        server = SimpleNamespace(user=SimpleNamespace(identity="", is_authenticated=authenticated))
        return SimpleNamespace(context=Context(user_id="anna"), server_info=server)

    assert user_of(runtime(authenticated=True)) == ""
    assert user_of(runtime(authenticated=False)) == "anna", "a server without auth"


async def test_no_client_can_choose_the_key_of_anothers_lock(dsn: str) -> None:
    mine, other = ThreadLocks(dsn), ThreadLocks(dsn)
    try:
        victim = uuid4()
        for bits in (64, 63, 32):
            low = victim.int & (1 << bits) - 1
            alike = UUID(int=(secrets.randbits(128 - bits) << bits) | low)
            async with mine.hold(victim, "v", 0.1), other.hold(alike, "a", 0.1):
                pass
    finally:
        await mine.close()
        await other.close()
