"""`ricordo tools` in processes of its own: shipped tools, the user's own, and those of an MCP server."""

import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.support.command import start
from tests.support.langgraph_server import ROOT
from tests.support.servers import wait_until
from tests.support.stand_ins.openai_script import ChatRequest, Reply, say, text_of
from tests.support.stand_ins.openai_server import OpenAIServer

OWN = '''
from enum import Enum
from ricordo.stores.toolbox.box import toolbox

class Size(Enum):
    SMALL = "small"
    LARGE = "large"

@toolbox.register_tool(group="kitchen", tags=["tea"], examples=["brew me a pot of tea"])
async def brew_tea(cups: int, size: Size = Size.SMALL) -> str:
    """Brew a pot of tea.

    Args:
        cups: How many cups.
        size: The size of the cups.
    """
    return f"{cups} {size.value} cups of tea"

@toolbox.register_tool(group="kitchen", side_effect=False)
def count_spoons() -> int:
    return 7
'''


@pytest.fixture
def own(tmp_path: Path) -> str:
    """A file with tools."""
    path = tmp_path / "kitchen.py"
    path.write_text(OWN)
    return str(path)


def listed(run: Run, *arguments: str, **more: str) -> dict[str, dict[str, Any]]:
    done = run("tools", "list", "--json", *arguments, **more)
    assert done.returncode == 0, done.stderr
    return {tool["name"]: tool for tool in json.loads(done.stdout)["tools"]}


def test_the_list_tells_what_is_known_of_each_tool(run: Run, own: str) -> None:
    found = listed(run, RICORDO_TOOLS=own)
    assert found["brew_tea"] == {
        "name": "brew_tea",
        "group": "kitchen",
        "tags": ["tea"],
        "pinned": False,
        "side_effect": True,
        "requires": None,
        "hidden": None,
        "notes": [],
    }
    assert found["count_spoons"]["notes"] == ["no docstring"]
    assert found["read_toolbox"]["pinned"]
    assert found["search_tavily"]["hidden"] == "needs TAVILY_API_KEY"
    assert listed(run, TAVILY_API_KEY="k")["search_tavily"]["hidden"] is None
    table = run("tools", "list", "--group", "kitchen", RICORDO_TOOLS=own).stdout.decode().splitlines()
    assert [line.split("\t") for line in table] == [
        ["brew_tea", "kitchen", "tea", "", "effect", "", ""],
        ["count_spoons", "kitchen", "", "", "", "", "no docstring"],
    ]


def test_a_tool_is_shown_as_the_model_sees_it(run: Run, own: str) -> None:
    done = run("tools", "show", "brew_tea", "--json", RICORDO_TOOLS=own)
    shown = json.loads(done.stdout)
    assert shown["description"] == "Brew a pot of tea."
    assert shown["examples"] == ["brew me a pot of tea"]
    properties = shown["schema"]["function"]["parameters"]["properties"]
    assert properties["cups"] == {"description": "How many cups.", "type": "integer"}
    text = run("tools", "show", "brew_tea", RICORDO_TOOLS=own).stdout.decode()
    assert "group        kitchen\n" in text
    assert "\n  brew me a pot of tea\n" in text
    unknown = run("tools", "show", "brew_teas", RICORDO_TOOLS=own)
    assert (unknown.returncode, unknown.stdout) == (1, b"")
    assert b"Did you mean brew_tea" in unknown.stderr


