"""Things that one has one of at a time, by their names: measures (a budget, a blood type), keys and handles.

A correction of one takes the place of what stood there. What a key or a handle is, it is letter for letter.
"""

import re
from dataclasses import dataclass

_QUALIFIED = r"(?:[\w'-]+ ){0,2}?"


@dataclass(frozen=True)
class Names:
    """How one language speaks of them: whose it is, what it is, and `is`."""

    whose: str
    single: str
    secret: str
    equals: str
    leads: bool = True
    """Qualifiers stand before the noun (`monthly budget`), or behind it (`budget mensile`)."""

    def pattern(self, noun: str, value: str) -> re.Pattern[str]:
        """Return the pattern of a statement that gives one of these things a value."""
        before, behind = (_QUALIFIED, r"(?: (?:for|of|on|at|für|bei) [\w' -]{1,40}?)?") if self.leads else ("", _BEHIND)
        return re.compile(
            rf"^{self.whose}(?P<what>{before}(?:{noun}){behind}){self.equals}(?P<value>{value})$", re.IGNORECASE
        )


_BEHIND = r"(?: [\w'-]+){0,4}?"
_NOW = r"(?: (?:now|ora|adesso|ahora|maintenant|jetzt))?"
_CODES = r"iban|pin|password|username|login|nickname|account|token"

LANGUAGES = (
    Names(
        r"(?P<user>my|(?:the )?user's) (?:new |current )?",
        r"blood (?:type|group)|budget|height|weight|(?:shoe|dress|ring|trouser|shirt|hat|glove) size|size|salary|income"
        r"|rent|star sign|marital status|currency|nickname|(?:daily |time |speed |spending )?limit|deadline",
        rf"{_CODES}|passcode|passphrase|user name|(?:licen[cs]e |number )?plate|handle"
        r"|(?:pin |zip |post |postal |door )?code|(?:[\w-]+ )?(?:key|id)"
        r"|(?:passport|account|card|licen[cs]e|tax|policy|membership|serial) number",
        rf"{_NOW}(?: is| has changed to| changed to| =|:){_NOW}:? ",
    ),
    Names(
        r"(?P<user>(?:il |la |l'|i |le )?mi[aoe]i? |(?:il |la |l'))(?:nuov[oa] )?",
        r"gruppo sanguigno|budget|altezza|peso|taglia|numero di scarpe|stipendio|reddito|affitto|segno zodiacale"
        r"|stato civile|valuta|soprannome|limite|scadenza",
        rf"{_CODES}|nome utente|parola d'ordine|targa|chiave|codice(?: fiscale| postale)?"
        r"|numero (?:di conto|della carta|del passaporto)|identificativo",
        rf"(?: dell'utente)?{_NOW} (?:è|=){_NOW}:? ",
        leads=False,
    ),
    Names(
        r"(?P<user>mi )(?:nuev[oa] )?",
        r"grupo sanguíneo|presupuesto|altura|peso|talla|sueldo|salario|alquiler|límite",
        rf"{_CODES}|contraseña|usuario|clave|código|matrícula",
        rf"{_NOW} (?:es|=){_NOW}:? ",
        leads=False,
    ),
    Names(
        r"(?P<user>mon |ma )(?:nouve(?:au|lle) )?",
        r"groupe sanguin|budget|taille|poids|pointure|salaire|loyer|limite",
        rf"{_CODES}|mot de passe|identifiant|clé|code|pseudo|plaque",
        rf"{_NOW} (?:est|=){_NOW}:? ",
        leads=False,
    ),
    Names(
        r"(?P<user>meine? )(?:neuer? |neues )?",
        r"blutgruppe|budget|größe|gewicht|schuhgröße|gehalt|miete|limit",
        rf"{_CODES}|passwort|kennwort|benutzername|schlüssel|lizenzschlüssel|code|kennzeichen",
        rf"{_NOW} (?:ist|lautet|=){_NOW}:? ",
    ),
)
_LITERAL = r"(?!(?:not|non|no|nicht|pas)\b)(?:[^\s\"']\S*|\"[^\"]+\"|'[^']+'|(?=\D*\d)\S{1,8}(?: \S{1,8}){1,9})"
"""One word, something in quotes, or short groups with a figure among them."""
NAMES_A_SECRET = re.compile(
    rf"\b(?:{'|'.join(names.secret for names in LANGUAGES)})(?: [\w' -]{{1,40}}?)?"
    r"(?: (?:is|è|es|est|ist|lautet)| ?[:=]) ?\S",
    re.IGNORECASE,
)
"""That a key, a password or a handle is given, whoever it belongs to: case counts there."""
SECRETS = [names.pattern(names.secret, _LITERAL) for names in LANGUAGES]
SINGLES = [names.pattern(names.single, ".+") for names in LANGUAGES]
