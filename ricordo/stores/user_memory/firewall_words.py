"""The words by which one asserts, asks, orders, agrees, and wants something forgotten.

English and Italian, with the commonest words of Spanish, French, German and Chinese.
"""

import re

from ricordo.stores.user_memory.claim_words import any_of, phrases


def _begins(text: str) -> str:
    return rf"^\W*{phrases(text)}"


CODE = re.compile(r"```.*?(?:```|\Z)|^[^\S\n]*+>.*?(?:\n[^\S\n]*+\n|\Z)", re.DOTALL | re.MULTILINE)
"""What is pasted between fences, or quoted up to the next empty line."""

OPENERS = any_of(
    r"^(?:(?:no|nope|yes|yeah|yep|ok|okay|well|actually|so|and|hi|hello|sì|beh|allora|ciao|oui|non|ja|nein)[,.!] *)+"
)
"""How a message begins; it says nothing."""

REMEMBERS = any_of(
    phrases(r"""
        from now on|in future|d'ora in poi|d'ora in avanti|a partir de ahora|désormais|dorénavant|ab jetzt
        remember|memori[sz]e|note|keep in mind|bear in mind|make a note|write down|don't forget|do not forget
        ricorda\w*|memorizza\w*|annota\w*|tieni a mente|prendi nota|segnati|non dimenticare
        recuerda|apunta|souviens|retiens|note[zr]|merke?|notiere?
    """),
    "记住|記住|记下",
)
"""That something is to be remembered, or holds from now on: it is a statement even as a question or a request."""

REQUESTS = any_of(
    _begins(r"""
        (?:please |can you |could you |would you |will you )*(?:what|who|whom|whose|when|where|which|why|how)(?:'s|'re)?
        is|are|am|was|were|do|does|did|can|could|should|would|will|has|have|had
        (?:please )?(?:tell|show|summari[sz]e|explain|find|search|look|read|translate|list|give|get|fetch|save|download)
        (?:please )?(?:describe|compare|check|recall|help|open|answer)
        (?:please )?(?:book|buy|order|reserve|plan|suggest|recommend|write|send|make|draft|schedule|prepare|create|call)
        (?:per favore |puoi |potresti )*(?:che|chi|cosa|quando|dove|quale|quali|perché|come|quanto|quanti)
        (?:per favore |puoi |potresti )*(?:dimmi|mostra\w*|riassum\w*|spiega\w*|cerca\w*|trova\w*|leggi\w*|traduc\w*)
        (?:per favore |puoi |potresti )*(?:elenca\w*|dammi|scarica\w*|salva\w*|descriv\w*)
        (?:per favore |puoi |potresti )*(?:prenota\w*|compra(?:mi|re|ci)?|ordina\w*|organizza\w*|consiglia\w*)
        (?:per favore |puoi |potresti )*(?:suggerisci\w*|scrivi\w*|manda\w*|prepara\w*)
        qué|quién|cuándo|dónde|cuál|dime|muestra|resume|busca|qui|quand|où|dis|montre|résume|cherche
        wer|wann|wo|welche\w*|zeig|suche?
    """)
)
"""How a sentence begins that asks for something and states nothing."""

ASSENTS = re.compile(
    r"(?:(?:yes|yeah|yep|sure|ok|okay|of course|please do|please|go ahead|do it|do that|correct|exactly|right|thanks|"
    r"thank you|sì|si|certo|va bene|d'accordo|esatto|fallo|grazie|sí|claro|vale|oui|bien sûr|ja|klar|gerne|"
    r"好|好的|是|是的|对)[\s,.!]*)+",
    re.IGNORECASE,
)
"""A whole message that says yes."""

