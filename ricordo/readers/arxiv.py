"""arXiv: search by its Atom API, papers as PDF.

The `arxiv` package is not used for the requests: it waits without limit for a slow server, in a thread that cannot be
ended, and its parser cuts texts of over 10 MB without a word.
"""

import asyncio
import re
import time
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from ricordo.common.errors import InputError, NotFoundError, ServiceError
from ricordo.common.settings import Settings
from ricordo.common.text import clean
from ricordo.readers.download import Download, download

_ID = (
    r"(?:(?P<new>\d{4}\.\d{4,5})|(?P<archive>[a-z]+(?:-[a-z]+)?)(?:\.[a-z]{2})?(?P<number>/\d{7}))"
    r"(?:v(?P<version>[1-9]\d{0,2}))?"
)
_GIVEN = re.compile(
    r"(?:https?://\S+?/(?:abs|pdf|html|format|e-print|src)/|(?:https?://(?:dx\.)?doi\.org/)?10\.48550/arxiv\.|arxiv:\s*)?"
    + _ID
    + r"(?:\.pdf)?/?(?:[?#]\S*)?(?:\s*\[[\w.-]+\])?",
    re.IGNORECASE,
)
_INSIDE = re.compile(rf"(?<![\w./]){_ID}(?![\w/])", re.IGNORECASE)
_FIELDED = re.compile(r"\b(?:ti|au|abs|co|jr|cat|rn|id|all):", re.IGNORECASE)
_DATED = re.compile(
    r"(?:\b(?:AND|OR)\s+)?\b(?P<field>submitted_?date|lastupdated_?date):\s*"
    r"[\[\"(]\s*(?P<since>[\d*T:/-]{1,20})\s*(?:TO|\s-|\.\.|,)\s*(?P<until>[\d*T:/-]{1,20})\s*[\]\")](?:\s+AND\b)?",
    re.IGNORECASE,
)
"""A span of time, in arXiv's syntax or nearly so."""
_FIELDS = {"submitteddate": "submittedDate", "lastupdateddate": "lastUpdatedDate"}
_FIRST, _LAST = "190001010000", "210012312359"
"""A moment to the minute, from which a shorter one is filled up."""
_WITHDRAWN = re.compile(r"\bwithdrawn\b|\bretracted\b", re.IGNORECASE)
_TAKEN_BACK = re.compile(
    r"\b(?:this|the|our|present) (?:\w+ )?(?:paper|article|preprint|manuscript|submission|work|version|document|note)"
    r"\b.{0,40}\b(?:withdrawn|retracted)\b|^\W*(?:withdrawn|retracted)\b",
    re.IGNORECASE,
)
"""How an abstract says so of its own paper."""
_NOT_A_WORD = re.compile(r"[^\w.']+")

_SAID = 300
"""Characters in which a paper says that it was withdrawn."""
_ARXIV = "{http://arxiv.org/schemas/atom}"
_ATOM = "{http://www.w3.org/2005/Atom}"
_API = "arXiv's search"
_FEED_LIMIT = 50 * 1024 * 1024
_TRY_AGAIN = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class ArxivId:
    """A paper's identifier, such as `2310.08560` in version 2, or the old form `cs/0112017`."""

    base: str
    version: int | None = None

    def __str__(self) -> str:
        return f"{self.base}v{self.version}" if self.version else self.base


@dataclass(frozen=True, slots=True)
class Paper:
    """What arXiv tells of a paper."""

    id: str
    entry_id: str
    title: str
    authors: tuple[str, ...]
    published: str
    """Date, `YYYY-MM-DD`."""
    abstract: str
    withdrawn: str = ""
    """What arXiv says of it, where the paper was withdrawn."""


def parse_id(text: str) -> ArxivId:
    """Read an identifier: plain, with `arXiv:` before it, or as the address of the abstract or the PDF.

    Raises:
        InputError: It is none.
    """
    found = _GIVEN.fullmatch(text.strip())
    if found is None:
        raise InputError(
            f"{clean(text)[:100]!r} is not an arXiv id. Give it as 2310.08560, 2310.08560v2 or cs/0112017; "
            "arxiv_search_candidates finds the ids of papers."
        )
    return _id(found)


def _id(found: re.Match[str]) -> ArxivId:
    base = found["new"] or (found["archive"] + found["number"]).lower()
    return ArxivId(base, int(found["version"]) if found["version"] else None)


async def search(settings: Settings, query: str, k: int) -> list[Paper]:
    """Find papers by words, by arXiv's own query syntax, or by ids; the best first.

    Raises:
        InputError: The query holds no word.
        ServiceError: arXiv cannot be reached or does not answer as it should.
    """
    words, dates = _dated(clean(query).strip())
    if ids := [str(_id(found)) for found in _INSIDE.finditer(words)]:
        return await _ask(settings, {"id_list": ",".join(ids)}, len(ids))
    if not _FIELDED.search(words):  # colons, hyphens and brackets mean something in the query syntax
        words = " ".join(_NOT_A_WORD.sub(" ", words).split())
    if not words and not dates:
        raise InputError("The query is empty: give some words of the title, the authors or the subject.")
    asked = " AND ".join([f"({words})" if words and dates else words, *dates] if words else dates)
    order = "relevance" if words else "submittedDate"  # without words, nothing is more relevant than another
    return await _ask(settings, {"search_query": asked, "sortBy": order, "sortOrder": "descending"}, k)


