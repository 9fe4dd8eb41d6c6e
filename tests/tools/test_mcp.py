"""Tools of real MCP servers: a program over stdio, and a server on localhost."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from ricordo.common.errors import ToolError
from ricordo.common.settings import Settings
from ricordo.models.embeddings import Embedder
from ricordo.stores.postgres.database import Database
from ricordo.stores.toolbox.box import Toolbox
from ricordo.tools.mcp import ServerState, mcp_tools
from tests.support.harness import calls, open_harness, says
from tests.support.langgraph_server import ROOT, bare_environment

PROGRAM = str(ROOT / "tests/support/stand_ins/mcp_server.py")
SECRET = "sk-desk-secret-1234"
DESK = {"command": sys.executable, "args": [PROGRAM], "env": {"DESK_API_KEY": "${DESK_API_KEY}"}}
Opener = Callable[..., AbstractAsyncContextManager[list[ServerState]]]


@pytest.fixture(autouse=True)
def key() -> None:
    os.environ["DESK_API_KEY"] = SECRET


@pytest.fixture
def toolbox() -> Toolbox:
    return Toolbox()


@pytest.fixture
def opened(toolbox: Toolbox, tmp_path: Path) -> Opener:
    """Joins the servers of a file that is made of keywords."""

    def make(seconds: float = 30, **servers: Any) -> AbstractAsyncContextManager[list[ServerState]]:
        return mcp_tools(settings_for(tmp_path, seconds, **servers), toolbox)

    return make


def settings_for(folder: Path, seconds: float = 30, **servers: Any) -> Settings:
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return Settings(home=folder, mcp_file=path, mcp_timeout_seconds=seconds)


@contextmanager
def http_server(port: int) -> Iterator[str]:
    """Run the server on a port; give its address."""
    program = subprocess.Popen(
        [sys.executable, PROGRAM, "--http", str(port)], env=bare_environment(), stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        program.kill()
        program.wait()


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def use(toolbox: Toolbox, name: str, **arguments: Any) -> str:
    return str(await toolbox.get(name).tool.ainvoke(arguments))


async def test_the_tools_of_a_program_join_as_a_group_and_leave_again(opened: Opener, toolbox: Toolbox) -> None:
    async with opened(desk=DESK) as states:
        [desk] = states
        assert (desk.status, desk.transport, desk.group, desk.notice) == ("up", "stdio", "desk", "")
        assert desk.tools[:2] == ("weather_report", "count_calls_so_far")
        report = toolbox.get("weather_report")
        assert (report.group, report.side_effect, report.pinned) == ("desk", True, False)
        function = toolbox.schema("weather_report")["function"]
        assert function["description"] == "Tell the weather of a place for some days."
        assert function["parameters"]["properties"]["place"]["description"] == "A town."
        assert function["parameters"]["required"] == ["place"]
        assert await use(toolbox, "weather_report", place="Oslo", days=2) == "Oslo: rain for 2 days"
        assert await use(toolbox, "odd_names", config="a", runtime="b") == "a b"
        assert toolbox.groups["desk"] == "Weather desk. Weather reports for places on earth."
    assert len(toolbox) == 0
    assert "desk" not in toolbox.groups


async def test_one_session_serves_all_calls_and_ends_with_the_agent(opened: Opener, toolbox: Toolbox) -> None:
    async with opened(desk=DESK):
        said = await asyncio.gather(*(use(toolbox, "count_calls_so_far") for _ in range(20)))
        assert {int(text.split()[1]) for text in said} == set(range(1, 21))
        [process] = {int(text.split()[-1]) for text in said}
        os.kill(process, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


async def test_what_is_no_text_is_named_and_a_failure_says_why_without_the_key(
    opened: Opener, toolbox: Toolbox
) -> None:
    async with opened(desk=DESK):
        assert await use(toolbox, "map_of", place="Rome") == "Map of Rome\n[image/png, 7 kB, cannot be shown as text]"
        with pytest.raises(ToolError, match=r"no way: it rains \*\*\*"):
            await use(toolbox, "fail", reason="it rains")
        with pytest.raises(ToolError, match="place"):
            await use(toolbox, "weather_report", days="many")


async def test_a_program_that_dies_in_a_call_is_an_error_and_the_next_call_starts_it_again(
    opened: Opener, toolbox: Toolbox
) -> None:
    async with opened(desk=DESK):
        with pytest.raises(ToolError, match="went away in the middle of the call"):
            await use(toolbox, "die")
        first = await use(toolbox, "count_calls_so_far")
        os.kill(int(first.split()[-1]), signal.SIGKILL)
        with suppress(ProcessLookupError):
            while True:
                os.kill(int(first.split()[-1]), 0)
                await asyncio.sleep(0.05)
        await asyncio.sleep(0.3)
        assert (await use(toolbox, "count_calls_so_far")).startswith("call 1 of")


async def test_a_call_that_runs_out_of_time_leaves_the_session_as_it_is(opened: Opener, toolbox: Toolbox) -> None:
    async with opened(desk=DESK):
        before = await use(toolbox, "count_calls_so_far")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(use(toolbox, "hang", seconds=60), 0.2)
        assert await use(toolbox, "count_calls_so_far") == before.replace("call 1", "call 2")


async def test_a_server_on_localhost_that_starts_anew_is_called_again(
    opened: Opener, toolbox: Toolbox, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with http_server(port) as url:
        async with opened(desk={"type": "http", "url": url, "headers": {"X-Key": SECRET}}) as states:
            assert (states[0].status, states[0].transport) == ("up", "streamable_http")
            assert await use(toolbox, "weather_report", place="Oslo") == "Oslo: rain for 1 days"
            with pytest.raises(ToolError, match="went away in the middle"):
                await use(toolbox, "die")
            with pytest.raises(ToolError, match=f"127.0.0.1:{port} cannot be reached"):
                await use(toolbox, "weather_report", place="Oslo")
            with http_server(port):
                monkeypatch.setattr("ricordo.tools.mcp_session._PAUSE", 0)
                assert await use(toolbox, "weather_report", place="Oslo") == "Oslo: rain for 1 days"


async def test_a_server_that_does_not_answer_holds_the_start_up_no_longer_than_the_limit(
    opened: Opener, tmp_path: Path
) -> None:
    async with opened(warm={"command": "no-such-program"}):
        pass  # the libraries are imported now
    code = (
        "import os, pathlib, sys, time\n"
        "mine, others = pathlib.Path(sys.argv[1]), [pathlib.Path(path) for path in sys.argv[2:]]\n"
        "mine.write_text(str(os.getpid()))\n"
        "while not all(path.exists() for path in others): time.sleep(0.01)\n"
        "mine.with_suffix('.met').touch()\n"
        "sys.stdin.read()"
    )
    names = [f"silent{number}" for number in range(3)]
    paths = [str(tmp_path / name) for name in names]
    servers = {
        name: {"command": sys.executable, "args": ["-c", code, path, *paths]}
        for name, path in zip(names, paths, strict=True)
    }
    async with opened(seconds=8, **servers) as states:
        assert all("did not answer within 8 seconds" in state.notice for state in states)
    for name in names:
        assert (tmp_path / f"{name}.met").exists(), "all are waited for at once"
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / name).read_text()), 0)


async def test_servers_that_are_down_cost_their_own_tools_and_say_why(
    opened: Opener, toolbox: Toolbox, port: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLACE", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("DOOR", str(port))
    monkeypatch.setenv("ODD", "localhost")
    down = ["nothing", "broken", "away", "unset", "place", "port", "odd", "word", "six"]
    async with opened(
        nothing={"command": "no-such-program", "args": ["--key", SECRET]},
        broken={**DESK, "args": [PROGRAM, "--broken"]},
        away={"url": f"http://127.0.0.1:{port}/mcp?key={SECRET}"},
        unset={"command": "x", "env": {"A": "${NOT_SET_ANYWHERE}"}},
        place={"url": "${PLACE}/mcp"},
        port={"url": "http://127.0.0.1:${DOOR}/mcp"},
        odd={"url": "${ODD}"},
        word={"url": "http://127.0.0.1:${ODD}/mcp"},
        six={"url": "http://[${ODD}]:8000/mcp"},
        off={"command": "x", "disabled": True},
        desk=DESK,
    ) as states:
        assert toolbox.kept_groups == {*down}
        assert toolbox.notices == {state.group: state.notice for state in states if state.notice}
        assert await use(toolbox, "weather_report", place="Oslo") == "Oslo: rain for 1 days"
    found = {state.name: state for state in states}
    assert {name: state.status for name, state in found.items()} == {
        **dict.fromkeys(down, "down"),
        "off": "disabled",
        "desk": "up",
    }
    assert "there is no program 'no-such-program'" in found["nothing"].notice
    assert "it said: desk: the key *** is not valid" in found["broken"].notice
    assert f"127.0.0.1:{port} cannot be reached" in found["away"].notice
    assert "NOT_SET_ANYWHERE is not set" in found["unset"].notice
    assert f"127.0.0.1:{port} cannot be reached" in found["place"].notice
    assert f"127.0.0.1:{port} cannot be reached" in found["port"].notice
    assert "'url' must begin with http:// or https://" in found["odd"].notice
    assert "'url' is no address" in found["word"].notice
    assert {record.getMessage() for record in caplog.records} >= {s.notice for s in states if s.notice}
    assert toolbox.notices == {}
    assert SECRET not in caplog.text + repr(states)


async def test_tools_of_one_name_are_told_apart_by_their_server(opened: Opener, toolbox: Toolbox) -> None:
    toolbox.register_tool(fail)
    async with opened(desk=DESK, memory=DESK) as states:
        assert "weather_report" in states[0].tools
        assert "memory_weather_report" in states[1].tools
        assert "desk_fail" in states[0].tools
        assert states[1].group == "mcp_memory", "the toolbox has a group of that name"
        assert await use(toolbox, "memory_weather_report", place="Rome") == "Rome: rain for 1 days"
    assert [tool.name for tool in toolbox] == ["fail"]


def fail() -> str:
    """Somebody else's."""
    return ""