DIRECTS = any_of(
    r"^\W*(?:system|note|important|remember|attention)\s*:",
    _begins(r"""
        (?:please )?(?:always|never|do not|don't|must|remember|ignore|disregard|forget|send|mail|e-?mail|forward|copy)
        (?:please )?(?:cc|bcc|reply|answer|respond|use|call|delete|run|execute|visit|open|click|pay|transfer|store|save)
        (?:please )?(?:keep|obey|follow|make sure|ensure|be sure|start|stop|avoid|prefer|share|upload|post|write)
        sempre|mai|non|devi|ricorda\w*|ignora\w*|dimentica\w*|invia\w*|manda\w*|inoltra\w*|rispondi\w*|usa\w*|chiama\w*
    """),
    phrases(r"""
        (?:always|never) (?:\w+ )?(?:send|mail|forward|copy|cc|reply|answer|use|call|obey|follow|include|share|upload)
        (?:you|the (?:assistant|agent|ai|model|system)|ricordo) (?:must|should|shall|ha(?:ve|s) to|needs? to|may not)
        (?:you|the (?:assistant|agent|ai|model|system)|ricordo) (?:are to|is to|will)
        from now on|ignore (?:all|any|the|previous)|instructions?|(?:must|should|ha(?:ve|s) to) be
        (?:everything|all (?:e-?mails?|mails?|messages|files|data)) (?:\w+ )?to
        devi|dovete|deve|bisogna|d'ora in poi|tutte le (?:e-?mail|mail)
        debes|siempre envía|a partir de ahora|tu dois|il faut|du musst|ab jetzt
    """),
    "必须|总是|永远不要",
)
"""That a statement says what is to be done."""

ASSIGNS = any_of(
    phrases(r"""
        (?:user|he|she|they|owner|customer|client)(?:'s)? (?:\w+ )?(?:wants?|wishes|would like|ask(?:s|ed)?|prefer\w*)
        (?:user|he|she|they|owner|customer|client)(?:'s)? (?:\w+ )?(?:requir\w+|request\w*|instruct\w*|needs?|likes?)
        (?:user|he|she|they|owner|customer|client)(?:'s)? (?:\w+ )?(?:loves?|hates?|dislikes?|agree\w*|approve\w*)
        (?:user|he|she|they|owner|customer|client)(?:'s)? (?:\w+ )?(?:authori[sz]e\w*|allow\w*|permit\w*|consent\w*)
        (?:utente|cliente) (?:\w+ )?(?:vuole|desidera|vorrebbe|chiede|ha chiesto|preferisce|richiede|ama|odia)
        (?:usuario|utilisateur|nutzer|benutzer) (?:quiere|prefiere|pide|veut|préfère|demande|will|möchte|bevorzugt)
    """),
    "用户(?:想|要|喜欢|希望|要求)",
)
"""That a statement says what the user wants."""

_FORGET = r"(?:forget|unremember|dimentic\w+|scorda\w*|olvid\w+|oubli\w+|vergiss\w*|vergesst|vergessen)"
FORGETS = any_of(
    rf"\b{_FORGET}\b",
    phrases(r"""
        (?<!\bi )(?<!\bwe )(?:don't|do not|stop|never) (?:remember|remembering|keep|keeping|store|storing)
        (?:want you to|you (?:should|must|may)) (?:no longer|not|stop|never) (?:know|remember|keep|store)\w*
        (?:non|smetti di) ricordar\w*
    """),
    "忘记|忘掉|忘了",
)
"""That something is to be forgotten."""

KEEPS = any_of(
    r"\b(?:don't|do not|never|not|non|no|ne|nicht|can't|cannot|won't|didn't)\s+(?:ever\s+|to\s+|mai\s+|te\s+|ti\s+)?"
    rf"{_FORGET}\b",
    "(?:别|不要|不)忘",
)
"""The opposite: that something is not to be forgotten."""

REMOVES = any_of(
    phrases(r"""
        delet\w+|remov\w+|eras\w+|drop|discard|clear|wip(?:e|ing)|purge|scrap
        cancell\w+|elimin\w+|rimuov\w+|togli\w*|borr\w+|effac\w+|supprim\w+|lösch\w+|entfern\w+
        (?:no longer|not|isn't|aren't) (?:true|right|correct|the case|valid)|is (?:wrong|outdated|false)
        non è (?:più )?(?:vero|corretto|valido)|è sbagliat\w+
    """),
    "删除|删掉|清除",
)
"""That something is to go, or is wrong: of a memory it means the same, of a file it does not."""

