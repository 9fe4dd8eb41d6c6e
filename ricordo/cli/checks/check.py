"""What one check of `ricordo doctor` found."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Check:
    """What was found."""

    name: str
    status: Literal["ok", "missing", "broken"]
    """`missing`: something that one can do without; `broken`: something that one cannot."""
    detail: str
    advice: str = ""
