"""Tools of the user's own: modules and files that register them when they are imported."""

import importlib
import importlib.util
import logging
import sys
import traceback
from pathlib import Path
from types import ModuleType

from ricordo.common.errors import ConfigurationError
from ricordo.stores.toolbox.box import toolbox

_log = logging.getLogger(__name__)


def load_own_tools(names: str) -> list[str]:
    """Import the modules and files that `RICORDO_TOOLS` names; those that have been imported are left as they are.

    A module is looked for where Python looks and in the current folder; what a file imports, in the file's folder too.

    Args:
        names: Importable names or paths that end in `.py`, separated by commas.

    Returns:
        The names of the tools that have come to be.

    Raises:
        ConfigurationError: One of them cannot be found or fails when it is imported.
    """
    joined: list[str] = []
    for name in filter(None, map(str.strip, names.split(","))):
        before = {tool.name for tool in toolbox}
        new = _load_file(Path(name).expanduser().resolve()) if name.endswith(".py") else _load_module(name)
        found = [tool.name for tool in toolbox if tool.name not in before]
        if new and not found:
            _log.warning("RICORDO_TOOLS: %s registers no tools. Put @toolbox.register_tool above a function.", name)
        joined += found
    return joined


def _load_module(name: str) -> bool:
    if name in sys.modules:
        return False
    _look_in(Path.cwd())
    importlib.invalidate_caches()
    try:
        importlib.import_module(name)
    except BaseException as error:  # a script without a guard ends the program when it is imported
        raise _failed(name, error, Path(*name.split("."))) from error
    return True


def _load_file(path: Path) -> bool:
    known = [module for module in sys.modules.values() if getattr(module, "__file__", None) == str(path)]
    if known:
        return False
    if not path.is_file():
        raise ConfigurationError(f"RICORDO_TOOLS names {path}, and there is no such file. Mend the path.")
    name = path.stem if path.stem not in sys.modules else f"ricordo_tools_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigurationError(f"RICORDO_TOOLS names {path}, which Python cannot import.")
    _look_in(path.parent)
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # type hints are looked up there
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        raise _failed(str(path), error, path) from error
    return True


def _look_in(folder: Path) -> None:
    """Let imports find a folder, after all others: nothing there can stand in for what is installed."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _failed(name: str, error: BaseException, path: Path) -> ConfigurationError:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).stem == path.stem]
    where = f", line {frames[-1].lineno}" if frames else ""
    return ConfigurationError(
        f"RICORDO_TOOLS: {name} cannot be imported{where}: {type(error).__name__}: {str(error).rstrip('.')}. "
        "Mend it, or take it off."
    )
