"""Words: how text is split, folded and stemmed, the same in PostgreSQL's term tables and in process.

Terms are made here and never by PostgreSQL, so that every ranking sees the same words whatever the server's locale
and dictionaries are.
"""

import hashlib
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterator
from datetime import date
from functools import cache, lru_cache

import Stemmer

K1 = 0.9
"""BM25: how soon a repeated word stops to add to the score."""
B = 0.4
"""BM25: how much a long unit is held back."""

_LONGEST = 40
"""Characters of a term; a longer word (base64, a hash) keeps its head and a digest: an index row is small."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff\u0e00-\u0e7f"
"""Scripts written without spaces between words, and Hangul, whose words carry their particles."""
_WORD = re.compile(rf"(?P<cjk>[{_CJK}]+)|(?P<word>(?:(?![{_CJK}])[^\W_]|[\u0900-\u0963\u0966-\u0dff])+)")
_MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed]")
"""Accents and vowel points that people leave out. Indic vowel signs are letters and stay."""
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])")
_CLITIC = re.compile(r"(?<=[^\W_])['\u2019](?:s|m|d|t|re|ve|ll)\b", re.IGNORECASE)

_STOP_WORDS = """
    a about after again all also am an and any are aren as at be because been before being between both but by can
    cannot could couldn d did didn do does doesn doing don down during each few for from further had hadn has hasn have
    haven having he her here hers herself him himself his how i if in into is isn it its itself just ll m me more most
    my myself no nor not of off on once only or other our ours ourselves out over own re s same shall she should
    shouldn so some such t than that the their theirs them themselves then there these they this those through to too
    under until up us ve very was wasn we were weren what when where which while who whom whose why will with won would
    wouldn you your yours yourself yourselves"""
_STOP = frozenset(_STOP_WORDS.split())

_ASKING_WORDS = """
    hello hi hey thanks thank ok okay yes bye ciao grazie buongiorno salve hola gracias hallo danke bonjour merci
    name names named call called calls know knows tell told say said please give make find show remember recall
    everything anything something list thing things like likes love loves want wants need prefer prefers preferred
    preference preferences favourite favorite best fact facts memory memories note notes profile user usually
    always never nome chiama chiamano chiamato chiamata il lo la gli le l un uno una di del della dello dei delle
    degli da dal dalla in nel nella nei con su sul sulla per tra fra e ed o ma che chi cosa quale quali qual
    quando dove come perché mio mia miei mie mi me ti ci si ne io tu lui lei noi voi loro è sono sei ho hai ha
    abbiamo hanno era stato questo questa quello quella non più sai sapere dimmi detto dici ricordi ricorda tutto
    qualcosa elenca mostra trova dammi piace piacciono preferisco preferito preferita preferiti preferite
    preferisce voglio vorrei utente sempre el los las de y pero que qué quién cuál cuándo dónde cómo por para mis
    te se yo soy es son tengo sabes dime todo gusta gustan favorito favorita quiero no nom appelle appelles les
    des du au aux et ou mais qui quel quelle quand où comment pourquoi mon mes je j elle est suis ai dans sur avec
    pour pas sais dis tout aime préféré préférée préfère veux heißt heisst der die das den dem ein eine einen und
    oder aber was wer wie wo wann warum welche welcher mein meine meinen mir mich ich ist bin sind habe hat im am
    zu von mit für auf nicht weißt sag alles mag liebe lieblings gern will möchte 用户 我的 什么 我在 喜欢"""
"""How people greet, ask, and say that they like something, with the function words of other languages."""

# Not strftime, which speaks the locale's language.
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_stemmer = threading.local()


@lru_cache(maxsize=2**16)
def _term(word: str) -> str | None:
    """Fold and stem a word; None for a function word."""
    folded = _MARKS.sub("", word.casefold())
    if not folded or folded in _STOP:
        return None
    # A stemmer keeps a buffer and must not be shared between threads.
    if not hasattr(_stemmer, "english"):
        _stemmer.english = Stemmer.Stemmer("english")
    term = str(_stemmer.english.stemWord(folded))
    if len(term) <= _LONGEST:
        return term
    digest = hashlib.blake2b(term.encode(), digest_size=6).hexdigest()
    return f"{term[: _LONGEST - len(digest) - 1]}~{digest}"


def is_function_word(word: str) -> bool:
    """Tell whether a word in small letters is one that terms leave out.

    >>> is_function_word("from"), is_function_word("town")
    (True, False)
    """
    return word in _STOP


def _split(text: str) -> Iterator[str]:
    bare = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", text)))
    for match in _WORD.finditer(_CLITIC.sub("", bare)):
        run = match["cjk"]
        if run is not None:
            yield from (run[i : i + 2] for i in range(max(len(run) - 1, 1)))
            continue
        for part in _CAMEL.split(match["word"]):
            # The cache is for the words of a language, not for whatever is pasted.
            term = _term(part) if len(part) <= _LONGEST else _term.__wrapped__(part)
            if term is not None:
                yield term


def terms(text: str) -> Counter[str]:
    """Count the terms of a text.

    Words are split at case and punctuation (`getUserName`, `math.factorial`, `snake_case`), folded (case, accents,
    width), stemmed as English and stripped of English function words. Scripts without spaces give pairs of characters.

    Args:
        text: Any text, of any length.

    Returns:
        Each term, at most 40 characters long, with how often it occurs.

    >>> sorted(terms("Running to getUserName; 東京都"))
    ['get', 'name', 'run', 'user', '京都', '東京']
    """
    return Counter(_split(text))


def topical(counted: Counter[str]) -> frozenset[str]:
    """Return the terms that say what a text is about, without those of asking, of liking, and of everywhere.

    >>> sorted(topical(terms("What do you know about my favourite opera composer?")))
    ['compos', 'opera']
    """
    return frozenset(counted) - _asking()


@cache
def _asking() -> frozenset[str]:
    return frozenset(terms(_ASKING_WORDS))


def date_words(day: date) -> str:
    """Write a day in the words that people ask for it with.

    >>> date_words(date(2023, 5, 7))
    '7 May 2023, Sunday'
    """
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}, {_DAYS[day.weekday()]}"
