import json
import signal
import subprocess
import sys

import pytest

from ricordo.cli.parts.output import plain
from tests.cli.conftest import Run
from tests.support.langgraph_server import ROOT, bare_environment


def test_what_others_print_never_mixes_with_the_result(run_code: Run) -> None:
    done = run_code(
        "import os, subprocess\n"
        "from ricordo.cli.parts import output\n"
        "output.stdout()\n"
        "print('from python')\n"
        "os.write(1, b'from C\\n')\n"
        "subprocess.run(['echo', 'from a child'])\n"
        "output.write_json({'a': 'é\\udcff'})\n"
    )
    assert done.stdout.decode() == '{"a": "é?"}\n'
    assert {b"from python", b"from C", b"from a child"} <= set(done.stderr.splitlines())


@pytest.mark.parametrize("level", ["info", "debug"])
def test_an_unexpected_error_is_one_line_and_how_to_see_more(run_code: Run, level: str) -> None:
    done = run_code(
        "import asyncio, typer\n"
        "from ricordo.cli.parts import output\n"
        "async def fail():\n"
        "    raise KeyError('lost')\n"
        "async def work():\n"
        "    async with asyncio.TaskGroup() as group:\n"
        "        group.create_task(fail())\n"
        "try:\n"
        "    output.run(work, as_json=True)\n"
        "except typer.Exit as end:\n"
        "    raise SystemExit(end.exit_code)\n",
        RICORDO_LOG_LEVEL=level,
    )
    assert done.returncode == 70
    assert json.loads(done.stdout) == {"error": "'lost'", "type": "KeyError"}
    said = done.stderr.decode()
    assert "error: KeyError: 'lost'\nThis is a bug in Ricordo." in said
    assert ("Traceback" in said) is (level == "debug")


def test_a_reader_that_has_gone_is_no_error() -> None:
    code = "from ricordo.cli.parts import output\nfor _ in range(20000): output.write('x' * 80 + '\\n')"
    with subprocess.Popen(
        [sys.executable, "-c", code], env=bare_environment(PYTHONPATH=str(ROOT)), stdout=-1, stderr=-1
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert (process.stderr.read(), process.wait(timeout=30)) == (b"", 0)


def test_ctrl_c_ends_a_command_quietly() -> None:
    code = (
        "import asyncio, sys, typer\n"
        "from ricordo.cli import main, app\nfrom ricordo.cli.parts import output\n"
        "@app.app.command()\n"
        "def sleep():\n"
        "    async def work():\n"
        "        print('asleep', flush=True)\n"
        "        await asyncio.sleep(60)\n"
        "    output.run(work)\n"
        "sys.argv = ['ricordo', 'sleep']\n"
        "main.main()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], env=bare_environment(PYTHONPATH=str(ROOT)), stdout=-1, stderr=-1
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"asleep\n"
        process.send_signal(signal.SIGINT)
        assert (process.stderr.read(), process.wait(timeout=30)) == (b"", 130)


def test_help_and_a_wrong_command_line_import_nothing_heavy(run_code: Run) -> None:
    done = run_code(
        "import sys\n"
        "from ricordo.cli.main import main\n"
        "heavy = {'langchain_core', 'langgraph', 'numpy', 'psycopg', 'prompt_toolkit', 'rich', 'httpx'}\n"
        "sys.argv = ['ricordo', 'ask', '--nonsense']\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    print(end.code, heavy & set(sys.modules))\n"
    )
    assert done.stdout.decode() == "2 set()\n"
    assert b"No such option" in done.stderr


def test_nothing_shown_moves_the_cursor() -> None:
    assert plain("a\x1b[2Jb\x07c\r\nd\te\x9bf\x7f\r!") == "a[2Jbc\nd\tef!"
