from collections.abc import Iterator

import pytest

from ricordo.common.errors import ServiceError
from ricordo.readers.download import Download
from ricordo.readers.download import download as download_from
from tests.support.stand_ins.local_server import Reply
from tests.support.stand_ins.page_server import PageServer

LOCAL = [("127.0.0.1", None)]


async def download(url: str, what: str, *, seconds: float, limit: int = 2**30) -> Download:
    return await download_from(url, what, seconds=seconds, limit=limit, allowed=LOCAL)


@pytest.fixture
def pages() -> Iterator[PageServer]:
    with PageServer() as server:
        server.pages["/a"] = Reply("perché".encode("latin-1"), "text/HTML; charset=ISO-8859-1")
        server.pages["/moved"] = Reply(b"", status=302, headers={"location": "/a"})
        server.pages["/round"] = Reply(b"", status=302, headers={"location": "/round"})
        yield server


async def test_a_page_comes_with_what_the_server_says_of_it(pages: PageServer) -> None:
    got = await download(f"{pages.url}/moved", "the page", seconds=120)
    assert (got.data, got.content_type, got.url) == ("perché".encode("latin-1"), "text/html", f"{pages.url}/a")
    assert (got.encoding or "").lower() == "iso-8859-1"


@pytest.mark.parametrize(("status", "advice"), [(404, "Check the address"), (503, "try again"), (429, "try again")])
async def test_a_refusal_tells_its_status(pages: PageServer, status: int, advice: str) -> None:
    pages.faults.statuses = [status]
    with pytest.raises(ServiceError, match=f"{status}.*{advice}") as caught:
        await download(f"{pages.url}/a", "the page", seconds=120)
    assert caught.value.status == status


@pytest.mark.parametrize("fault", ["delay", "drip"])
async def test_the_time_limit_is_one_for_all_of_it(pages: PageServer, fault: str) -> None:
    pages.pages["/a"] = Reply(b"x" * 1000)
    setattr(pages.faults, fault, 20 if fault == "delay" else 0.05)
    with pytest.raises(ServiceError, match=r"within 0\.4 s.*RICORDO_HTTP_TIMEOUT_SECONDS"):
        await download(f"{pages.url}/a", "the page", seconds=0.4)


async def test_what_is_too_large_is_not_taken(pages: PageServer) -> None:
    pages.pages["/a"] = Reply(b"x" * 3_000_000)
    with pytest.raises(ServiceError, match="more than 1 MB"):
        await download(f"{pages.url}/a", "the page", seconds=120, limit=2**20)


async def test_a_connection_that_breaks_off_gives_no_half_document(pages: PageServer) -> None:
    pages.pages["/a"] = Reply(b"x" * 1000)
    pages.faults.cut = 400
    with pytest.raises(ServiceError, match="cannot be reached"):
        await download(f"{pages.url}/a", "the page", seconds=120)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x", "ftp://127.0.0.1/x", "http://[::1", "http://", "no address"])
async def test_an_address_that_leads_nowhere_is_a_clear_error(url: str) -> None:
    with pytest.raises(ServiceError, match=r"cannot be (reached|got)"):
        await download(url, "the page", seconds=120)


async def test_a_round_of_redirects_ends(pages: PageServer) -> None:
    with pytest.raises(ServiceError, match="redirect"):
        await download(f"{pages.url}/round", "the page", seconds=120)