ENDS = any_of(
    phrases(r"""
        done|finished|completed?|(?:is|are|was|'s|were|now) (?:\w+ )?(?:over|off|past|settled|behind (?:me|us))
        cancell?ed|called off|dealt with|taken care of|tick\w* off|cross\w* off|over and done|fell through
        (?:took|has taken|have taken) place|(?:no longer|not) (?:needed|necessary|on)|wrapped up
        fatt[oaie]|finit[oaie]|conclus[oaie]|completat[oaie]|annullat[oaie]|saltat[oaie]|sbrigat[oaie]|disdett[oaie]
        cancellat[oaie]|passat[oaie]|non serve più|terminat[oaie]
        hech[oa]s?|terminad[oa]s?|acabad[oa]s?|cancelad[oa]s?|anulad[oa]s?
        fini(?:e|s|es)?|terminée?s?|annulée?s?|faite?s?|passée?s?
        erledigt|fertig|vorbei|abgesagt|abgeschlossen|geschafft|ausgefallen
    """),
    "完成了?|做完|办完|取消|结束|搞定",
)
"""That a task or an event is done, over or off."""

GOES_ON = any_of(
    r"\b(?:not|never|isn't|aren't|wasn't|weren't|hasn't|haven't|nearly|almost|half|non|nicht|noch|pas|todavía no|no)\s+"
    r"(?:\w+\s+){0,2}?(?:done|finished|completed?|over|off|cancell?ed|settled|fatt[oaie]|finit[oaie]|conclus[oaie]|"
    r"completat[oaie]|annullat[oaie]|terminat[oaie]|hech[oa]|terminad[oa]|fini|terminé|annulé|erledigt|fertig|vorbei)\b",
    r"\b(?:will|shall|must|should|to|has to|have to|gets?|until|when|once|if)\s+(?:\w+\s+){0,3}?"
    r"(?:be|get|is|are|been)?\s*(?:done|finished|completed?|over)\b",
    "(?:没|未|没有|還沒|还没)(?:完成|做完|办完|取消|结束)",
)
"""The opposite: that it is still to come."""

ALL_OF_IT = any_of(
    phrases(r"""
        everything|all (?:of )?(?:it|that|them|my|the|your|memor\w+|about me|you know)|all(?=\W*$)
        tutto|tutti i|tutte le|todo|tout|alles
    """),
    "全部|所有|一切",
)
"""That no memory in particular is meant."""

THIS_ONE = any_of(
    r"\b(?:it|that|this|them|those|these|the last one|quello|quella|questo|questa|ciò|eso|esto|ça|cela|das|es)"
    r"(?=\s*(?:[.!?,;]|please\b|now\b|again\b|per favore\b|one\b|memory\b|$))",
    r"\b(?:dimentica|scorda|scordate|cancella|elimina|rimuovi|togli|olvída|bórra)(?:lo|la|li|le)\b|它|这个|那个",
)
"""That a memory is meant of which was just spoken."""

IT_IS = re.compile(
    r"(?:^|[.,;!?] )\W*(?:it|that|this|they|those|quello|quella|questo|questa|eso|esto|ça|cela|c'est|das|es)"
    r"(?:'s|'re| is| are| was| has| have| è| sono| ist| est| fue)?\b(?! \w+ (?:is|are|was|has|è|ist|est)\b)"
    r"|^\W*\w+[.!]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""That what ends is what was just spoken of: *it is done*, *done!*"""

MEMORY = any_of(
    phrases(r"""
        memor(?:y|ies|ia|ie)|mémoire|ricord[oi]|remember\w*|gedächtnis|recuerdos?
        (?:what|everything|anything|all)(?: that)? (?:you|u) (?:still )?(?:know|have|keep|kept|stored|saved|noted)
        (?:what|everything|anything|all)(?: that)? i(?:'ve| have)? (?:ever )?(?:told|said|mentioned)
        (?:quello|ciò|quanto|tutto quello|tutto ciò)? ?che (?:sai|hai (?:salvato|memorizzato)|(?:ti )?ho detto)|cosa sai
        lo que sabes|ce que tu sais|was du (?:\w+ ){0,4}weißt
    """),
    "记忆|你知道的",
)
"""That memory is spoken of."""
