"""What a message states of the user: by the firewall's reading, and whose grammar says *I*."""

import re

from ricordo.stores.user_memory.firewall import assertions
from ricordo.stores.user_memory.firewall_words import OPENERS, REMEMBERS

_ASIDES = re.compile(r"^(?:(?:by the way|btw|fyi|comunque|sorry|scusa|不对)\b[,:，]? ?|不对，?)+", re.IGNORECASE)
_SELF = re.compile(
    r"\b(?:(?-i:I)|i'm|i've|i'd|my|we|our|io|mi[aoe]i?|nostr[aeio]|abbiamo|ho|sono)\b|我|^i (?=[a-z])"
    r"|^(?:(?:non|mi|ci|ne) )*(?!ciao\b)\w{2,}(?<![aie]l)(?<!e)o (?=\S)",
    re.IGNORECASE,
)
"""The user as the subject; an Italian verb says it by its ending."""
_WANTS = re.compile(
    r"(?:i|we)(?: really| just|'d|'m| am| would)* (?:want|need|like to|like(?= (?:a|the|some)\b)|look(?:ing)? for)\b"
    r"|(?:vorre[im]|vogli|cerc|mi serv|ho bisogno|avrei)|remind\b|ricordami\b|我(?:想要?|要|需要)|(?:请|帮我)(?!记住)",
    re.IGNORECASE,
)
"""The beginning of a wish."""
_PASSING = re.compile(
    r"\S+ (?:\S+ )?(?:apolog|question|bad|problem|point|guess|turn|paper|error|idea|domanda|scus)", re.IGNORECASE
)
"""What is one's own for a moment."""
_KEPT = re.compile(r"\b(?:tieni presente|tenete presente|nota bene)\b|别忘了", re.IGNORECASE)
_TOLD = re.compile(r"\b(?:that|che)\b", re.IGNORECASE)
_NEXT = re.compile(
    r"(?:,? (?:and|but)|;|,) (?=(?:i|i'm|i've|my|we|our)\b)"
    r"|(?:,? (?:e|ma)|,) (?=(?:ho|sono|mi|(?:il |la )?mi[oa])\b)|[，；](?=我)",
    re.IGNORECASE,
)
"""Where a sentence goes on with another statement: each is kept, and forgotten, by itself."""


def statements(text: str) -> list[str]:
    """Return what a message states about the user, one by one; no question, no wish, nothing about others.

    >>> statements("btw I hate flying, and my dog is called Bice. Do you remember my name?")
    ['I hate flying', 'my dog is called Bice']
    """
    found: list[str] = []
    for sentence in assertions(text):
        plain = _ASIDES.sub("", OPENERS.sub("", _ASIDES.sub("", sentence))).strip()
        kept = REMEMBERS.search(plain) or _KEPT.search(plain)
        if plain.endswith(("?", "？", "؟")) and not (kept and _TOLD.search(plain)):
            continue
        if kept and not _WANTS.match(plain):
            found.append(plain)
        elif _SELF.search(plain) and not _WANTS.match(plain) and not _PASSING.match(plain) and not _orders(plain):
            found += _NEXT.split(plain)
    return [part for part in (each.strip(" ,") for each in found) if part]


def _orders(sentence: str) -> bool:
    """Tell whether somebody is told to do something: what is said of oneself has oneself, or one's own, in front."""
    first = _SELF.search(sentence)
    if first is None or first[0] == "我":
        return first is None or first.start() > _FRONT
    return len(sentence[: first.start()].split()) > (_FRONT if first[0].lower() in {"i", "i'm", "i've"} else 1)


_FRONT = 3
"""Words (in Chinese: characters) before the subject, at most: *last year I*."""