def _dated(query: str) -> tuple[str, list[str]]:
    """Take the spans of time out of a query; return the rest, and the spans as arXiv writes them.

    Raises:
        InputError: One of their moments is none.
    """
    spans = [
        f"{_FIELDS[found['field'].casefold().replace('_', '')]}:"
        f"[{_moment(found['since'], _FIRST)} TO {_moment(found['until'], _LAST)}]"
        for found in _DATED.finditer(query)
    ]
    rest = _DATED.sub(" ", query).strip() if spans else query
    return re.sub(r"^(?:AND|OR)\b|\b(?:AND|OR|ANDNOT)$", "", rest).strip() if spans else rest, spans


def _moment(given: str, whole: str) -> str:
    """Write a day, a month or a year as arXiv wants it: `YYYYMMDDhhmm`.

    Raises:
        InputError: It is none.
    """
    digits = re.sub(r"\D", "", given)[: len(whole)]
    if given.strip() == "*":
        return whole
    filled = digits + whole[len(digits) :]
    if whole == _LAST and len(digits) == len("YYYYMM"):
        filled = f"{digits}{monthrange(int(digits[:4]), max(1, min(12, int(digits[4:]))))[1]:02}{whole[-4:]}"
    try:
        datetime.strptime(filled, "%Y%m%d%H%M").replace(tzinfo=UTC)
    except ValueError:
        digits = ""
    if len(digits) not in {4, 6, 8, 10, 12}:
        raise InputError(
            f"{given!r} is no date that arXiv can search by. Write submittedDate:[20230101 TO 20231231]: years, "
            "months, days, or moments to the minute."
        )
    return filled


async def fetch_metadata(settings: Settings, paper: ArxivId) -> Paper:
    """Get what arXiv tells of one paper.

    Raises:
        NotFoundError: arXiv has no such paper.
        ServiceError: arXiv cannot be reached or does not answer as it should.
    """
    found = await _ask(settings, {"id_list": str(paper)}, 1)
    if not found:
        raise _unknown(paper)
    return found[0]


async def fetch_pdf(settings: Settings, paper: ArxivId) -> Download:
    """Get a paper's PDF; whether it is one is for the reader to tell.

    Raises:
        NotFoundError: arXiv has no such paper.
        ServiceError: arXiv cannot be reached or does not answer as it should.
    """
    url = f"{settings.arxiv_pdf_url.rstrip('/')}/{paper}"
    try:
        return await download(url, f"The PDF of arXiv:{paper}", seconds=settings.http_timeout_seconds)
    except ServiceError as error:
        if error.status in {400, 404}:
            raise _unknown(paper) from None
        raise


def _unknown(paper: ArxivId) -> NotFoundError:
    return NotFoundError(f"arXiv has no paper {paper}. Check the id: arxiv_search_candidates finds the ids of papers.")


class _Pace:
    """Keeps the requests of this process apart, as arXiv asks of its users."""

    def __init__(self) -> None:
        self._free_at = 0.0

    async def wait(self, pause: float) -> None:
        now = time.monotonic()
        start = max(now, self._free_at)
        self._free_at = start + pause
        await asyncio.sleep(start - now)


_pace = _Pace()


async def _ask(settings: Settings, query: dict[str, str], most: int) -> list[Paper]:
    """Send one query. A server that is overloaded is asked once more, within the same total time."""
    url = f"{settings.arxiv_api_url}?{urlencode(query | {'start': '0', 'max_results': str(most)})}"
    await _pace.wait(settings.arxiv_pause_seconds)
    end = time.monotonic() + settings.http_timeout_seconds
    try:
        answer = await download(url, _API, seconds=settings.http_timeout_seconds, limit=_FEED_LIMIT)
    except ServiceError as error:
        if error.status == 400:  # noqa: PLR2004 - a bad request: arXiv does not take the id or the query
            return []
        left = end - time.monotonic() - settings.arxiv_pause_seconds
        if error.status not in _TRY_AGAIN or left <= 0:
            raise
        await _pace.wait(settings.arxiv_pause_seconds)
        answer = await download(url, _API, seconds=left, limit=_FEED_LIMIT)
    return await asyncio.to_thread(_parse, answer.data)


def _parse(data: bytes) -> list[Paper]:
    from lxml import etree  # noqa: PLC0415 - only where there is XML to read

    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True, recover=True)
    try:
        root = etree.fromstring(data, parser=parser)
    except etree.XMLSyntaxError:
        root = None
    if root is None or root.tag != f"{_ATOM}feed":
        raise ServiceError(f"{_API} answers with something else than a list of papers. Try again later.")
    papers = (_paper(entry) for entry in root.iterfind(f"{_ATOM}entry"))
    return [paper for paper in papers if paper is not None]


def _paper(entry: Any) -> Paper | None:
    """Read one entry; None where it is arXiv's way to report an error, or names no paper."""

    def text(tag: str) -> str:
        found = entry.find(_ATOM + tag)
        return "" if found is None else clean(" ".join("".join(found.itertext()).split()))

    entry_id = text("id")
    found = _GIVEN.fullmatch(entry_id)
    if found is None:
        return None
    abstract = text("summary")
    comment = entry.find(f"{_ARXIV}comment")
    remark = "" if comment is None else clean(" ".join("".join(comment.itertext()).split()))
    withdrawn = remark if _WITHDRAWN.search(remark) else abstract if _TAKEN_BACK.search(abstract[:_SAID]) else ""
    authors = (" ".join((name.text or "").split()) for name in entry.iterfind(f"{_ATOM}author/{_ATOM}name"))
    return Paper(
        id=str(parse_id(entry_id)),
        entry_id=entry_id,
        title=text("title"),
        authors=tuple(clean(author) for author in authors if author),
        published=text("published")[:10],
        abstract=abstract,
        withdrawn=withdrawn[:_SAID],
    )