def test_a_tool_that_is_disabled_is_found_no_more_until_it_is_enabled(run: Run, own: str) -> None:
    first = json.loads(run("tools", "sync", "--json", RICORDO_TOOLS=own).stdout)
    assert first["added"] >= 8
    search = ("tools", "search", "make some tea for two", "-k", "2", "--json")
    assert json.loads(run(*search, RICORDO_TOOLS=own).stdout)["tools"][0]["name"] == "brew_tea"
    assert run("tools", "disable", "brew_tea", RICORDO_TOOLS=own).returncode == 0
    assert "brew_tea" not in run(*search, RICORDO_TOOLS=own).stdout.decode()

    without = json.loads(run("tools", "sync", "--json").stdout)
    assert (without["added"], without["changed"], without["removed"]) == (0, 0, 1)
    assert without["unchanged"] == first["added"] - 2
    found = listed(run, RICORDO_TOOLS=own)
    assert found["brew_tea"]["hidden"] == "disabled", "what was set aside stays so while its file is away"
    assert found["count_spoons"]["hidden"] is None
    assert run("tools", "enable", "brew_tea", RICORDO_TOOLS=own).returncode == 0
    assert json.loads(run(*search, RICORDO_TOOLS=own).stdout)["tools"][0]["name"] == "brew_tea"


def test_the_chat_model_writes_once_what_each_tool_is_found_by(run: Run, own: str, openai_server: OpenAIServer) -> None:
    def about(request: ChatRequest) -> Reply:
        return say(
            "Counts the cutlery. Is the table laid for nine?" if "count_spoons" in str(request.body) else "A tool."
        )

    openai_server.play_by(about, about)
    model = openai_server.settings() | {"RICORDO_TOOLS": own}
    without = run("tools", "sync", "--augment", RICORDO_TOOLS=own)
    assert without.returncode == 1
    assert b"--augment needs a chat model" in without.stderr

    known = json.loads(run("tools", "sync", "--json", **model).stdout)
    assert openai_server.requests == [], "a plain start asks nobody"
    done = run("tools", "sync", "--augment", "--json", **model)
    assert json.loads(done.stdout)["changed"] == known["added"] == len(openai_server.requests)
    again = run("tools", "sync", "--augment", "--json", **model)
    assert json.loads(again.stdout)["unchanged"] == known["added"] == len(openai_server.requests)

    found = run("tools", "search", "is the table laid for nine", "-k", "1", "--json", RICORDO_TOOLS=own)
    assert json.loads(found.stdout)["tools"][0]["name"] == "count_spoons", "with the model or without it"
    assert "Is the table laid for nine?" in run("tools", "show", "count_spoons", RICORDO_TOOLS=own).stdout.decode()


