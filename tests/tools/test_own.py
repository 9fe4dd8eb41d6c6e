from pathlib import Path

import pytest

from ricordo.common.errors import ConfigurationError
from ricordo.tools.own import load_own_tools


def test_a_file_that_ends_the_program_when_it_is_imported_is_named() -> None:
    Path("leaving_tools.py").write_text("raise SystemExit(0)\n")
    with pytest.raises(ConfigurationError, match=r"leaving_tools\.py cannot be imported, line 1: SystemExit"):
        load_own_tools("leaving_tools.py")
