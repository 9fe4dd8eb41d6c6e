"""The words that the offline model knows by itself: everything else it learns from the tools' own descriptions.

English and Italian, with the commonest words of a few other languages; the embedding model bridges the rest.
"""

REQUESTS = {
    "answer": (
        "When was the lighthouse lit?",
        "How does the method work?",
        "How does Toolformer learn to call tools?",
        "Why did the authors choose this design?",
        "Who is Maria Rossi?",
        "What is LangGraph?",
        "What is virtual memory?",
        "What does the document say about costs?",
        "What did the experiment show about sleep?",
        "What happens when the window is full?",
        "How many people took part?",
        "Where did Anna go on holiday?",
        "Give me the number of participants",
        "Which datasets were used?",
        "Is the bridge still open?",
        "When was the article published?",
        "Quando fu acceso il faro?",
        "Come funziona il metodo?",
        "Chi è Alice?",
        "Che cos'è il quantum computing?",
        "Quante persone hanno partecipato?",
        "Cosa dice il paper sui costi?",
    ),
    "overview": (
        "What are the main key takeaways from the paper",
        "What is the paper about?",
        "What are the key findings of Mamba?",
        "Give me the main points of the article",
        "Summarize the paper",
        "Explain the document to me",
        "What does it conclude?",
        "Quali sono i punti principali dell'articolo?",
        "Di cosa parla il paper?",
        "Riassumi il documento",
    ),
    "history": (
        "What was my first question?",
        "What did I ask you before?",
        "Which question did I start with?",
        "How did our conversation begin?",
        "What was the last thing I said?",
        "What did I ask about the harbour?",
        "What did we say about costs earlier?",
        "What did you answer to my second question?",
        "What have we talked about?",
        "Qual è stata la mia prima domanda?",
        "Che cosa ti ho chiesto all'inizio?",
        "Cosa mi hai risposto prima?",
    ),
    "help": (
        "What can you do?",
        "Help",
        "How do I use this?",
        "Which tools do you have?",
        "Cosa puoi fare?",
        "Aiuto",
        "Quali strumenti hai?",
        "你能做什么？",
    ),
    "talk": (
        "Hello",
        "Hi, how are you?",
        "Thanks a lot",
        "Good morning",
        "Goodbye",
        "ok",
        "Nice to meet you, I'm Luca",
        "Who are you?",
        "Ciao, come stai?",
        "Grazie mille",
        "Buongiorno",
    ),
}
"""What a request can be beside a wish for a tool. They compete with the tools' examples."""

NOTICES = {
    "en": {
        "offline": "(I am offline: I quote, and add nothing of my own.)",
        "memory": "Word for word:",
        "conversation": "From this conversation, word for word:",
        "result": "From {tool}:",
        "failed": "{tool} failed:",
        "missing": "For {tool} I still need: {what}. Which is it?",
        "nothing": "I found nothing about this in memory.",
        "talk": "I am offline, so I cannot chat: I can find, save, recall and quote. Ask for a document or about one.",
        "help": "I find, save, remember and quote; I am offline, so I add nothing of my own. Try:\n"
        "- Find a paper: find the paper Mamba\n- Tell me about yourself: I live in Rome\n"
        "- Ask about what you told me or stored: where do I live?",
    },
    "it": {
        "offline": "(Sono offline: cito e non aggiungo nulla di mio.)",
        "memory": "Parola per parola:",
        "conversation": "Da questa conversazione, parola per parola:",
        "result": "Da {tool}:",
        "failed": "{tool} non è riuscito:",
        "missing": "Per {tool} mi serve ancora: {what}. Qual è?",
        "nothing": "In memoria non ho trovato nulla su questo.",
        "talk": "Sono offline e non so conversare: posso cercare, salvare, ricordare e citare. Chiedi di un documento.",
        "help": "Cerco, salvo, ricordo e cito; sono offline e non aggiungo nulla di mio. Prova:\n"
        "- Trovare un articolo: trova il paper Mamba\n- Dirmi di te: vivo a Roma\n"
        "- Chiedere di quello che mi hai detto o che è salvato: dove vivo?",
    },
}
OWN_WORDS = frozenset(text for notices in NOTICES.values() for text in notices.values())


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ITALIAN = _words(
    """l il lo la gli le un una di del della dello
    dei delle dell al alla nel nella sul sulla che chi è sono mi ti mia mio
    cosa qual quale quali quando come dove perché quanti quante puoi ciao grazie per con fai dimmi ho hai"""
)
"""A request that holds more of these than of `FUNCTION`'s other words is answered in Italian."""

