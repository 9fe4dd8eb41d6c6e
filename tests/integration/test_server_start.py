"""How the server starts, ends, and takes up what it left."""

import asyncio
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.langgraph_server import LangGraphServer, ask, asking, bare_environment, dialogue, until
from tests.support.stand_ins.arxiv_server import ArxivServer
from tests.support.stand_ins.openai_script import call, say
from tests.support.stand_ins.openai_server import OpenAIServer


@contextmanager
def a_proxy_that_lets_nothing_through() -> Iterator[tuple[str, list[str]]]:
    """Give an address, and the list of what was asked of it."""
    asked: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            asked.append(self.path)
            self.send_error(502)

        do_GET = do_POST = do_CONNECT  # noqa: N815 - http.server's own names

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Listener) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{proxy.server_address[1]}", asked
        proxy.shutdown()


async def test_a_fresh_checkout_serves_without_key_network_or_database_and_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    with a_proxy_that_lets_nothing_through() as (proxy, asked):
        settings = {"RICORDO_HOME": str(home), "HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "NO_PROXY": "127.0.0.1"}
        with LangGraphServer(tmp_path / "work", settings) as server:
            async with server.client() as client:
                thread = str((await client.threads.create())["thread_id"])
                state = await ask(client, thread, "What time is it?")
    assert state["stop_reason"] == "answer"
    assert [one["name"] for one in state["tool_calls"]] == ["get_current_time"]
    assert asked == []
    await until(lambda: not (home / "postgres" / "data" / "postmaster.pid").exists())


async def test_a_server_keeps_to_its_pools_and_ends_in_good_order(dsn: str, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    (folder / ".env").write_text(f"RICORDO_DATABASE_URL={dsn}\n")
    with LangGraphServer(folder, {"RICORDO_HOME": str(tmp_path)}) as server:
        async with server.client() as client:
            threads = [str((await client.threads.create())["thread_id"]) for _ in range(8)]
            await asyncio.gather(*(ask(client, thread, "What time is it?") for thread in threads))
        assert 1 < _connections(dsn) <= 1 + 8 + 4  # this one, the resources' and the checkpointer's
        server.stop()
    await until(lambda: _connections(dsn) == 1)
    assert "Stopping dev persistence flush loop" in server.said()
    assert "Traceback" not in server.said()


def _connections(dsn: str) -> int:
    with psycopg.connect(dsn) as conn:
        row = conn.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()").fetchone()
    return int(row[0]) if row else 0


def test_a_database_that_cannot_be_reached_is_named_without_its_password(tmp_path: Path) -> None:
    settings = {
        "RICORDO_DATABASE_URL": "postgresql://ricordo:hunter2@127.0.0.1:1/memory",
        "RICORDO_HOME": str(tmp_path),
    }
    server = LangGraphServer(tmp_path / "work", settings)
    with pytest.raises(AssertionError, match="did not start"), server:
        pass
    assert "RICORDO_DATABASE_URL" in server.said()
    assert "hunter2" not in server.said()


async def test_a_run_that_was_cut_off_is_finished_by_the_next_server_and_asked_once(dsn: str, tmp_path: Path) -> None:
    with OpenAIServer() as model:
        settings = {"RICORDO_DATABASE_URL": dsn, "RICORDO_HOME": str(tmp_path)} | model.settings()
        model.play(say("Never heard.", delay=60))
        with LangGraphServer(tmp_path / "work", settings) as server:
            thread, run = await begin(server, "Shall we sail?")
            await until(lambda: model.main)
        model.play(say("At noon."), say("Yes."))
        with LangGraphServer(tmp_path / "work", settings) as server:
            await finish(server, thread, run)
            async with server.client() as client:
                state = await ask(client, thread, "Sure?")
        assert dialogue(state) == [("human", "Shall we sail?"), ("ai", "At noon."), ("human", "Sure?"), ("ai", "Yes.")]
        assert model.main[-1].segment("Conversation").count("> Shall we sail?") == 1
        assert model.violations == []


async def test_a_tool_that_was_running_when_the_server_was_killed_is_not_run_again(dsn: str, tmp_path: Path) -> None:
    saved = tmp_path / "work" / ".langgraph_api" / ".langgraph_ops.pckl"
    with OpenAIServer() as model, ArxivServer() as arxiv:
        settings = {"RICORDO_DATABASE_URL": dsn, "RICORDO_HOME": str(tmp_path)} | model.settings() | arxiv.settings()
        settings["RICORDO_HTTP_TIMEOUT_SECONDS"] = settings["RICORDO_TOOL_TIMEOUT_SECONDS"] = "300"
        arxiv.faults.delay = 300
        model.play(call("fetch_and_save_paper_to_kb_db", {"arxiv_id": "2310.08560"}))
        with LangGraphServer(tmp_path / "work", settings) as server:
            thread, run = await begin(server, "Save the paper 2310.08560")
            await until(lambda: arxiv.requests)
            seen = time.time()
            await until(lambda: saved.exists() and saved.stat().st_mtime > seen)  # its runs, every ten seconds
            server.stop(signal.SIGKILL)
        arxiv.faults.delay = 0
        fetched = len(arxiv.requests)
        model.play(say("I cannot tell whether it was saved."))
        with LangGraphServer(tmp_path / "work", settings) as server:
            state = await finish(server, thread, run)
        assert len(arxiv.requests) == fetched
        assert [(one["name"], one["status"]) for one in state["tool_calls"]] == [
            ("fetch_and_save_paper_to_kb_db", "interrupted")
        ]
        assert "was not run again" in model.main[-1].results[0]
        assert model.violations == []


async def begin(server: LangGraphServer, question: str) -> tuple[str, str]:
    """Start a run on a new thread, and do not wait for it."""
    async with server.client() as client:
        thread = str((await client.threads.create())["thread_id"])
        run = await client.runs.create(thread, "agent", input=asking(question))
        return thread, run["run_id"]


async def finish(server: LangGraphServer, thread: str, run: str) -> dict[str, Any]:
    """Wait for a run, and return the thread's state."""
    async with server.client() as client:
        await asyncio.wait_for(client.runs.join(thread, run), 240)
        state: Any = await client.threads.get_state(thread)
        return dict(state["values"])


def test_the_image_is_described_without_docker(tmp_path: Path) -> None:
    program = LangGraphServer(tmp_path, {}).command[0]
    subprocess.run(
        [program, "dockerfile", "Dockerfile"],
        cwd=tmp_path,
        env=bare_environment(LANGGRAPH_CLI_NO_ANALYTICS="1"),
        check=True,
    )
    said = (tmp_path / "Dockerfile").read_text()
    assert "/graph/agent.py:graph" in said
    assert "ENV LANGSMITH_TRACING=false" in said
    assert "/ricordo/server/app.py:checkpointer" in said
