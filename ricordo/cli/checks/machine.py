"""The machine: Python, settings, the home folder, the LangGraph server."""

import asyncio
import difflib
import os
import platform
import shlex
import shutil
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from dotenv import dotenv_values

from ricordo.cli.checks.check import Check
from ricordo.common.private import private_folder
from ricordo.common.settings import Settings, get_settings

_LEAST_FREE = 500 * 2**20


async def check_system() -> Check:
    """Look at the versions of Ricordo, Python and the system."""
    detail = f"Ricordo {metadata.version('ricordo')}, Python {platform.python_version()}, {platform.platform()}"
    if sys.version_info >= (3, 15):
        return Check(
            "system", "missing", detail, "Some packages have no build for this Python yet; 3.11 to 3.14 are safe."
        )
    return Check("system", "ok", detail)


async def check_settings() -> Check:
    """Read the settings, and look for names that are none.

    Raises:
        ConfigurationError: A setting is malformed.
    """
    source = f"environment and {_here('.env')}" if _is_here(".env") else "environment (no .env file here)"
    get_settings()
    known = {
        f"RICORDO_{name.upper()}" for name, field in Settings.model_fields.items() if field.validation_alias is None
    } | {"RICORDO_TOKENS"}  # of graph/auth_example.py
    given = {*os.environ, *dotenv_values(".env")} if _is_here(".env") else set(os.environ)
    unknown = sorted(name for name in given if name.startswith("RICORDO_") and name not in known)
    if not unknown:
        return Check("settings", "ok", source)
    close = [(name, difflib.get_close_matches(name, known, 1)) for name in unknown]
    hints = [f"{name}{f' (do you mean {match[0]}?)' if match else ''}" for name, match in close]
    return Check("settings", "missing", source, f"There is no setting {', '.join(hints)}; .env.example lists them.")


def _here(name: str) -> Path:
    return Path(name).resolve()


def _is_here(name: str) -> bool:
    return _here(name).is_file()


async def check_home(settings: Settings) -> Check:
    """Look whether the home folder can be used, and at the room on its disk."""
    home = settings.home
    try:
        await asyncio.to_thread(private_folder, home, ours=False, passable=True)
    except OSError as error:
        return _home_broken(settings, f"{home} cannot be made: {error.strerror}")
    if not os.access(home, os.W_OK | os.X_OK):
        return _home_broken(settings, f"{home} cannot be written to")
    if home.stat().st_mode & 0o066:
        return Check("home", "missing", f"{home} can be read by others", f"chmod go-rw {shlex.quote(str(home))}")
    free = shutil.disk_usage(home).free
    detail = f"{home}, {free / 2**30:.1f} GB free"
    return (
        Check("home", "missing", detail, "Make room on this disk.")
        if free < _LEAST_FREE
        else Check("home", "ok", detail)
    )


def _home_broken(settings: Settings, detail: str) -> Check:
    needed = settings.database_url is None  # elsewhere only the chat's history is kept there
    return Check(
        "home",
        "broken" if needed else "missing",
        detail,
        "Set RICORDO_HOME to a folder of yours, or RICORDO_DATABASE_URL to a PostgreSQL of your own.",
    )


async def check_studio() -> Check:
    """Look whether the LangGraph server is installed."""
    if find_spec("langgraph_cli") is None or find_spec("langgraph_api") is None:
        return Check("Studio", "missing", "the LangGraph server is not installed", "make setup installs it.")
    where = "" if _is_here("langgraph.json") else " in the project's folder"
    return Check("Studio", "ok", f"langgraph-cli {metadata.version('langgraph-cli')}; make dev{where} serves the graph")
