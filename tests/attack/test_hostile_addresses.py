"""Addresses that lead where nothing is to be fetched from, and what they carry with them."""

import base64
import ipaddress
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core._security import SSRFBlockedError, SSRFPolicy, validate_resolved_ip

from ricordo.common.errors import ServiceError
from ricordo.common.settings import Settings
from ricordo.models.embeddings import Embedder
from ricordo.readers.download import download
from ricordo.readers.guard import AddressRefusedError, Guard, is_public
from ricordo.stores.ingest import Ingestion, Outcome, ingest
from ricordo.stores.knowledge_base import KnowledgeBase
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.vectors import VectorMemory
from tests.support.stand_ins.local_server import Reply
from tests.support.stand_ins.page_server import PageServer

_PUBLIC, _IPV6 = "93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"


@pytest.fixture
def pages() -> Iterator[PageServer]:
    with PageServer() as server:
        server.pages["/a"] = Reply(b"The lamp is lit.")
        yield server


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",  # noqa: S104 - nothing is bound
            "224.0.0.1",
        ),
        *("255.255.255.255", "240.0.0.1", "192.0.0.9", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1"),
        *("192.88.99.1", "168.63.129.16", "100.100.100.200"),
        *("::1", "::", "fe80::1", "fe80::1%1", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "100::1", "5f00::1"),
        *("::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2001::1"),
        *("2001:0:4136:e378:8000:63bf:3fff:fdd2", "2002:7f00:1::", "2002:808:808::1", "2001:db8::1", "3fff::1"),
    ],
)
def test_what_is_not_of_the_public_internet_is_refused(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", [_PUBLIC, _IPV6, "8.8.8.8", "1.1.1.1", "2a00:1450:4001:81b::200e"])
def test_what_is_public_is_reached(address: str) -> None:
    assert is_public(address)


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_nothing_passes_that_langchain_refuses(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    try:
        validate_resolved_ip(str(address), SSRFPolicy())
    except SSRFBlockedError:
        assert not is_public(str(address))


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "localhost.", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "[::1]"),
        *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::]", "[fe80::1]", "[2002:7f00:1::]", "[64:ff9b::7f00:1]"),
        *("example.org@127.0.0.1", "example.org:80@localhost", "①②⑦.⓪.⓪.①", "169.254.169.254"),
    ],
)
async def test_no_way_to_write_a_local_host_leads_there(host: str) -> None:
    with pytest.raises(ServiceError, match=r"no host of the public internet.*RICORDO_ALLOWED_HOSTS|cannot be reached"):
        await download(f"http://{host}/", "the page", seconds=60, allowed=[])


async def test_other_ports_are_not_asked(pages: PageServer) -> None:
    with pytest.raises(ServiceError, match="only 80 and 443"):
        await download(f"{pages.url}/a", "the page", seconds=60, allowed=[])
    assert pages.requests == []


async def test_a_redirect_is_checked_as_the_first_address_was(pages: PageServer) -> None:
    with PageServer() as inner:
        inner.pages["/secret"] = Reply(b"the keys")
        pages.pages["/moved"] = Reply(b"", status=302, headers={"location": f"{inner.url}/secret"})
        port = int(pages.url.rpartition(":")[2])
        for how in ({"allowed": [("127.0.0.1", port)]}, {"allowed": [], "own": pages.url}):
            assert (await download(f"{pages.url}/a", "the page", seconds=60, **how)).data
            with pytest.raises(ServiceError, match="only 80 and 443"):
                await download(f"{pages.url}/moved", "the page", seconds=60, **how)
        assert inner.requests == []


def _resolver(*answers: list[str]) -> object:
    left = list(answers)

    def resolve(_host: object, port: int, *_: object, **__: object) -> list[object]:
        addresses = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    return resolve


async def _connected(url: str) -> list[str]:
    """Return the hosts that the guard connects to for an address, as the transport below it is told."""
    told: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        told.append(f"{request.url.host} {request.headers['host']} {request.extensions['sni_hostname']}")
        return httpx.Response(200)

    async with httpx.AsyncClient(transport=Guard(inner=httpx.MockTransport(answer))) as client:
        await client.get(url)
    return told


