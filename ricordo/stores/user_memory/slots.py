"""What there is only one of at a time: where somebody lives or works, a name, an address, a favourite of a kind.

A slot's key names whose it is and what: `user home`, `anna employer`, `user favourite color`. Those of others count
only where it is clear who is meant: a name, or somebody of whom one has but one (`my wife`).
"""

import re
from dataclasses import dataclass

from ricordo.stores.user_memory.singles import SECRETS, SINGLES

_RELATION = (
    r"wife|husband|partner|mother|father|mum|mom|dad|boss|manager|girlfriend|boyfriend|"
    r"moglie|marito|compagn[oa]|madre|padre|mamma|papà|capo|fidanzat[oa]"
)
_CAPITAL = r"(?-i:[A-ZÀ-Þ])"
_NAME = (
    r"(?!(?:he|she|they|we|it|there|who|everyone|everybody|somebody|lui|lei|loro)\b)"
    rf"{_CAPITAL}[\w'-]*(?: {_CAPITAL}[\w'-]*)*"
)
_USER = r"(?:the |the current )?user|l'utente|utente|i|io|der nutzer|el usuario|l'utilisateur|ich|je|yo"
_NOW = r"(?:now|currently|actually|ora|adesso|attualmente|jetzt|maintenant|ahora)"
_WHO = (
    rf"^(?:(?:{_NOW},? )?(?:(?P<user>{_USER})|(?:my|the user's|user's|mi[ao]|il mio|la mia) (?P<relation>{_RELATION})|"
    rf"(?P<name>{_NAME})) )?(?:{_NOW} )?"
)
_WHOSE = (
    rf"^(?:(?P<user>(?:the )?user's|my|user|the user)|(?:my|the user's) (?P<relation>{_RELATION})'s|"
    rf"(?P<name>{_NAME})'s) (?:new |current )?"
)
_IS = rf"(?: address| number)?(?: {_NOW})? ?(?:is|are|=|:|has changed to|changed to)(?: {_NOW})?:? "
_E = r" (?:ora |adesso )?(?:è|sono)(?: ora| adesso)?:? "
_VALUE = r"(?P<value>.+)$"
_QUALIFIER = r"(?P<kind>work |home |private |personal |business |office )?"

_PROPER = rf"(?=(?:the |il |la |l'|gli )?{_CAPITAL})"
"""Before a proper name: who lives in a flat may live in Rome too, who works for a bank for Acme."""

_VERBS = {
    "home": r"(?:(?:lives?|(?:is |am )(?:living|based)|resides?) (?:in|at)|"
    r"(?:has |have )?(?:just |recently )?(?:moved|relocated) to|"
    r"(?:abita|abito|vive|vivo|risiede|risiedo|(?:si è|mi sono) (?:appena )?trasferit[oa]) "
    r"(?:ora |adesso )?(?:ad?|in|nel|nella|al)|(?:vive|vivo|reside) en|habite (?:à|en|au)|"
    r"(?:wohnt?e?|lebt?e?) (?:jetzt )?in)",
    "employer": r"(?:(?:works?|(?:is |am )(?:now )?(?:working|employed)) (?:at|for|by)|"
    r"(?:lavora|lavoro) (?:ora |adesso )?(?:per|presso)|(?:trabaja|trabajo) para|travaille (?:chez|pour)|"
    r"arbeitet? (?:jetzt )?bei)",
    "name": r"(?:(?:is|am) (?:called|named)|goes by|si chiama|mi chiamo|se llama|me llamo|[sm]'appelle|heißt?e?)",
}
_OWNED = {
    "name": r"(?:full |first )?name",
    "email": rf"{_QUALIFIER}e-?mail",
    "phone": rf"{_QUALIFIER}(?:(?:tele|mobile |cell ?)?phone|mobile|cell)",
    "address": rf"{_QUALIFIER}(?:postal )?address",
    "birthday": r"birthday|date of birth|birth ?date",
    "age": r"age",
    "time zone": r"time ?zone",
    "language": r"(?:native|preferred|first) language|mother tongue",
    "employer": r"employer",
    "job": r"job(?: title)?|profession|occupation",
}
_OWNED_IT = {
    "name": r"nome",
    "email": r"(?:indirizzo )?e-?mail",
    "phone": r"(?:numero di )?(?:telefono|cellulare)",
    "address": r"indirizzo",
    "birthday": r"compleanno|data di nascita",
    "age": r"età",
    "language": r"lingua madre",
}

