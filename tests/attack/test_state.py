"""What the server keeps on disk: nobody else reads it, and a user who is deleted goes from there too."""

import os
import pickle
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ricordo.common.errors import ConfigurationError
from ricordo.common.private import private_folder
from ricordo.server import state
from ricordo.server.state import forget_in_files, settle_state
from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import Database
from ricordo.stores.users import delete_user, ended_since, trace_of
from tests.support.small_embedder import small_embedder


@pytest.fixture(autouse=True)
def usual_mask() -> Any:
    """The mask of most machines, under which files are made for all to read."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def saved_state(owners: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    """What LangGraph's server saves: lists of threads and of their runs."""
    made: dict[str, list[dict[str, Any]]] = {"threads": [], "runs": [], "crons": [], "assistants": [{"name": "agent"}]}
    for owner, said in owners.items():
        thread = uuid4()
        made["threads"].append(
            {"thread_id": thread, "metadata": {"owner": owner}, "values": said, "created_at": datetime.now(UTC)}
        )
        made["runs"].append({"run_id": uuid4(), "thread_id": thread, "kwargs": {"input": said}})
    return made


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder in which the server ran before, with what it left there for all to read."""
    left = tmp_path / "checkout" / ".langgraph_api"
    left.mkdir(parents=True)
    (left / ".langgraph_ops.pckl").write_bytes(pickle.dumps(saved_state({"anna": "my secret", "bert": "my boat"})))
    return left.parent


def stop(home: Path) -> Path:
    """End the server: the kernel lets go of its lock; returns where its state is."""
    for held in state._held:
        held.close()
    state._held.clear()
    return next((home / "server").iterdir())


def test_the_state_lies_in_the_home_and_is_closed_to_others(work: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    for _ in range(2):  # the second start finds a link
        settle_state(home, work)
        place = stop(home)
        assert (work / ".langgraph_api").readlink() == place
        assert (mode(home / "server"), mode(place)) == (0o700, 0o700)
        assert mode(home) & 0o066 == 0
        assert {mode(file) for file in place.iterdir()} == {0o600}
        assert b"my secret" in (work / ".langgraph_api" / ".langgraph_ops.pckl").read_bytes()


def test_a_folder_of_ours_that_was_open_is_closed_and_one_that_was_chosen_is_left(tmp_path: Path) -> None:
    for ours, expected in ((True, 0o700), (False, 0o755)):
        folder = tmp_path / str(ours)
        folder.mkdir()
        folder.chmod(0o755)
        private_folder(folder, ours=ours)
        assert mode(folder) == expected


def test_a_home_that_cannot_be_used_is_said_to_be_so(work: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="RICORDO_HOME"):
        settle_state(tmp_path / "file", work)


def test_a_user_is_taken_out_of_what_a_stopped_server_saved(work: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    settle_state(home, work)
    saved = stop(home) / ".langgraph_ops.pckl"
    assert forget_in_files(home, "anna", []) == 0
    assert b"my secret" not in saved.read_bytes()
    assert b"anna" not in saved.read_bytes()
    held = pickle.loads(saved.read_bytes())  # noqa: S301 - written here
    assert [thread["values"] for thread in held["threads"]] == ["my boat"]
    assert [run["kwargs"]["input"] for run in held["runs"]] == ["my boat"]
    assert held["assistants"] == [{"name": "agent"}]
    assert mode(saved) == 0o600
    assert forget_in_files(home, "nobody", [str(held["threads"][0]["thread_id"])]) == 0, "a thread without an owner"
    assert b"my boat" not in saved.read_bytes()


def test_a_server_that_runs_is_left_to_forget_by_itself(work: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    settle_state(home, work)
    assert forget_in_files(home, "anna", []) == 1
    assert b"my secret" in (stop(home) / ".langgraph_ops.pckl").read_bytes()


async def test_servers_are_told_of_a_deletion_without_the_name(db: Database) -> None:
    for user in ("anna", "back\\slash", "é"):
        await delete_user(db, user)
        async with db.as_owner() as conn:
            ended = await ended_since(conn)
        assert trace_of(f"user {user}") in ended
    assert all(b"anna" not in trace for trace in ended)


@pytest.mark.parametrize("rewrite", [True, False])
async def test_only_tables_that_are_written_anew_hold_no_old_bytes(db: Database, dsn: str, *, rewrite: bool) -> None:
    for user, said in (("bert", "of another"), ("anna", "fulmar4711")):
        await MemoryManager(db, small_embedder(), user).write_conversational_memory("t", "user", said)
    await delete_user(db, "anna", rewrite=rewrite)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CHECKPOINT")
        [(held,)] = conn.execute("SELECT pg_read_binary_file(pg_relation_filepath('messages'))").fetchall()
    assert b"of another" in held
    assert (b"fulmar4711" in held) is not rewrite