ARTICLES = _words(
    """a an the of on about for from in into to at by with that which this these those called titled named entitled is
    il lo la i gli le l un uno una di del dello della dell dei degli delle da dal al allo alla nel nella sul sullo sulla
    su sui che chiamato intitolato per con el los las une des du les der die das den dem sobre sur über von zu auf pour
    por me us mi ci moi mir all some any up out"""
)
"""Words between the verb of a request and its object."""
NAMING = _words("called titled named entitled is si chiama chiamato intitolato dal titolo appelé nommé llamado namens")
THAT = NAMING | _words("that che que dass qui")
"""After these the object begins at once, whatever its first word is."""

FUNCTION = ARTICLES | _words(
    """i u you he she it we they my your our m s t don dont re ll d ve im can could would will may might should shall
    do does did have has had like there let just also now then and or so if what who where when how why be next one
    ones io tu puoi potresti devi cosa chi quale quali ho hai ha abbiamo avevo avevi era è stata stato sono può
    favore ti ne se e ed o anche ora poi quel quello quella questo questa puedes este esta peux pouvez ce cet cette
    te kannst du ich mir bitte dieses"""
)

INTENT = _words(
    """get find search look looking fetch give show tell read see bring pull seek locate save store keep download ingest
    add put insert load remember note remind forget delete remove recall summarize summarise expand open list please
    kindly paper papers article articles preprint document documents pdf file text content contents copy study research
    web internet online arxiv google knowledge base kb using use make want need know vorrei voglio quiero veux
    cerca cercami cerco trova trovami trovare prendi prendimi prendere dammi mostra mostrami leggi leggere salva salvare
    memorizza scarica scaricare aggiungi metti inserisci ricorda ricordati ricordare nota dimentica cancella riassumi
    articolo articoli documento documenti testo contenuto contenuti base conoscenza rete ricerca servirebbe serve
    usando usa usare esiste
    busca buscar encuentra guarda artículo articulo trouve trouver cherche enregistre article contenu
    finde finden suche such speichere artikel inhalt"""
)
"""Verbs and nouns by which people ask for things: they are not what is asked for."""

TOPIC = _words("on about su sul sullo sulla sull sui sugli sobre sur über zu")
"""After these the topic begins, unless they lead to a place."""
WHERE = _words("on in into to from at nel nella nei nello al alla dal dalla su sul sulla sull en sur dans auf im")
"""Words that lead to a place to look in or to put into."""
PLACES = _words("web internet online rete net arxiv google knowledge kb base your my mio tuo")
KINDS = _words(
    "paper papers article articles document documents pdf preprint articolo articoli documento artículo artikel"
)
"""What a thing is, said behind its name: the Voyager paper."""

SUBJECTS = KINDS | _words(
    "arxiv web internet online rete google preprints url http https www news notizie pubblicazione"
)
SUBJECTS_UNSPACED = ("论文", "文章", "网上", "互联网", "网络", "新闻", "://")
"""What a tool that asks others is asked about; unless one of these is named, nothing leaves the machine."""

QUESTIONS = _words(
    """what which who whom whose when where why how is are was were does did che cosa chi quale quali qual quando dove
    perché come quanto quanti quante qué quién cuál cuándo dónde qui que quoi quel quelle quand où wer wann wo wie"""
)

COURTESY = _words("please thanks thank you kindly favore per grazie cortesia for me us")

_ORDINAL_WORDS = {
    0: "first 1st beginning begin start started initial initially prima primo inizio iniziato primera primer primero "
    "première premier erste ersten",
    1: "second 2nd seconda secondo segunda segundo deuxième zweite zweiten",
    2: "third 3rd terza terzo tercera tercer troisième dritte dritten",
    3: "fourth 4th quarta quarto",
    4: "fifth 5th quinta quinto",
    -1: "last latest previous ultima ultimo precedente última último dernière dernier letzte letzten",
}
ORDINALS = {word: place for place, said in _ORDINAL_WORDS.items() for word in said.split()}
"""Places in a list, counted from 0; -1 is the last."""
NUMBERS = {
    word: number
    for said in ("two three four five six seven eight nine ten", "due tre quattro cinque sei sette otto nove dieci")
    for number, word in enumerate(said.split(), 2)
}
SPEAKING = _words(
    """ask asked asking say said saying tell told talk talked speak spoke discuss discussed request requested question
    questions message messages conversation chat thing things word words answer answered reply replied response earlier
    before chiesto detto dicevo parlato discusso domanda domande domandato richiesta messaggio messaggi conversazione
    parole risposta risposto prima inizio pregunta preguntas question frage fragen"""
)
"""Words of questions on the conversation itself: they are not what it was about."""
MODAL = _words(
    "can could would will may please puoi potresti mi vorrei voglio puedes peux pouvez kannst bitte i'd want need"
)
TELLING = _words("remember note mind ricorda ricordati nota memory save")
"""Verbs by which the user tells something: what follows them is a fact, and no question."""
BY_ASSISTANT = _words("answer answered reply replied response risposta risposto rispondi respuesta réponse antwort")
"""Words that ask for what the assistant said; without them a question on the conversation is about the user's words."""
