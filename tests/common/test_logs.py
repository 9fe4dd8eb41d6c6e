import io
import logging
from collections.abc import Iterator

import pytest

from ricordo.common.logs import clean_records


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    root, last = logging.getLogger(), logging.lastResort
    before = list(root.handlers), list(last.filters if last else [])
    root.addHandler(handler)
    clean_records()
    clean_records()
    yield out
    root.removeHandler(handler)
    for each in before[0]:
        each.filters.clear()
    if last:
        last.filters[:] = before[1]


def test_what_a_terminal_would_obey_reaches_no_log(written: io.StringIO) -> None:
    logging.getLogger("any.library").error("server %s: %s", "\x1b]0;owned\x07", "a\x1b[2J\x9b31mb\r")
    assert written.getvalue() == "server ]0;owned: a[2J31mb\n"


def test_an_errors_own_words_are_cleaned_and_no_line_of_them_looks_like_a_record(written: io.StringIO) -> None:
    error = ValueError("one\x1b[1m\nERROR ricordo: forged")
    logging.getLogger("ricordo.x").error("it\nfailed", exc_info=error)
    lines = written.getvalue().splitlines()
    assert lines[0] == "it"
    assert "\x1b" not in written.getvalue()
    assert len(lines) == 4
    assert all(line.startswith("    ") for line in lines[1:])


def test_a_password_in_an_address_reaches_no_log(written: io.StringIO) -> None:
    logging.getLogger("httpx").error("HTTP Request: GET %s", "https://ada:hunter2@example.org/a")
    assert "hunter2" not in written.getvalue()
    assert "example.org/a" in written.getvalue()
