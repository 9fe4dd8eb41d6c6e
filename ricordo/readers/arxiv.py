"""arXiv: search by its Atom API, papers as PDF.

The `arxiv` package is not used for the requests: it waits without limit for a slow server, in a thread that cannot be
ended, and its parser cuts texts of over 10 MB without a word.
"""

import asyncio
import re
import time
from calendar import monthrange
from datetime import UTC, datetime
from functools import partial
from urllib.parse import urlencode

from ricordo.common.errors import DocumentError, InputError, NotFoundError, ServiceError
from ricordo.common.settings import Settings
from ricordo.common.text import clean
from ricordo.readers.cage import Limits, in_cage
from ricordo.readers.download import Download, download
from ricordo.readers.papers import ID, ArxivId, Paper, id_of

_INSIDE = re.compile(rf"(?<![\w./]){ID}(?![\w/])", re.IGNORECASE)
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
_NOT_A_WORD = re.compile(r"[^\w.']+")

_API = "arXiv's search"
_FEED_LIMIT = 50 * 1024 * 1024
_TRY_AGAIN = frozenset({429, 500, 502, 503, 504})


async def search(settings: Settings, query: str, k: int) -> list[Paper]:
    """Find papers by words, by arXiv's own query syntax, or by ids; the best first.

    Raises:
        InputError: The query holds no word.
        ServiceError: arXiv cannot be reached or does not answer as it should.
    """
    words, dates = _dated(clean(query).strip())
    if ids := [str(id_of(found)) for found in _INSIDE.finditer(words)]:
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
        return await download(
            url,
            f"The PDF of arXiv:{paper}",
            seconds=settings.http_timeout_seconds,
            allowed=settings.allowed_hosts,
            own=settings.arxiv_pdf_url,
        )
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
    ask = partial(download, url, _API, limit=_FEED_LIMIT, allowed=settings.allowed_hosts, own=settings.arxiv_api_url)
    try:
        answer = await ask(seconds=settings.http_timeout_seconds)
    except ServiceError as error:
        if error.status == 400:  # noqa: PLR2004 - a bad request: arXiv does not take the id or the query
            return []
        left = end - time.monotonic() - settings.arxiv_pause_seconds
        if error.status not in _TRY_AGAIN or left <= 0:
            raise
        await _pace.wait(settings.arxiv_pause_seconds)
        answer = await ask(seconds=left)
    try:
        found = await in_cage("feed", answer.data, _API, limits=Limits.of(settings))
    except DocumentError as error:
        raise ServiceError(str(error)) from None
    return [Paper(**paper | {"authors": tuple(paper["authors"])}) for paper in found]