async def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", _resolver([_PUBLIC], ["127.0.0.1"]))
    assert await _connected("https://rebinding.example/") == [f"{_PUBLIC} rebinding.example rebinding.example"]


async def test_one_private_answer_among_others_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", _resolver([_PUBLIC, "10.0.0.1"]))
    with pytest.raises(AddressRefusedError):
        await _connected("https://mixed.example/")


async def test_proxies_of_the_environment_serve_the_deployments_own_addresses_alone(
    pages: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", pages.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with pytest.raises(ServiceError, match="no host of the public internet"):
        await download("http://localhost/a", "the page", seconds=60, allowed=[])
    assert pages.requests == []
    own = await download("http://api.example/a", "the page", seconds=60, allowed=[], own="http://api.example/")
    assert own.data == b"The lamp is lit."


async def test_langchains_own_variable_opens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGCHAIN_ENV", "local_test")
    with pytest.raises(ServiceError, match="no host of the public"):
        await download("http://localhost/", "the page", seconds=60, allowed=[])


@pytest.fixture
def knowledge_base(db: Database, embedder: Embedder) -> KnowledgeBase:
    return KnowledgeBase(db, VectorMemory("knowledge_base", embedder))


async def _ingest(knowledge_base: KnowledgeBase, target: str) -> list[Outcome]:
    return [outcome async for outcome in ingest(Ingestion(knowledge_base, Settings(), "ada"), target)]


async def test_a_password_in_an_address_logs_in_and_is_told_nowhere(
    knowledge_base: KnowledgeBase, pages: PageServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    pages.pages["/moved"] = Reply(b"", status=302, headers={"location": f"{_with_login(pages.url)}/a"})
    for path, status in (("/a", "new"), ("/moved", "new"), ("/none", "failed")):
        [outcome] = await _ingest(knowledge_base, f"{_with_login(pages.url)}{path}")
        assert (outcome.source, outcome.status) == (f"{pages.url}{path}", status)
        assert "hunter2" not in outcome.detail
        assert path == "/moved" or "hunter2" not in caplog.text
        caplog.clear()
    expected = "Basic " + base64.b64encode(b"ada:hunter2").decode()
    assert pages.requests[0].headers["authorization"] == expected
    found = [await knowledge_base.find("ada", f"{pages.url}{path}") for path in ("/a", "/moved")]
    assert all(document and document.metadata["url"] == f"{pages.url}/a" for document in found)
    [wrong] = await _ingest(knowledge_base, "http://ada:hunter2@127.0.0.1:99999999/x")
    assert "hunter2" not in f"{wrong.source}{wrong.detail}"


def _with_login(url: str) -> str:
    return url.replace("://", "://ada:hunter2@")


async def test_a_link_inside_a_folder_does_not_lead_out_of_it(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("The key is under the stone.")
    (tmp_path / "docs-secret").mkdir()
    (tmp_path / "docs-secret" / "b.txt").write_text("The key is under the stone.")
    root = tmp_path / "docs"
    root.mkdir()
    (root / "real.txt").write_text("The lamp is lit.")
    (root / "inner.txt").symlink_to("real.txt")
    (root / "outer.txt").symlink_to("../secret.txt")
    (root / "beside.txt").symlink_to("../docs-secret/b.txt")
    (root / "self.txt").symlink_to("self.txt")
    found = {outcome.source: outcome.status for outcome in await _ingest(knowledge_base, str(root))}
    assert found.pop("real.txt") in {"new", "unchanged"}
    assert found.pop("outer.txt") == found.pop("beside.txt") == "skipped"
    assert found.pop("self.txt") == "failed"
    assert set(found) <= {"inner.txt"}
    (tmp_path / "linked").symlink_to(root)
    assert {outcome.status for outcome in await _ingest(knowledge_base, str(tmp_path / "linked"))} >= {"skipped"}
