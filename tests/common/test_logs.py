import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from structlog.stdlib import BoundLogger, ProcessorFormatter

from ricordo.common.logs import clean_records


@pytest.fixture
def handler() -> logging.StreamHandler[io.StringIO]:
    return logging.StreamHandler(io.StringIO())


@pytest.fixture
def written(handler: logging.StreamHandler[io.StringIO]) -> Iterator[io.StringIO]:
    root, last = logging.getLogger(), logging.lastResort
    before = list(root.handlers), list(last.filters if last else [])
    root.addHandler(handler)
    clean_records()
    clean_records()
    yield handler.stream
    root.removeHandler(handler)
    for each in before[0]:
        each.filters.clear()
    if last:
        last.filters[:] = before[1]


def _as_json(_logger: Any, _name: str, event: Any) -> str:
    return json.dumps(event)


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


def test_a_record_of_structlog_is_cleaned_and_stays_one_that_its_formatter_writes(
    written: io.StringIO, handler: logging.Handler
) -> None:
    handler.setFormatter(ProcessorFormatter(processors=[ProcessorFormatter.remove_processors_meta, _as_json]))
    log = structlog.wrap_logger(
        logging.getLogger("langgraph_api"),
        processors=[ProcessorFormatter.wrap_for_formatter],
        wrapper_class=BoundLogger,
    )
    said, cleaned = "GET\x1b[2J https://ada:hunter2@example.org/a", "GET[2J https://[secret]@example.org/a"
    log.error(said, active=0, token="mole-7", runs=[{"error": said}], exception="one\nERROR ricordo: forged")
    event = json.loads(written.getvalue())
    assert event.pop("exception").splitlines()[1].startswith("    ")
    assert event == {"event": cleaned, "active": 0, "token": "[secret]", "runs": [{"error": cleaned}]}
