"""The words by which a statement takes sides: liking, dislike, negation, and those that add nothing to it.

English and Italian, with the commonest words of Spanish, French, German and Chinese. Patterns run over text in small
letters whose contractions are written out (`can't` is `can not`).
"""

import re
from collections.abc import Iterable


def any_of(*patterns: str) -> re.Pattern[str]:
    """Return a pattern of several."""
    return re.compile("|".join(patterns), re.IGNORECASE)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def phrases(text: str) -> str:
    """Return a pattern for phrases as whole words, one or several (`|`) a line, each a pattern of its own."""
    lines: Iterable[str] = (line.strip() for line in text.strip().splitlines())
    return rf"\b(?:{'|'.join(lines)})\b"


CONTRACTIONS = (
    (re.compile(r"\b(?:ca|can)n't\b|\bcannot\b|\bcan't\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"n't\b", re.IGNORECASE), " not"),
    (re.compile(r"\bi'm\b", re.IGNORECASE), "i am"),
    (re.compile(r"(?<=\w)'re\b", re.IGNORECASE), " are"),
    (re.compile(r"(?<=\w)'ve\b", re.IGNORECASE), " have"),
    (re.compile(r"(?<=\w)'s\b", re.IGNORECASE), ""),
    (re.compile(r"\bn'", re.IGNORECASE), "ne "),
    (re.compile(r"\bne\b(.{0,80}?)\bplus\b", re.IGNORECASE), r"\1 jamais "),
    (re.compile(r"\bnot (?:only|just|merely)\b", re.IGNORECASE), ""),
    (SPELLING := re.compile(r"\b(favo|colo|flavo|neighbo|behavio|humo|hono|labo)ur", re.IGNORECASE), r"\1r"),
)
"""What is written out or evened out before anything is looked for."""

PREAMBLE = any_of(
    r"^(?:please )?(?:remember|note|keep in mind|ricorda(?:ti)?|nota|tieni a mente)\b(?: that| che)?\s*:?\s*",
    r"^(?:the )?user (?:says|said|states|stated|mentions|mentioned|reports|reported)(?: that)?(?: (?:he|she|they))?\b",
    r"^l'utente (?:dice|ha detto|afferma|riferisce) (?:che|di)\b",
)
"""How a statement is introduced; it says nothing of its own."""

LIKES = any_of(
    phrases(r"""
        loves?(?: to)?|loved(?: to)?|adores?|adored|likes(?: to)?|liked(?: to)?|enjoys?|enjoyed
        (?<!look )(?<!looks )(?<!sound )(?<!sounds )(?<!feel )(?<!feels )(?<!be )(?<!is )(?<!are )(?<!was )like(?: to)?
        (?<=stopped )(?:liking|loving|enjoying)|fond of|keen on|(?:a )?(?:big |huge )?(?:fan|lover)(?: of)?
        (?:crazy|mad|passionate) about
        (?<=am )into|(?<=is )into|(?<=not )into|(?<=really )into|(?<=longer )into
        am[oai]|amano|ador[oaie]|piac(?:e|ciono|eva|evano)|vad[oa] pazz[oa] per|va pazz[oa] per|appassionat[oa] di
        sopport[oaie]|sopportare|toller[oaie]
        gustan?|encantan?|soport[oae]|aguant[oae]
        aimes?|aiment|adores|appr[eé]cie|supporte
        liebe|liebt|mag|m[oö]gen|gerne?|ausstehen
    """),
    "喜欢|喜歡|热爱|(?<!可)爱|愛",
)
"""That somebody likes or bears something."""

DISLIKES = any_of(
    phrases(r"""
        hates?(?: to)?|hated|hating|dislikes?|disliked|detests?|loathes?|despises?|abhors?|averse to
        (?:can|could) not (?:\w+ )?(?:stand|bear|abide|tolerate|take)
        (?:sick|tired|weary|bored) (?:and tired )?(?:of|with|by)|fed up with|had enough of|(?:gone|went) off
        odi[oa]?|odiano|detest[oaie]|disgust[oa]|(?:mi |gli |le )?f(?:a|anno) schifo|stuf[oa] di|stanc[oa] di
        hass(?:e|t)|verabscheu(?:e|t)|d[eé]testes?|hais|hait
    """),
    "讨厌|討厭|厌恶|恨|受不了",
)
"""That somebody does not like something."""

NEGATIONS = any_of(
    phrases(r"""
        not|no longer|no more|never|neither|nor|none|nothing|nobody|no(?= \w)
        (?:has |have |had )?(?:stopped|quit|ceased|gave up|given up)|(?<!be )(?<!is )(?<!am )(?<!are )(?<!get )used to
        non|mai|nessun[oa]?|niente|(?:ha |ho )?smesso di
        nunca|jam[aá]s|ya no
        pas|jamais
        nicht|kein\w*|niemals|nie
    """),
    "不再|不|没有|沒有|没",
)
"""That a statement does not hold, or no longer."""

FLUFF = any_of(
    phrases(r"""
        a lot|lots|very much|so much|at all|any ?more|any longer|these days|at the moment|right now|as well
        (?:has |have )?(?:started|began|begun|come|came|grown|grew|learn(?:ed|t)) to(?= (?:like|love|hate|enjoy))
        per niente|affatto|al momento|du tout|no s[oó]lo
    """),
    "现在|非常|很|了|的",
)
"""Phrases that add nothing to what is stated."""

NOTHING = _words(
    """now nowadays currently really very much so quite totally absolutely truly deeply again still just lately actually
    definitely also too always anymore do does please
    ora adesso ormai davvero molto molta tanto proprio veramente anche ancora attualmente sempre più
    tantissimo moltissimo ahora muy mucho realmente también todavía maintenant très beaucoup vraiment toujours encore
    jetzt sehr wirklich mehr
    a an the this that these those il lo la l i gli le un uno una el los las les der das ein eine
    user users utente usuario utilisateur nutzer benutzer io ich je j yo me my mine mio mia miei mie mi ti ci si ne s
    his her their its him them it lui lei loro ça es ello lo
    用 户 用户 我 他 她"""
)
"""Words that a statement is the same without: intensity, articles, and the user as its subject."""

OTHERS = _words("he she they we it lui lei loro noi él ella ellos nosotros elle ils nous er sie wir")
"""At the beginning of a statement: somebody else, or one does not know who."""

HELPERS = _words("be have do can could get to è ha ho sono di a")
"""Beside liking and dislike they say nothing."""

LEMMAS = {
    **dict.fromkeys(("is", "am", "are", "been", "being"), "be"),
    **dict.fromkeys(("has", "having"), "have"),
    "were": "was",
}

SPLIT = re.compile(
    r"(?P<end>[.;!?](?=\s|$)|[。；！？])|(?P<but>\b(?:but|while|whereas|ma|però|mentre|pero|mais|aber|sondern)\b|但是?)"
    r"|(?P<and>,(?=\s|$)|[，、]|(?<![\w'@.-])(?:and|or|e|ed|o|y|et|ou|und|oder)(?![\w'@+#-]|\.\w))"
)
"""Where one part of a statement ends: for good, by contrast, or by going on."""

FUNCTION_WORDS = {
    "italian": _words(
        "il lo la gli le un una di del della che è e non mi si ha ho sono per con al alla nel dell l utente"
    ),
    "spanish": _words("el los las un una de del que es y no me se ha he son por con al en usuario"),
    "french": _words("le la les un une de du des que est et ne pas me se a ai sont pour avec au à utilisateur l j"),
    "german": _words("der die das ein eine und ist nicht ich mich sich hat habe sind für mit dem den nutzer benutzer"),
    "english": _words("the a an of and is not i my user has have are for with to in on does do that was"),
}
"""By which a statement's language is known, for its stems."""
