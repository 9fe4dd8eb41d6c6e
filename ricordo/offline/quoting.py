"""Answers made of quotations: the sentences of memory and of tool results that answer, with their sources."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import ToolMessage

from ricordo.common.sentences import centrality, relevance, rows, sentences, shortened
from ricordo.common.words import terms
from ricordo.models.embeddings import Embedder
from ricordo.offline.phrases import BY_ASSISTANT, OWN_WORDS
from ricordo.offline.request import Request
from ricordo.offline.seen import Seen, read_blocks, read_json
from ricordo.stores.search.units import covered, make_query
from ricordo.stores.user_memory.fields import agreement

_EMBEDDED = 30
"""Sentences that are compared by meaning."""
_FIELD = 2.0
_APART = 1.0
_SURE = 3.5
"""What a sentence is sure by: likeness in spreads, words, the field of life, how far the next one is behind. Chosen on
questions with and without an answer, see docs/offline.md."""
_BESIDE = 1.0
_MOST = 3
_HEADING = re.compile(r"[^\W\d_]+(?: [^\W\d_]+){0,2}")
_GOES_ON = re.compile(
    r"(?:it|its|she|he|her|his|they|their|this|essa?|lui|lei|questo|questa)\b|[它她他]", re.IGNORECASE
)
_OF_ITSELF = 0.8
"""Weight of a sentence in which a document tells what it is about, beside what its sentences share (0 to 1)."""
_SAME = 0.6
_QUESTION = 4_000  # characters of a question whose words are compared
_WHOLE = 1_500  # characters of a result that is quoted whole
_QUOTED_MESSAGE = 4_000  # characters of a message that is quoted whole
_LISTED = 10
_ENDS = (".", "!", "?", "…", "。", "！", "？", '"', ")")
_LEFT_OUT = {"Workflow"}
_MAIN = re.compile(
    r"\b(we (?:\w+ )?(?:present|propose|introduce|show|find|found|demonstrate|conclude|argue|study|report)\w*|"
    r"(?:in )?this (?:paper|article|work|study|report)|results? (?:show|suggest|indicate)\w*|our \w+ (?:results?|show)|"
    r"conclu\w+|abstract|key|main|contributions?|takeaways?|in summary|"
    r"(?:in )?questo (?:articolo|lavoro|studio)|presentiamo|proponiamo|mostriamo|risultat\w+|principal\w+)\b",
    re.IGNORECASE,
)
_REFERENCE_LIST = re.compile(r"^\[?\d+\]?[. ].*\b(?:19|20)\d\d\b|\bet al\.,? (?:19|20)\d\d|\bdoi\b|arXiv preprint")
_WORDY = re.compile(r"[^\W\d_]{2,}|(?<=[^\W\d_] )\d+(?= [^\W\d_]{2})")
"""A word, or a number that counts one: "I have 3 kids" is a sentence, and a row of figures none."""
_SCRIPT = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]{6,}")


@dataclass(frozen=True)
class Quote:
    """A sentence with its source."""

    text: str
    seen: Seen
    head: str = ""
    """The heading above it."""
    following: str = ""
    """The sentence after it that goes on about the same."""

    def render(self) -> str:
        """Return the line for the answer."""
        return f'- "{self.text}" {self.seen.citation}'


def _without_line_numbers(text: str) -> str:
    """Leave out the line numbers of a manuscript: most of its lines begin with one, and they rise."""
    numbers = [int(n) for n in re.findall(r"(?m)^(\d{1,4}) (?=\S)", text)]
    rises = len(numbers) > 1 and numbers == sorted(set(numbers)) and len(numbers) * 2 > text.count("\n") + 1
    return re.sub(r"(?m)^\d{1,4} (?=\S)", "", text) if rises else text


def _quotes(passages: Sequence[Seen]) -> list[Quote]:
    found: dict[str, Quote] = {}
    for seen in sorted(passages, key=lambda seen: seen.segment != "Knowledge Base"):  # the better source for a sentence
        if seen.segment in _LEFT_OUT or (seen.role == "assistant" and any(own in seen.text for own in OWN_WORDS)):
            continue
        head, spoken_of = "", sentences(_without_line_numbers(seen.text))
        for place, sentence in enumerate(spoken_of):
            wordy = len(_WORDY.findall(sentence)) >= 3 or _SCRIPT.search(sentence)  # noqa: PLR2004 - a sentence has a few
            asks = seen.role == "user" and Request(sentence).asks_something
            if wordy and not asks and not _REFERENCE_LIST.search(sentence):
                text = sentence.strip('"')
                following = next(filter(_GOES_ON.match, spoken_of[place + 1 : place + 2]), "")
                found.setdefault(text, Quote(shortened(text, 500), seen, head, following))
            # A heading belongs to what it heads: *Varroa* to *A mite that …*.
            head = f"{sentence} … " if not wordy and _HEADING.fullmatch(sentence) else ""
        for row in rows(seen.text) if seen.role != "user" else ():
            found.setdefault(row, Quote(shortened(row, 500), seen))
    return list(found.values())


async def evidence(question: str, passages: Sequence[Seen], embedder: Embedder) -> list[Quote]:
    """Find the sentences that answer a question, the best first; none where nothing is sure enough to be one.

    Args:
        question: What is asked.
        passages: Where to look, the best passages of each segment first.
        embedder: Embeds the sentences.
    """
    quotes = _quotes(passages)
    query, background = await make_query(embedder, question[:_QUESTION]), await embedder.background()
    held = [covered(query, f"{q.head} {q.text} {q.seen.known.get('title', '')}") for q in quotes]
    kept = sorted(range(len(quotes)), key=lambda i: -held[i])[:_EMBEDDED]
    if not kept or query.embedding is None:
        return []
    vectors = await embedder.passages([f"{quotes[i].head}{quotes[i].text}" for i in kept])
    near, centred = vectors @ query.embedding, vectors @ background.centre
    scores = [
        background.likeness(query.embedding, float(near[n]), float(centred[n]))
        + held[i]
        + _FIELD * agreement(question, quotes[i].text)
        for n, i in enumerate(kept)
    ]
    order = sorted(range(len(kept)), key=lambda n: -scores[n])
    best, others = scores[order[0]], [scores[n] for n in order[1:2]]
    if best + _APART * (best - max(others, default=best)) < _SURE:
        return []
    chosen = [quotes[kept[n]] for n in order[:_MOST] if scores[n] >= best - _BESIDE]
    # "Dr. Ito keeps bees. She sells the honey in town.": the sentence after a name goes on about it.
    first = chosen[0]
    first = replace(first, text=f"{first.head}{first.text} {shortened(first.following)}".strip())
    return [first, *(quote for quote in chosen[1:] if quote.text not in first.text)]


def as_found(passages: Sequence[Seen], most: int) -> list[Quote]:
    """Quote the beginning of each passage, in the order in which they were found."""
    return [Quote(shortened(seen.text, 500), seen) for seen in passages[:most] if seen.text.strip()]


def overview(question: str, passages: Sequence[Seen], talk: Sequence[Seen], most: int = 5) -> list[Quote]:
    """Find the sentences that tell what a document is about: what its parts have in common, and what it says of itself.

    The document is the one that the request names, or the one spoken of last, or else the one that fits best.
    """
    document = _document(question, passages, talk)
    every = _quotes([seen for seen in passages if seen.document == document])
    quotes = [quote for quote in every if quote.text.endswith(_ENDS)] or every  # headings and names end otherwise
    bags = [terms(quote.text) for quote in quotes]
    first = {id(seen): rank for rank, seen in enumerate(passages)}
    scores = [
        shared + _OF_ITSELF * bool(_MAIN.search(quote.text)) - 0.02 * first[id(quote.seen)]
        for shared, quote in zip(centrality(bags), quotes, strict=True)
    ]
    chosen: list[int] = []
    for i in sorted(range(len(quotes)), key=lambda i: -scores[i]):
        said_already = any(len(bags[i].keys() & bags[j].keys()) > _SAME * len(bags[i]) for j in chosen)
        if not said_already and len(chosen) < most:
            chosen.append(i)
    return [quotes[i] for i in sorted(chosen, key=lambda i: _reading_order(quotes[i], i))]


def _reading_order(quote: Quote, place: int) -> tuple[int, int]:
    page = re.search(r", page (\d+)$", quote.seen.known.get("source", ""))
    return (int(page[1]) if page else 0, place)


def _document(question: str, passages: Sequence[Seen], talk: Sequence[Seen]) -> str:
    titles = {seen.document: f"{seen.known.get('title', '')} {seen.document}" for seen in passages}
    wanted = terms(Request(question).object)
    named = {document: sum(term in terms(title) for term in wanted) for document, title in titles.items()}
    if named and max(named.values()) > 0:
        return max(named, key=lambda document: named[document])
    for said in reversed(talk):
        for document, title in titles.items():
            bare = document.partition(":")[2] or document
            if bare and (bare in said.text or ((known := title.removesuffix(document).strip()) and known in said.text)):
                return document
    return next(iter(titles), "")


def spoken(request: Request, talk: Sequence[Seen]) -> list[Seen]:
    """Find what a question on the conversation asks for: the n-th thing that one side said, or what fits it best.

    Returns:
        Messages; none if there is no such one.
    """
    said = _said(request, talk)
    if (place := request.ordinal) is not None:
        return said[place:][:1] if -len(said) <= place < len(said) else []
    return matching(request, talk) if terms(request.object) else said[-_LISTED:]


def matching(request: Request, talk: Sequence[Seen]) -> list[Seen]:
    """Find the messages that share words with what is asked about, the best first; none twice, nor the request."""
    said = list({seen.text: seen for seen in _said(request, talk) if seen.text.strip() != request.text}.values())
    fits = relevance(terms(request.object), [terms(seen.text) for seen in said])
    return [seen for fit, seen in sorted(zip(fits, said, strict=True), key=lambda pair: -pair[0]) if fit > 0][:3]


def _said(request: Request, talk: Sequence[Seen]) -> list[Seen]:
    by_assistant = any(word.low in BY_ASSISTANT for word in request.words)
    return [seen for seen in talk if seen.role == ("assistant" if by_assistant else "user")]


def quote_message(seen: Seen) -> str:
    """Return a message word for word, with who said it and when; only a very long one is cut, and marked so."""
    text = seen.text if len(seen.text) <= _QUOTED_MESSAGE else f"{seen.text[:_QUOTED_MESSAGE]} …"
    return "\n".join(f"> {line}" for line in text.splitlines()) + f"\n[{seen.head}]"


def result_lines(text: str) -> str | None:
    """Lay a tool's result out to be read: a list of records a line each, a short text as it is.

    Returns:
        None if it is a long text or passages, of which only what answers should be quoted.
    """
    if records := read_json(text):
        return "\n".join(f"{i}. {_record(record)}" for i, record in enumerate(records[:_LISTED], 1))
    blocks = read_blocks(text, "")
    if len(blocks) > 1 or len(text) > _WHOLE:
        return None
    return "\n".join(f"> {line.removeprefix('> ')}" for line in text.strip().splitlines())


def _record(record: object) -> str:
    """Tell a record in one line: its title first, then its other values, as far as they are short and say more."""
    if not isinstance(record, dict):
        return shortened(str(record))
    told = {
        str(k): ", ".join(map(str, v)) if isinstance(v, list) else str(v) for k, v in record.items() if v is not None
    }
    title = next((told.pop(name) for name in ("title", "name") if name in told), "")
    parts = [title] if title else []
    for name, value in told.items():
        says_again = " " not in value and any(other != name and len(v) > 3 and v in value for other, v in told.items())  # noqa: PLR2004
        if value and not says_again:
            parts.append(f"{name}: {shortened(next(iter(sentences(value)), value), 200)}")
    return " · ".join(parts)


def passages_of(result: ToolMessage) -> list[Seen]:
    """Return the passages in a tool's result; a result without passages is one."""
    name, text = result.name or "tool", str(result.text)
    return read_blocks(text, name) or [Seen(name, name, text)]