async def test_opened_twice_in_a_process_the_inner_ones_hold_and_the_outer_ones_come_back(
    opened: Opener, toolbox: Toolbox
) -> None:
    async with opened(desk=DESK):
        outer = await use(toolbox, "count_calls_so_far")
        async with opened(desk=DESK):
            inner = await use(toolbox, "count_calls_so_far")
        assert await use(toolbox, "count_calls_so_far") == outer.replace("call 1", "call 2")
    assert outer != inner


async def test_a_call_from_another_event_loop_goes_to_the_loop_of_the_session(opened: Opener, toolbox: Toolbox) -> None:
    async with opened(desk=DESK):
        said = await asyncio.to_thread(lambda: asyncio.run(use(toolbox, "weather_report", place="Oslo")))
    assert said == "Oslo: rain for 1 days"


async def test_a_turn_finds_and_calls_a_tool_of_a_server(db: Database, embedder: Embedder, tmp_path: Path) -> None:
    from ricordo import tools  # noqa: PLC0415 - registers the shipped ones

    async with (
        mcp_tools(settings_for(tmp_path, desk=DESK), tools.toolbox),
        open_harness(db, embedder, tmp_path) as harness,
    ):
        answer = await harness.ask(
            "What is the weather report for Oslo? And fail for a reason.",
            calls(("weather_report", {"place": "Oslo"}), ("fail", {"reason": "fog"})),
            says("Rain."),
        )
        assert "weather_report" in harness.model.offered[0]
        rain, fog = harness.results()
        assert rain == "Oslo: rain for 1 days"
        assert "no way: fog ***" in fog
        assert [call["status"] for call in answer.tool_calls] == ["success", "error"]


def test_without_a_file_nothing_is_imported() -> None:
    code = (
        "import asyncio, sys; from ricordo.tools.mcp import mcp_tools; from ricordo.common.settings import Settings; "
        "from ricordo import toolbox\n"
        "async def main():\n    async with mcp_tools(Settings(), toolbox) as states: assert states == []\n"
        "asyncio.run(main()); assert 'mcp' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], env=bare_environment(PYTHONPATH=str(ROOT)), check=True, timeout=60)
