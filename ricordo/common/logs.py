"""Log records without what a terminal would obey, and without passwords, whoever wrote them."""

import logging
import traceback

from ricordo.common.secrets import without_secrets
from ricordo.common.text import plain


class _Cleaner(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        if record.exc_info and record.exc_info[0]:
            said += "\n" + "".join(traceback.format_exception(*record.exc_info)).rstrip()
        # The lines that follow stand apart: none looks like a record of its own.
        record.msg, record.args = plain(without_secrets(said)).replace("\n", "\n    "), None
        record.exc_info = record.exc_text = None
        return True


_CLEANER = _Cleaner()


def clean_records() -> None:
    """Clean what this process's handlers are given from now on; calling it again changes nothing."""
    for handler in (*logging.getLogger().handlers, logging.lastResort):
        if handler is not None:
            handler.addFilter(_CLEANER)
