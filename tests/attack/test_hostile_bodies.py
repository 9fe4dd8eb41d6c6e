"""Bodies that unfold, are packed in layers, or never end."""

import gzip
import json
import zlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from ricordo.common.bodies import ACCEPTED, bounded
from ricordo.common.errors import EmbeddingError, ServiceError
from ricordo.common.settings import Settings
from ricordo.models.embeddings import open_embedder
from ricordo.readers.download import download
from ricordo.stores.toolbox.box import Toolbox
from ricordo.tools.mcp import mcp_tools
from ricordo.tools.web import _search
from tests.support.bombs import bomb
from tests.support.stand_ins.local_server import Reply
from tests.support.stand_ins.page_server import PageServer

_LOCAL = [("127.0.0.1", None)]


@pytest.fixture
def pages() -> Iterator[PageServer]:
    with PageServer() as server:
        yield server


def _packed(body: bytes, encoding: str) -> Reply:
    return Reply(body, headers={"content-encoding": encoding})


@pytest.mark.parametrize("encoding", ["gzip, gzip", "gzip,identity , gzip", "br", "zstd", "gzip, br"])
async def test_more_than_one_layer_and_what_nobody_asked_for_is_not_unpacked(pages: PageServer, encoding: str) -> None:
    pages.pages["/a"] = _packed(bomb(1, layers=2), encoding)
    with pytest.raises(ServiceError, match="only one layer"):
        await download(f"{pages.url}/a", "the page", seconds=60, allowed=_LOCAL)


async def test_layers_in_two_headers_are_layers(pages: PageServer) -> None:
    pages.pages["/a"] = Reply(bomb(1, layers=2), headers={"content-encoding": "gzip", "Content-Encoding": "gzip"})
    with pytest.raises(ServiceError, match="only one layer"):
        await download(f"{pages.url}/a", "the page", seconds=60, allowed=_LOCAL)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_body_is_unpacked_no_further_than_its_limit(
    pages: PageServer, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked: list[int] = []
    inflate = zlib.decompressobj

    class Counting:
        def __init__(self, bits: int) -> None:
            self._inner = inflate(bits)

        def __getattr__(self, name: str) -> object:
            return getattr(self._inner, name)

        def decompress(self, part: bytes, most: int = 0) -> bytes:
            piece = self._inner.decompress(part, most)
            unpacked.append(len(piece))
            return piece

    monkeypatch.setattr(zlib, "decompressobj", Counting)
    body = bomb(30) if encoding == "gzip" else zlib.compress(bytes(30 * 2**20))
    pages.pages["/a"] = _packed(body, encoding)
    with pytest.raises(ServiceError, match="more than 1 MB"):
        await download(f"{pages.url}/a", "the page", seconds=60, allowed=_LOCAL, limit=2**20)
    assert sum(unpacked) < 2 * 2**20


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(b"lamp" * 100_000), "gzip"),
        (zlib.compress(b"lamp" * 100_000), "deflate"),
        (zlib.compress(b"lamp" * 100_000)[2:-4], "deflate"),
        (b"lamp" * 100_000, "identity"),
    ],
    ids=["gzip", "deflate", "raw", "plain"],
)
async def test_an_honest_body_comes_whole(pages: PageServer, body: bytes, encoding: str) -> None:
    pages.pages["/a"] = _packed(body, encoding)
    got = await download(f"{pages.url}/a", "the page", seconds=60, allowed=_LOCAL)
    assert got.data == b"lamp" * 100_000


@pytest.mark.parametrize("body", [gzip.compress(b"lamp" * 999)[:-20], b"no gzip at all"], ids=["cut", "damaged"])
async def test_a_damaged_body_gives_no_half_document(pages: PageServer, body: bytes) -> None:
    pages.pages["/a"] = _packed(body, "gzip")
    with pytest.raises(ServiceError, match=r"cut short|damaged"):
        await download(f"{pages.url}/a", "the page", seconds=60, allowed=_LOCAL)


async def test_a_body_that_never_ends_ends_at_its_limit() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 1000

    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=endless()))
    async with httpx.AsyncClient(transport=transport, event_hooks=bounded(10_000)) as client:
        with pytest.raises(httpx.DecodingError, match="more than 10,000 bytes"):
            await client.get("http://example.org/")


async def test_a_stream_of_events_has_a_limit_for_each_of_them(pages: PageServer) -> None:
    events = b"".join(b"data: %s\n\n" % (b"x" * 900) for _ in range(100))
    pages.pages["/events"] = Reply(events, "text/event-stream")
    pages.pages["/event"] = Reply(b"data: " + b"x" * 2_000_000, "text/event-stream")
    async with httpx.AsyncClient(headers=ACCEPTED, event_hooks=bounded(100_000)) as client:
        assert (await client.get(f"{pages.url}/events")).content == events
        with pytest.raises(httpx.DecodingError, match="more than 100,000"):
            await client.get(f"{pages.url}/event")


async def test_an_mcp_server_whose_bodies_unfold_is_down_and_no_more(pages: PageServer, tmp_path: Path) -> None:
    answer = b'{"jsonrpc": "2.0", "id": 0, "result": {}}' + b" " * 2**20
    packed = gzip.compress(gzip.compress(answer))
    pages.pages["/mcp"] = Reply(packed, "application/json", headers={"content-encoding": "gzip, gzip"})
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"wiki": {"url": f"{pages.url}/mcp"}}}))
    async with mcp_tools(Settings(mcp_file=file, mcp_timeout_seconds=5), Toolbox(), warn=False) as [state]:
        assert state.status == "down"
        assert pages.requests[0].headers["accept-encoding"] == "gzip, deflate"


async def test_a_web_search_whose_body_unfolds_is_an_error(pages: PageServer) -> None:
    pages.pages["/search"] = _packed(bomb(1, layers=2), "gzip, gzip")
    settings = Settings(tavily_api_key=SecretStr("tvly-x"), tavily_base_url=pages.url)
    with pytest.raises(ServiceError, match=r"Tavily.*only one layer"):
        await _search(settings, "lamps", 1)


async def test_embeddings_whose_body_unfolds_are_an_error(pages: PageServer) -> None:
    pages.pages["/v1/embeddings"] = _packed(bomb(1, layers=2), "gzip, gzip")
    embedder = open_embedder("openai:m", api_key=SecretStr("sk-x"), base_url=f"{pages.url}/v1", max_retries=0)
    with pytest.raises(EmbeddingError):
        await embedder.passages(["lamp"])
