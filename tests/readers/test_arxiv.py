import time
from collections.abc import Iterator

import pytest

from ricordo.common.errors import InputError, NotFoundError, ServiceError
from ricordo.common.settings import Settings
from ricordo.readers.arxiv import fetch_metadata, fetch_pdf, search
from ricordo.readers.papers import ArxivId, parse_id
from tests.support.stand_ins.arxiv_server import WITHDRAWN, ArxivServer
from tests.support.stand_ins.local_server import Reply


@pytest.fixture
def arxiv() -> Iterator[ArxivServer]:
    with ArxivServer() as server:
        yield server


@pytest.fixture
def settings(arxiv: ArxivServer, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in arxiv.settings().items():
        monkeypatch.setenv(name, value)
    return Settings(http_timeout_seconds=120)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2310.08560", ArxivId("2310.08560")),
        (" 2310.08560v2 ", ArxivId("2310.08560", 2)),
        ("arXiv:2310.08560", ArxivId("2310.08560")),
        ("arxiv: 2310.08560V3", ArxivId("2310.08560", 3)),
        ("arXiv:2310.08560v2 [cs.AI]", ArxivId("2310.08560", 2)),
        ("https://arxiv.org/abs/2310.08560v2", ArxivId("2310.08560", 2)),
        ("http://export.arxiv.org/pdf/2310.08560v2.pdf", ArxivId("2310.08560", 2)),
        ("https://arxiv.org/pdf/2310.08560?download=1#page=2", ArxivId("2310.08560")),
        ("https://doi.org/10.48550/arXiv.2310.08560", ArxivId("2310.08560")),
        ("cs/0112017", ArxivId("cs/0112017")),
        ("https://arxiv.org/abs/cs/0112017v1", ArxivId("cs/0112017", 1)),
        ("math.GT/0309136", ArxivId("math/0309136")),
        ("hep-th/9901001v3", ArxivId("hep-th/9901001", 3)),
        ("0704.0001", ArxivId("0704.0001")),
    ],
)
def test_an_id_is_read_in_all_its_forms(given: str, expected: ArxivId) -> None:
    assert parse_id(given) == expected


@pytest.mark.parametrize(
    "given", ["", "MemGPT", "2310.0856a", "23100.08560", "../../etc/passwd", "2310.08560/../x", "\x00"]
)
def test_what_is_no_id_is_refused_with_the_way_to_find_one(given: str) -> None:
    with pytest.raises(InputError, match="arxiv_search_candidates"):
        parse_id(given)


async def test_a_search_gives_papers_with_all_that_is_known(settings: Settings) -> None:
    papers = await search(settings, "MemGPT operating systems", 3)
    first = papers[0]
    assert (first.id, first.entry_id) == ("2310.08560v2", "http://arxiv.org/abs/2310.08560v2")
    assert first.title == "MemGPT: Towards LLMs as Operating Systems"
    assert first.authors[0] == "Charles Packer"
    assert first.published == "2023-10-12"
    assert first.abstract.startswith("Language models are bound")


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("MemGPT: Towards LLMs (2023) - a re-read", "MemGPT Towards LLMs 2023 a re read"),
        ("ti:memory AND au:packer", "ti:memory AND au:packer"),
        ("l'attention è tutto", "l'attention è tutto"),
    ],
)
async def test_a_query_is_sent_so_that_arxiv_understands_it(
    settings: Settings, arxiv: ArxivServer, query: str, sent: str
) -> None:
    await search(settings, query, 4)
    assert arxiv.requests[-1].query["search_query"] == sent
    assert arxiv.requests[-1].query["max_results"] == "4"


@pytest.mark.parametrize(
    ("query", "sent", "order"),
    [
        (
            "submittedDate:[202301010600 TO 202401010600]",
            "submittedDate:[202301010600 TO 202401010600]",
            "submittedDate",
        ),
        ("submittedDate:[2023 TO 2023-02]", "submittedDate:[202301010000 TO 202302282359]", "submittedDate"),
        ("lastUpdatedDate:[* TO 20240229]", "lastUpdatedDate:[190001010000 TO 202402292359]", "submittedDate"),
        (
            "agents - memory submitteddate:[20230101 TO 20230102]",
            "(agents memory) AND submittedDate:[202301010000 TO 202301022359]",
            "relevance",
        ),
        (
            "submittedDate:[2023 TO 2024] AND cat:cs.AI",
            "(cat:cs.AI) AND submittedDate:[202301010000 TO 202412312359]",
            "relevance",
        ),
    ],
)
async def test_a_span_of_time_is_searched_by_alone_and_with_words(
    settings: Settings, arxiv: ArxivServer, query: str, sent: str, order: str
) -> None:
    await search(settings, query, 4)
    asked = arxiv.requests[-1].query
    assert (asked["search_query"], asked["sortBy"]) == (sent, order)


async def test_a_date_that_is_none_is_named(settings: Settings, arxiv: ArxivServer) -> None:
    with pytest.raises(InputError, match=r"'20231399' is no date.*submittedDate:\[20230101 TO"):
        await search(settings, "submittedDate:[2023 TO 20231399]", 4)
    assert not arxiv.requests


