"""What a statement is written with: its words, and the signs, the case and the accents that tell it from another.

`A+` is not `A-`, `C++` not `C#`, `-18` not `18`, `Köln` not `Koln`, `AB-12` not `ab-12`. Where case is a matter of
style alone (*jazz*, *Jazz*, *JAZZ*) it makes no difference.
"""

import re
import unicodedata
from dataclasses import dataclass
from itertools import groupby

from ricordo.common.text import EMAIL

_SIGN = (
    r"[#@%&°§^~|+<>=±×÷≠≤≥≈√∞$€£¥¢₹₽₩₺₿]"  # anywhere
    r"|(?<!\w)-(?=\.?\d)|(?<=[^\W\d])-(?!\w)"  # `-18`, `A-`: between words it only joins
    r"|(?<=\w)[/\\_*](?=\w)|(?<![\w.!])[!.](?=\w)"  # `AC/DC`, `kea_bird`; `.net`
)
_TOKEN = re.compile(
    EMAIL + r"|https?://\S+|\d+(?:[.,:/-]\d+)*\w*|[\u3040-\u30ff\u3400-\u9fff]|"
    rf"[^\W\d_\u3040-\u30ff\u3400-\u9fff]+(?:\d\w*)?|(?P<sign>{_SIGN})"
)
_CASED = re.compile(r"\d[^\W\d_]|[^\W\d_]\d|[a-zà-ÿ][A-ZÀ-Þ]")
"""Where case tells words apart: `AB12`, `iPhone`."""
_SHORT = re.compile(r"(?<!\w)[A-ZÀ-Þ]{2,3}(?!\w)")
"""`IT`; in a text that is written in capitals throughout, that is style."""
_BESIDE_SIGN = re.compile(rf"\w(?:{_SIGN})|(?:{_SIGN})\w")
_PLAIN = str.maketrans({"\u2212": "-", "\u2019": "'"})
_DASH = re.compile(r"(?<!\w)[\u2010-\u2013](?=\.?\d)|(?<=[^\W\d])[\u2010-\u2013](?!\w)")
"""A dash that stands for a minus."""


@dataclass(frozen=True)
class Written:
    """A word or a sign of a text."""

    text: str
    signed: bool
    """It is a sign, or stands beside one: no article then, whatever it looks like (`A+`)."""
    exact: bool
    """Its case tells it from others."""


def written(text: str) -> list[Written]:
    """Return the words and signs of a text, in order.

    >>> [one.text for one in written("I know C++, not C#.")]
    ['I', 'know', 'C', '+', '+', 'not', 'C', '#']
    """
    found = list(_TOKEN.finditer(text))
    ends = {one.end() for one in found if one["sign"]}
    starts = {one.start() for one in found if one["sign"]}
    result, shouts = [], text.isupper()
    for one in found:
        signed = bool(one["sign"]) or one.start() in ends or one.end() in starts
        result.append(Written(one[0], signed, signed or _is_cased(one[0], shouts=shouts)))
    return result


def even(text: str) -> str:
    """Even out width, space, apostrophes and minus signs; raised figures and fractions stay what they are."""
    parts = groupby(unicodedata.normalize("NFC", text), lambda c: not c.isascii() and unicodedata.category(c) == "No")
    same = ("".join(part) if kept else unicodedata.normalize("NFKC", "".join(part)) for kept, part in parts)
    return " ".join(_DASH.sub("-", "".join(same).translate(_PLAIN)).split())


def small(text: str) -> str:
    """Put a text into small letters, except words that their case tells from others."""
    shouts = text.isupper()
    return " ".join(
        word if _is_cased(word, shouts=shouts) or _BESIDE_SIGN.search(word) else word.casefold()
        for word in text.split()
    )


def _is_cased(word: str, *, shouts: bool) -> bool:
    return bool(_CASED.search(word) or (not shouts and _SHORT.search(word)))


def fold(word: str) -> str:
    """Return a word without case and accents."""
    decomposed = unicodedata.normalize("NFD", word.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if not unicodedata.combining(c)))
