import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ricordo
from tests.support.langgraph_server import ROOT

PUBLIC = {
    "Agent",
    "Answer",
    "Event",
    "MemoryManager",
    "Restarted",
    "RicordoError",
    "Settings",
    "Token",
    "ToolEnded",
    "ToolStarted",
    "WindowCompacted",
    "WindowFilled",
    "call_agent",
    "errors",
    "open_agent",
    "register_tool",
    "toolbox",
}
"""What may not change without a line in the changelog."""


def _python(code: str, folder: Path, *roots: Path) -> subprocess.CompletedProcess[str]:
    paths = [str(root) for root in (folder, *roots)]
    program = f"import sys; sys.path[:0] = {paths!r}\n{code}"
    return subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)


def test_the_public_names_are_these_and_every_one_is_there() -> None:
    assert set(ricordo.__all__) == PUBLIC
    assert all(getattr(ricordo, name) is not None for name in PUBLIC)
    assert set(dir(ricordo)) >= PUBLIC


def test_a_name_that_is_none_is_told_as_by_any_module() -> None:
    with pytest.raises(AttributeError, match="module 'ricordo' has no attribute 'opn_agent'"):
        _ = ricordo.opn_agent


def test_importing_the_package_imports_nothing_else(tmp_path: Path) -> None:
    code = (
        "import ricordo; print([name for name in sys.modules if name.startswith(('ricordo.', 'langchain', 'numpy'))])"
    )
    assert _python(code, tmp_path, ROOT).stdout == "[]\n"


@pytest.mark.parametrize("name", ["graph", "nodes", "stores"])
def test_the_links_at_the_top_say_what_to_write_instead(name: str, tmp_path: Path) -> None:
    assert (ROOT / name).readlink() == Path("ricordo") / name
    told = _python(f"import {name}", tmp_path, ROOT).stderr
    assert f"ImportError: '{name}' at the top of the repository is a link: write `ricordo.{name}`" in told


def test_a_folder_with_modules_of_everybodys_names_does_not_get_in_the_way(tmp_path: Path) -> None:
    for name in ("tools", "graph", "stores", "nodes", "cli", "readers", "evals", "common", "models"):
        (tmp_path / f"{name}.py").write_text(f"NAME = 'the user’s own {name}'\n")
    (tmp_path / "tools.py").write_text(
        "from ricordo import register_tool\n\n\n"
        "@register_tool\ndef kea_age() -> str:\n    '''Tell a kea's age.'''\n    return '50'\n"
    )
    code = (
        "import graph, stores; from ricordo import open_agent, toolbox\n"
        "from ricordo.tools.own import load_own_tools\n"
        "print(graph.NAME, load_own_tools('tools'), toolbox.get('kea_age').name, sep='; ')"
    )
    done = _python(code, tmp_path, ROOT)
    assert done.stdout == "the user’s own graph; ['kea_age']; kea_age\n", done.stderr


def test_what_users_read_goes_through_the_front_door_alone() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")]
    imports = re.compile(r"^\W*(?:from (ricordo[\w.]*) import|import (ricordo[\w.]*))", re.MULTILINE)
    named = {(page.name, *found) for page in pages for found in imports.findall(page.read_text())}
    assert {module for _, *modules in named for module in modules if module} == {"ricordo"}, named


def test_the_layers_refuse_an_arrow_that_points_up(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "ricordo", tmp_path / "ricordo", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    check = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    kept = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert kept.returncode == 0, kept.stdout
    with (tmp_path / "ricordo" / "common" / "words.py").open("a") as file:
        file.write("import ricordo.stores.manager\n")
    broken = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert broken.returncode == 1
    assert "ricordo.common.words -> ricordo.stores.manager" in broken.stdout


def test_no_file_is_longer_than_300_lines_and_no_folder_holds_more_than_25() -> None:
    files = [file for top in ("ricordo", "tests", "scripts") for file in (ROOT / top).rglob("*.py")]
    long = {str(file.relative_to(ROOT)): lines for file in files if (lines := len(file.read_text().splitlines())) > 300}
    assert long == {}
    folders = {file.parent for file in files}
    counts = {folder: sum(each.name != "__init__.py" for each in folder.glob("*.py")) for folder in folders}
    assert {str(folder): count for folder, count in counts.items() if count > 25} == {}