async def test_a_withdrawn_paper_says_so_and_one_about_such_papers_does_not(
    settings: Settings, arxiv: ArxivServer
) -> None:
    arxiv.papers = WITHDRAWN
    first, second, third = await search(settings, "2401.00001 2401.00002 2401.00003", 3)
    assert "withdrawn by the author due to an error" in first.withdrawn
    assert "retracted by its authors" in second.withdrawn
    assert third.withdrawn == ""


async def test_ids_in_a_query_are_looked_up_as_such(settings: Settings, arxiv: ArxivServer) -> None:
    papers = await search(settings, "the papers 2310.08560 and arXiv:1706.03762v7", 5)
    assert [paper.id for paper in papers] == ["2310.08560v2", "1706.03762v7"]
    assert arxiv.requests[-1].query["id_list"] == "2310.08560,1706.03762v7"


@pytest.mark.parametrize("query", ["", "  ", "-- ()", "\x00"])
async def test_a_query_without_a_word_is_refused(settings: Settings, arxiv: ArxivServer, query: str) -> None:
    with pytest.raises(InputError, match="empty"):
        await search(settings, query, 5)
    assert not arxiv.requests


async def test_nothing_found_is_no_error(settings: Settings) -> None:
    assert await search(settings, "zebrafish", 5) == []


async def test_an_abstract_of_twelve_million_characters_comes_whole(settings: Settings, arxiv: ArxivServer) -> None:
    arxiv.abstract = "start " + "lorem " * 2_000_000 + "end"
    papers = await search(Settings(**settings.model_dump() | {"http_timeout_seconds": 120}), "MemGPT", 1)
    assert len(papers[0].abstract) == len(arxiv.abstract)
    assert papers[0].abstract.endswith("end")


async def test_an_overloaded_server_is_asked_once_more(settings: Settings, arxiv: ArxivServer) -> None:
    arxiv.faults.statuses = [503, 0]
    assert await search(settings, "MemGPT", 1)
    arxiv.faults.statuses = [503]
    arxiv.requests.clear()
    with pytest.raises(ServiceError, match=r"arXiv's search answers 503.*try again"):
        await search(settings, "MemGPT", 1)
    assert len(arxiv.requests) == 2


async def test_requests_keep_their_distance(settings: Settings) -> None:
    slow = Settings(**settings.model_dump() | {"arxiv_pause_seconds": 0.3})
    start = time.monotonic()
    for _ in range(3):
        await search(slow, "MemGPT", 1)
    assert time.monotonic() - start > 0.59


@pytest.mark.parametrize("fault", ["delay", "drip"])
async def test_a_slow_server_is_given_up_in_time(settings: Settings, arxiv: ArxivServer, fault: str) -> None:
    setattr(arxiv.faults, fault, 20 if fault == "delay" else 0.05)
    with pytest.raises(ServiceError, match="within"):
        await search(Settings(**settings.model_dump() | {"http_timeout_seconds": 0.5}), "MemGPT", 1)


@pytest.mark.parametrize(
    "body", [b"", b"Rate exceeded.", b"<html><body>captcha</body></html>", b"<feed/>", b"\xff\xfe"]
)
async def test_an_answer_that_is_no_feed_is_a_clear_error(settings: Settings, arxiv: ArxivServer, body: bytes) -> None:
    arxiv.faults.instead = Reply(body, "text/html")
    with pytest.raises(ServiceError, match="something else"):
        await search(settings, "MemGPT", 1)


async def test_entities_in_a_feed_are_not_expanded(settings: Settings, arxiv: ArxivServer) -> None:
    arxiv.faults.instead = Reply(
        b'<!DOCTYPE feed [<!ENTITY x SYSTEM "file:///etc/hostname">]><feed xmlns="http://www.w3.org/2005/Atom"><entry>'
        b"<id>http://arxiv.org/abs/2310.08560v2</id><title>A &x; B</title></entry></feed>",
        "application/atom+xml",
    )
    assert (await search(settings, "x", 1))[0].title == "A &x; B"


async def test_a_paper_that_is_not_there_is_not_found(settings: Settings) -> None:
    unknown = ArxivId("2399.99999")
    with pytest.raises(NotFoundError, match=r"no paper 2399\.99999.*arxiv_search_candidates"):
        await fetch_metadata(settings, unknown)
    with pytest.raises(NotFoundError, match=r"no paper 2399\.99999"):
        await fetch_pdf(settings, unknown)


async def test_a_pdf_is_fetched_from_the_address_in_the_settings(settings: Settings, arxiv: ArxivServer) -> None:
    patient = Settings(**settings.model_dump() | {"http_timeout_seconds": 120})  # the test's server first makes the PDF
    pdf = await fetch_pdf(patient, ArxivId("cs/0112017", 1))
    assert pdf.data.startswith(b"%PDF-")
    assert arxiv.requests[-1].path == "/pdf/cs/0112017v1"