_FORMS: list[tuple[str, re.Pattern[str]]] = [
    *((slot, re.compile(rf"{_WHO}{verb} {_PROPER}{_VALUE}", re.IGNORECASE)) for slot, verb in _VERBS.items()),
    *((slot, re.compile(rf"{_WHOSE}(?:{noun}){_IS}{_VALUE}", re.IGNORECASE)) for slot, noun in _OWNED.items()),
    *(
        (slot, re.compile(rf"^(?:il |la |l')(?:mi[ao] (?:{noun})|(?:{noun}) dell'utente){_E}{_VALUE}", re.IGNORECASE))
        for slot, noun in _OWNED_IT.items()
    ),
    ("age", re.compile(rf"{_WHO}(?:is|am) (?P<value>\d{{1,3}})(?: years? old| years of age)\.?$", re.IGNORECASE)),
    ("age", re.compile(rf"{_WHO}(?:ha|ho) (?P<value>\d{{1,3}}) anni\.?$", re.IGNORECASE)),
    ("birthday", re.compile(rf"{_WHO}(?:was born on|è nat[oa] il|sono nat[oa] il) {_VALUE}", re.IGNORECASE)),
]
_FAVOURITES = [
    re.compile(rf"{_WHOSE}(?:all-time )?favou?rite (?P<what>[\w -]+?){_IS}{_VALUE}", re.IGNORECASE),
    re.compile(
        r"^(?P<value>.+?) (?:is|are) (?:now )?(?P<user>my|the user's) (?:all-time )?favou?rite (?P<what>[\w -]+?)\.?$",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?P<user>(?:il|la|lo|i|gli|le) |l')(?:mi[aeo]i? )?(?P<what>[\w ]+?) (?:preferit|favorit)[oaie]"
        rf"(?: dell'utente)?{_E}{_VALUE}",
        re.IGNORECASE,
    ),
    re.compile(rf"^(?P<user>mi) (?P<what>[\w ]+?) (?:favorit|preferid)[oa]s? (?:es|son) {_VALUE}", re.IGNORECASE),
    re.compile(rf"^(?P<user>mon|ma) (?P<what>[\w ]+?) préférée?s? (?:est|sont) {_VALUE}", re.IGNORECASE),
    re.compile(rf"^(?P<user>meine?) lieblings(?P<what>\w+) (?:ist|sind) {_VALUE}", re.IGNORECASE),
]
_NOT_FOR_GOOD = re.compile(
    r"\b(?:ago|until|till|during|while|when|if|before|next|tomorrow|last|for the|in \d{4}|as a child|one of|also|too|"
    r"as well|on \w+days?|fa|fino|durante|quando|se|prima|prossim[oa]|domani|scors[oa]|anche|"
    r"nel \d{4}|from \w+ to|sometimes|partly)\b",
    re.IGNORECASE,
)
"""That the value is one of several, or was or will be so for a time."""
_MOVED = re.compile(
    r"\b(?P<move>moved|relocated|trasferit[oa])\b(?P<where>.+?),? "
    r"(?:last \w+|(?:\w+ ){1,2}ago|yesterday|today|in (?:\w+ )?\d{4}|"
    r"(?:la |lo )?\w+ scors[oa]|(?:\w+ ){1,2}fa|ieri|oggi|nel \d{4})[\s.!]*$",
    re.IGNORECASE,
)
"""When somebody moved makes no difference to where they live."""
_TAIL = re.compile(
    rf"(?:,? (?:{_NOW}|these days|at the moment|since .+|da (?:ieri|oggi|poco))|(?<![\s.!]))[\s.!]*+$", re.IGNORECASE
)


@dataclass(frozen=True)
class Slot:
    """One value, and what it is the value of."""

    key: str
    value: str


def slot_of(statement: str) -> Slot | None:
    """Return the slot that a statement without negation fills, if it does.

    >>> slot_of("The user now lives in Milan.")
    Slot(key='user home', value='Milan')
    """
    for form in SINGLES:
        if (found := form.match(statement)) and not _NOT_FOR_GOOD.search(found["value"]):
            return Slot(f"user {found['what'].lower()}", _TAIL.sub("", found["value"]))
    statement = _MOVED.sub(r"\g<move>\g<where>", statement)
    if _NOT_FOR_GOOD.search(statement):
        return None
    for attribute, form in _FORMS:
        if (found := form.match(statement)) and (value := _TAIL.sub("", found["value"])):
            kind = (found.groupdict().get("kind") or "").strip().lower()
            return Slot(" ".join(filter(None, [_owner(found), kind, attribute])), value)
    for form in _FAVOURITES:
        if (found := form.match(statement)) and (value := _TAIL.sub("", found["value"])):
            what = " ".join(found["what"].lower().replace("colour", "color").split())
            return Slot(f"{_owner(found)} favourite {what}", value)
    return None


def secret_of(statement: str) -> Slot | None:
    """Return the key, password or handle that a statement gives, letter for letter.

    >>> secret_of("My licence key is AB-12-cd.")
    Slot(key='user licence key', value='AB-12-cd')
    """
    for form in SECRETS:
        if found := form.match(statement):
            return Slot(f"user {found['what'].lower()}", found["value"].removesuffix(".").strip("\"'"))
    return None


def _owner(found: re.Match[str]) -> str:
    named = found.groupdict()
    return str(named.get("relation") or named.get("name") or "user").lower()
