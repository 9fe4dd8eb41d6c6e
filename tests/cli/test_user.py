import json
from pathlib import Path

import psycopg
import pytest

from ricordo.stores.manager import MemoryManager
from ricordo.stores.postgres.database import Database
from tests.cli.conftest import Run
from tests.support.small_embedder import small_embedder
from tests.support.traces import traces

ANNA = "anna '; --"


@pytest.fixture
async def two_users(db: Database) -> None:
    for user in (ANNA, "berta"):
        memory = MemoryManager(db, small_embedder(), user)
        await memory.write_conversational_memory("t", "user", "Hello, I am here.")


@pytest.mark.usefixtures("two_users")
def test_a_user_is_deleted_when_the_name_is_typed_again(run: Run, dsn: str) -> None:
    listed = run("user", "list").stdout.decode().splitlines()
    assert [line.split("\t")[:3] for line in listed] == [[ANNA, "1", "1"], ["berta", "1", "1"]]

    wrong = run("user", "delete", ANNA, given=b"anna\n")
    assert wrong.returncode == 1
    assert b"Nothing was deleted" in wrong.stderr
    alone = run("user", "delete", ANNA)
    assert alone.returncode == 1, "nobody is there to type it"
    assert b"Add --yes" in alone.stderr
    assert traces(dsn, [ANNA])

    right = run("user", "delete", ANNA, given=f"{ANNA}\n".encode())
    assert right.returncode == 0, right.stderr
    assert b"deleted anna '; --: 1 threads, 2 rows" in right.stderr
    assert b"freed space and the write-ahead log hold old bytes" in right.stderr
    assert b"--rewrite writes the tables anew" in right.stderr
    assert traces(dsn, [ANNA]) == []
    users = json.loads(run("user", "list", "--json").stdout)["users"]
    assert [(user["user_id"], user["rows"]) for user in users] == [("berta", {"messages": 1, "threads": 1})]


@pytest.mark.usefixtures("two_users")
def test_the_tables_are_written_anew_where_that_is_asked_for(run: Run) -> None:
    done = run("user", "delete", "berta", "--yes", "--rewrite")
    assert done.returncode == 0, done.stderr
    assert b"the tables were written anew" in done.stderr


def test_yes_asks_nothing_and_everyone_cannot_be_deleted(run: Run) -> None:
    refused = run("user", "delete", "*", "--yes", "--json")
    assert refused.returncode == 1
    assert json.loads(refused.stdout)["type"] == "InputError"


def test_memories_are_shared_listed_and_taken_back(run: Run) -> None:
    share = run("share", "add", "--from", "anna", "--to", "berta", "--tag", "boats")
    assert share.returncode == 0, share.stderr
    assert b"shared: user_memory of anna tagged 'boats', with berta" in share.stderr
    key = share.stdout.decode().strip()
    [listed] = json.loads(run("share", "list", "--user", "berta", "--json").stdout)["shares"]
    assert (listed["id"], listed["user_id"], listed["with_user"], listed["tag"]) == (key, "anna", "berta", "boats")
    assert run("share", "revoke", key, "--from", "anna").returncode == 0
    assert run("share", "list", "--user", "anna", "--revoked").stdout.decode().split("\t")[-1].strip() == key


def test_a_team_is_made_by_its_first_member(run: Run) -> None:
    assert run("share", "team", "crew", "--add", "berta", "--add", "carla").stdout == b"berta\ncarla\n"
    given = run("share", "add", "--from", "anna", "--team", "crew", "--kind", "knowledge_base", "--json")
    assert json.loads(given.stdout)["with_team"] == "crew"
    row = run("share", "list", "--user", "carla").stdout.decode().split("\t")
    assert row[:3] == ["anna", "team crew", "knowledge_base"]


def test_memory_is_embedded_anew_with_the_model_of_the_settings(run: Run, dsn: str, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("The lamp burns whale oil.", encoding="utf-8")
    assert run("ingest", str(note)).returncode == 0
    other = run("ask", "What does the lamp burn?", RICORDO_EMBEDDINGS="minilm")
    assert b"ricordo reembed" in other.stderr
    done = json.loads(run("reembed", "--json", RICORDO_EMBEDDINGS="minilm").stdout)
    assert done["units"] == {"knowledge_base": 1}
    assert done["model"].startswith("minilm")
    with psycopg.connect(dsn) as conn:
        assert conn.execute("SELECT DISTINCT embedding_model FROM toolbox").fetchall() == [(done["model"],)]
    asked = run("ask", "What does the lamp burn?", RICORDO_EMBEDDINGS="minilm")
    assert b"whale oil" in asked.stdout, asked.stderr
