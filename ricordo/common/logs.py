"""Log records without what a terminal would obey, and without passwords, whoever wrote them."""

import logging
import traceback
from typing import Any

from ricordo.common.secrets import value_without_secrets
from ricordo.common.text import plain


class _Cleaner(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        if hasattr(record, "_logger") and isinstance(record.msg, dict):
            # structlog's, as LangGraph's server writes them: its formatter, which comes last, needs them to stay dicts.
            record.msg = _cleaned(value_without_secrets(record.msg))
            return True
        said = record.getMessage()
        if record.exc_info and record.exc_info[0]:
            said += "\n" + "".join(traceback.format_exception(*record.exc_info)).rstrip()
        record.msg, record.args = _cleaned(value_without_secrets(said)), None
        record.exc_info = record.exc_text = None
        return True


def _cleaned(said: Any) -> Any:
    if isinstance(said, dict):
        return {key: _cleaned(each) for key, each in said.items()}
    if isinstance(said, list):
        return [_cleaned(each) for each in said]
    # The lines that follow stand apart: none looks like a record of its own.
    return plain(said).replace("\n", "\n    ") if isinstance(said, str) else said


_CLEANER = _Cleaner()


def clean_records() -> None:
    """Clean what this process's handlers are given from now on; calling it again changes nothing."""
    for handler in (*logging.getLogger().handlers, logging.lastResort):
        if handler is not None:
            handler.addFilter(_CLEANER)
