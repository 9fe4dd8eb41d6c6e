import itertools
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from pydantic import AliasChoices

from ricordo.common.settings import Settings
from tests.support.langgraph_server import ROOT

_NAMES = {
    field.validation_alias.choices[0] if isinstance(field.validation_alias, AliasChoices) else f"RICORDO_{name.upper()}"
    for name, field in Settings.model_fields.items()
}


def _examples() -> dict[str, str]:
    """The settings of .env.example, without the # before them."""
    found = re.findall(r"^# ([A-Z_]+)=(.*)$", (ROOT / ".env.example").read_text(), re.MULTILINE)
    assert len(found) == len(dict(found))
    return dict(found)


def test_the_example_settings_are_all_there_are_and_show_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(_examples()) == _NAMES
    for set_for_tests in ("RICORDO_HOME", "RICORDO_ALLOWED_HOSTS"):
        monkeypatch.delenv(set_for_tests)
    plain = Settings()
    for name, value in _examples().items():
        monkeypatch.setenv(name, value)
    assert Settings() == plain


def test_every_setting_is_explained_in_the_line_above_it_or_with_its_neighbour() -> None:
    lines = (ROOT / ".env.example").read_text().splitlines()
    for before, line in itertools.pairwise(lines):
        if re.match(r"# [A-Z_]+=", line):
            assert before.startswith("# "), f"{line} stands alone"
            assert not before.startswith("# ---"), f"{line} is not explained"


def test_the_constraints_pin_every_dependency_and_name_no_address() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert pins == sorted(pins)
    assert all(re.match(r"[a-z0-9-]+==[^ /@]+( ; .+)?$", line) for line in pins)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"], "pip"]
    names = {re.split(r"[^A-Za-z0-9._-]", each)[0].lower().replace("_", "-") for each in wanted}
    assert names <= {line.partition("==")[0] for line in pins}


def test_make_alone_lists_every_target(tmp_path: Path) -> None:
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "-f", str(ROOT / "Makefile")]  # the tests may run below a make themselves
    listed = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, check=True, text=True)
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert targets is not None
    assert [line.split()[1] for line in listed.stdout.splitlines()] == targets[1].split()


def _python(folder: Path, name: str, version: str, *, complete: bool = True) -> None:
    """Make a stand-in for an interpreter, as far as the set-up asks it anything before it makes an environment."""
    major, minor = version.split(".")
    program = folder / name
    program.write_text(
        f"""#!/bin/sh
        case "$2" in
            *print*) echo {version} ;;
            *sys.exit*) [ {major} -gt 3 ] || [ {minor} -ge 11 ] ;;
            *ensurepip*) {"true" if complete else "false"} ;;
            *) echo "made by {name} $*" >&2; exit 3 ;;
        esac
        """
    )
    program.chmod(0o755)


def _set_up(folder: Path, **more: str) -> str:
    """Run the set-up in an empty checkout, with the interpreters of this folder alone; return what it says."""
    checkout = folder / "checkout"
    (checkout / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "setup.sh", checkout / "scripts")
    for name in ("sh", "dirname", "cat", "rm"):
        (folder / name).symlink_to(shutil.which(name) or "")
    done = subprocess.run(
        ["sh", "scripts/setup.sh"],
        cwd=checkout,
        env={"PATH": str(folder), **more},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    return done.stderr


def test_the_set_up_takes_the_first_python_that_is_new_enough(tmp_path: Path) -> None:
    _python(tmp_path, "python3", "3.9")
    _python(tmp_path, "python3.13", "3.13", complete=False)
    _python(tmp_path, "python3.12", "3.12")
    assert "Making .venv with python3.12 (3.12)." in _set_up(tmp_path)


def test_the_set_up_says_that_every_python_is_too_old(tmp_path: Path) -> None:
    _python(tmp_path, "python3", "3.10")
    said = _set_up(tmp_path)
    assert "needs Python 3.11 or newer" in said
    assert "python3 is 3.10" in said
    assert "make setup PYTHON=" in said


def test_the_set_up_says_how_to_get_venv(tmp_path: Path) -> None:
    _python(tmp_path, "python3", "3.11", complete=False)
    assert "apt install python3.11-venv" in _set_up(tmp_path)


def test_the_set_up_takes_the_python_that_it_is_told(tmp_path: Path) -> None:
    _python(tmp_path, "python3", "3.12")
    (tmp_path / "other").mkdir()
    _python(tmp_path / "other", "python", "3.10")
    told = str(tmp_path / "other" / "python")
    assert f"PYTHON={told} is 3.10" in _set_up(tmp_path, PYTHON=told)


def test_no_secret_gets_into_an_image() -> None:
    left_out = (ROOT / ".dockerignore").read_text().splitlines()
    assert {".env", ".env.*", ".git", ".langgraph_api", ".venv"} <= set(left_out)


def test_what_an_image_must_not_hold_stays_out_when_langgraph_writes_a_dockerignore_of_its_own() -> None:
    ours = (ROOT / ".dockerignore").read_text()
    assert (ROOT / "Dockerfile.dockerignore").read_text() == ours  # for a `Dockerfile` Docker reads this one first


def test_what_the_checks_make_is_ignored_by_git() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no git checkout")
    made = [".venv/x", ".env", ".langgraph_api/x", "ricordo/__pycache__/x", "ricordo.egg-info/x", "build/x", "dist/x"]
    done = subprocess.run(
        ["git", "check-ignore", *made], cwd=ROOT, capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    assert done.stdout.split() == made