def test_the_chat_model_writes_about_the_tools_that_ask_for_it_without_being_told(
    run: Run, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    path = tmp_path / "kitchen.py"
    path.write_text(OWN.replace('group="kitchen", side_effect', 'group="kitchen", augment=True, side_effect'))
    openai_server.play_by(lambda _: say("Is the table laid?"), lambda _: say("Is the table laid?"))
    without = run("tools", "sync", RICORDO_TOOLS=str(path))
    assert b"1 tools have augment=True, and there is no chat model" in without.stderr
    model = openai_server.settings() | {"RICORDO_TOOLS": str(path)}
    assert json.loads(run("tools", "sync", "--json", **model).stdout)["changed"] == 1
    assert len(openai_server.requests) == 1
    assert "count_spoons" in str(openai_server.requests[0].body)
    within = run("tools", "search", "lay the table", "-g", "kitchen", "-k", "9", "--json", **model)
    assert {tool["name"] for tool in json.loads(within.stdout)["tools"]} == {"brew_tea", "count_spoons"}
    tagged = run("tools", "search", "lay the table", "--tag", "tea", "--json", **model)
    assert [tool["name"] for tool in json.loads(tagged.stdout)["tools"]] == ["brew_tea"]
    wrong = run("tools", "search", "lay the table", "--group", "kitchens", **model)
    assert wrong.returncode == 1
    assert b"no group of tools called 'kitchens'" in wrong.stderr


def test_two_at_once_do_not_both_pay_the_model(
    run: Run, settings: dict[str, str], own: str, openai_server: OpenAIServer
) -> None:
    over = threading.Event()

    def about(_: ChatRequest) -> Reply:
        over.wait()
        return say("A tool.")

    openai_server.play_by(about, about)
    model = openai_server.settings() | {"RICORDO_TOOLS": own}
    with start("tools", "sync", "--augment", settings=settings | model) as first:
        wait_until(lambda: openai_server.requests)
        try:
            second = run("tools", "sync", "--augment", **model)
        finally:
            over.set()
        first.communicate()
    assert (first.returncode, second.returncode) == (0, 1)
    assert b"letting a model write about tools" in second.stderr
    asked = [text_of(request.body["messages"][-1]) for request in openai_server.requests]
    assert len(asked) == len(set(asked))


def test_a_tool_that_does_not_exist_cannot_be_disabled(run: Run) -> None:
    done = run("tools", "disable", "get_current_times")
    assert done.returncode == 1
    assert b"Did you mean get_current_time" in done.stderr


def test_a_search_without_words_is_an_error(run: Run) -> None:
    done = run("tools", "search", " ", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["type"] == "InputError"


def test_servers_join_and_those_that_are_down_are_listed_with_the_reason(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    desk = {"command": sys.executable, "args": [str(ROOT / "tests/support/stand_ins/mcp_server.py")]}
    path.write_text(json.dumps({"mcpServers": {"desk": desk, "away": {"command": "no-such-program"}}}))
    done = run("tools", "list", "--json", RICORDO_MCP_FILE=str(path), RICORDO_MCP_TIMEOUT_SECONDS="60")
    said = json.loads(done.stdout)
    assert [(server["name"], server["status"]) for server in said["mcp_servers"]] == [("desk", "up"), ("away", "down")]
    assert {"weather_report", "hang"} <= {tool["name"] for tool in said["tools"] if tool["group"] == "desk"}
    assert b"there is no program 'no-such-program'" in done.stderr
    doctor = json.loads(
        run(
            "doctor",
            "--json",
            RICORDO_MCP_FILE=str(path),
            RICORDO_MCP_TIMEOUT_SECONDS="60",
            RICORDO_ARXIV_API_URL="http://127.0.0.1:9/api",
        ).stdout
    )
    [check] = [check for check in doctor["checks"] if check["name"] == "MCP"]
    assert check["status"] == "missing"
    assert "desk (7 tools), away (down)" in check["detail"]
    assert "no-such-program" in check["advice"]

    path.write_text('{"mcpServers": {"desk": {"command": 7, "args": 1}}}')
    broken = run("ask", "Hello?", RICORDO_MCP_FILE=str(path))
    assert (broken.returncode, broken.stdout) == (1, b"")
    assert b"mcpServers.desk.args" in broken.stderr


def test_a_module_of_the_current_folder_joins_a_turn(run: Run) -> None:
    Path("pantry").mkdir()
    Path("pantry/__init__.py").write_text("")
    Path("pantry/jars.py").write_text(
        "from ricordo import toolbox\n"
        "@toolbox.register_tool(side_effect=False)\n"
        'def count_jars() -> str:\n    """Count the jars of jam in the pantry."""\n    return "12 jars"\n'
    )
    done = run("ask", "Count the jars of jam in the pantry", "--json", RICORDO_TOOLS="pantry.jars")
    answer = json.loads(done.stdout)
    assert "count_jars" in answer["tools_offered"][0]
    assert answer["tool_calls"][0]["name"] == "count_jars"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("none.py", None, "none.py, and there is no such file"),
        ("no_such_module", None, "no_such_module cannot be imported: ModuleNotFoundError"),
        ("bad.py", "x = 1\n1/0\n", "bad.py cannot be imported, line 2: ZeroDivisionError: division by zero"),
        ("worse.py", "def (:\n", "worse.py cannot be imported: SyntaxError"),
    ],
)
def test_a_file_of_tools_that_cannot_be_imported_is_named(run: Run, name: str, text: str | None, said: str) -> None:
    if text is not None:
        Path(name).write_text(text)
    done = run("tools", "list", RICORDO_TOOLS=name)
    assert (done.returncode, done.stdout) == (1, b"")
    assert said in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_a_file_without_tools_is_a_warning(run: Run) -> None:
    Path("plain.py").write_text("x = 1\n")
    done = run("tools", "list", RICORDO_TOOLS="plain.py")
    assert done.returncode == 0
    assert b"plain.py registers no tools" in done.stderr
