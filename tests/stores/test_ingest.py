import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from ricordo.common.errors import InputError
from ricordo.common.settings import Settings
from ricordo.models.embeddings import Embedder
from ricordo.stores.ingest import Ingestion, Outcome, ingest
from ricordo.stores.knowledge_base import KnowledgeBase
from ricordo.stores.postgres.database import Database
from ricordo.stores.search.vectors import VectorMemory, make_query
from tests.support.pdfs import BAD, text_pdf
from tests.support.stand_ins.arxiv_server import ArxivServer
from tests.support.stand_ins.local_server import Reply
from tests.support.stand_ins.page_server import PageServer

ROOT = Path(__file__).parents[2]


@pytest.fixture
def knowledge_base(db: Database, embedder: Embedder) -> KnowledgeBase:
    return KnowledgeBase(db, VectorMemory("knowledge_base", embedder))


@pytest.fixture
def arxiv() -> Iterator[ArxivServer]:
    with ArxivServer() as server:
        yield server


@pytest.fixture
def pages() -> Iterator[PageServer]:
    with PageServer() as server:
        yield server


@pytest.fixture
def settings(arxiv: ArxivServer, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in arxiv.settings().items():
        monkeypatch.setenv(name, value)
    return Settings()


async def run(knowledge_base: KnowledgeBase, settings: Settings, target: Path | str) -> list[Outcome]:
    return [outcome async for outcome in ingest(Ingestion(knowledge_base, settings, "ada"), str(target))]


async def best(knowledge_base: KnowledgeBase, text: str) -> str:
    found = await knowledge_base.search("ada", await make_query(knowledge_base.vectors.embedder, text), 1)
    return found[0].render(1)


async def test_a_directory_is_taken_file_by_file(
    knowledge_base: KnowledgeBase, settings: Settings, tmp_path: Path
) -> None:
    root = tmp_path / "my docs"
    (root / "guide").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "tides.pdf").write_bytes(text_pdf(["First page.", "The spring tide rises seven metres."], pages_end=[0]))
    (root / "guide" / "setup.md").write_text("# Guide\n## Lamp\nClean the lens with vinegar.\n")
    (root / "guide" / "log.txt").write_bytes("Il guardiano è già là.".encode("cp1252"))
    (root / "page.HTM").write_text("<html><title>Ferry</title><p>The ferry is blue.</p></html>")
    (root / "bad.pdf").write_bytes(BAD["encrypted"]())
    (root / "data.csv").write_text("1,2")
    (root / ".hidden.md").write_text("secret")
    (root / ".git" / "x.md").write_text("secret")
    (root / "loop").symlink_to(root)
    outcomes = {outcome.source: outcome for outcome in await run(knowledge_base, settings, root)}
    assert {source: outcome.status for source, outcome in outcomes.items()} == {
        "bad.pdf": "failed",
        "data.csv": "skipped",
        "page.HTM": "new",
        "tides.pdf": "new",
        "guide/log.txt": "new",
        "guide/setup.md": "new",
    }
    assert "encrypted" in outcomes["bad.pdf"].detail
    assert ".pdf, .md" in outcomes["data.csv"].detail
    assert (outcomes["tides.pdf"].pages, outcomes["tides.pdf"].chunks) == (2, 2)
    assert "source=tides.pdf, page 2" in await best(knowledge_base, "how high is the spring tide")
    shown = await best(knowledge_base, "what cleans the lens")
    assert 'source=guide/setup.md title="Guide" section="Guide > Lamp"' in shown
    assert "è già là" in await best(knowledge_base, "il guardiano")
    again = await run(knowledge_base, settings, root)
    assert {outcome.status for outcome in again if outcome.chunks} == {"unchanged"}


async def test_a_changed_file_replaces_its_old_text(
    knowledge_base: KnowledgeBase, settings: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "a.txt"
    for text, status in (("The ferry is blue.", "new"), ("The ferry is red.", "replaced")):
        file.write_text(text)
        assert [outcome.status for outcome in await run(knowledge_base, settings, file)] == [status]
    assert "red" in await best(knowledge_base, "ferry")
    assert len(await knowledge_base.documents("ada")) == 1


async def test_files_of_one_name_do_not_push_each_other_out(
    knowledge_base: KnowledgeBase, settings: Settings, tmp_path: Path
) -> None:
    for folder, text in (("north", "The north lamp is white."), ("south", "The south lamp is green.")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "notes.txt").write_text(text)
    sources = [
        (await run(knowledge_base, settings, tmp_path / folder / "notes.txt"))[0].source
        for folder in ("north", "south", "south", "north")
    ]
    assert sources == ["notes.txt", "south/notes.txt", "south/notes.txt", "notes.txt"]
    (tmp_path / "east").mkdir()
    (tmp_path / "north" / "notes.txt").rename(tmp_path / "east" / "notes.txt")
    moved = (await run(knowledge_base, settings, tmp_path / "east" / "notes.txt"))[0]
    assert (moved.source, moved.status) == ("notes.txt", "unchanged")


@pytest.mark.parametrize("fault", BAD)
async def test_a_bad_pdf_fails_by_name_and_leaves_nothing(
    knowledge_base: KnowledgeBase, settings: Settings, tmp_path: Path, fault: str
) -> None:
    file = tmp_path / "bad.pdf"
    file.write_bytes(BAD[fault]())
    outcome = (await run(knowledge_base, settings, file))[0]
    assert (outcome.status, outcome.source) == ("failed", "bad.pdf")
    assert outcome.detail.startswith("bad.pdf ")
    assert await knowledge_base.documents("ada") == []


async def test_what_cannot_be_read_is_a_failed_outcome(
    knowledge_base: KnowledgeBase, settings: Settings, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "nothing").mkdir()
    (tmp_path / "broken.md").symlink_to(tmp_path / "gone.md")
    expected = {
        str(tmp_path / "none.pdf"): "There is no file or directory",
        "": "Nothing is named",
        "~nobody-of-that-name/x.pdf": "There is no file or directory",
        str(tmp_path / "pipe.txt"): "no regular file",
        str(tmp_path / "nothing"): "holds no file",
        str(tmp_path / "broken.md"): "There is no file or directory",
        str(tmp_path / ("x" * 300)): "cannot be read",
        "arxiv:MemGPT": "not an arXiv id",
        "http://127.0.0.1:1/x": "cannot be reached",
        "http://[::1": "cannot be reached",
    }
    for target, reason in expected.items():
        outcomes = await run(knowledge_base, settings, target)
        assert [(outcome.status, reason in outcome.detail) for outcome in outcomes] == [("failed", True)], outcomes


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_a_file_without_permission_is_a_failed_outcome(
    knowledge_base: KnowledgeBase, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "a.txt").chmod(0)
    assert "permissions" in (await run(knowledge_base, settings, tmp_path / "a.txt"))[0].detail


async def test_a_file_name_that_is_no_unicode_is_taken(
    knowledge_base: KnowledgeBase, settings: Settings, tmp_path: Path
) -> None:
    file = tmp_path / os.fsdecode(b"caf\xe9.txt")
    try:
        file.write_text("The café is closed.")
    except OSError:
        pytest.skip("this file system takes Unicode only")
    outcomes = await run(knowledge_base, settings, tmp_path)
    assert [outcome.source for outcome in outcomes] == ["caf\ufffd.txt"]
    assert (await run(knowledge_base, settings, tmp_path))[0].status == "unchanged"


async def test_addresses_are_taken_by_what_they_hold(
    knowledge_base: KnowledgeBase, settings: Settings, pages: PageServer
) -> None:
    pages.pages = {
        "/ferry": Reply(b"<html><title>Ferry</title><p>The ferry is blue.</p></html>", "text/html; charset=utf-8"),
        "/tides.pdf": Reply(text_pdf(["The tide is high."]), "application/octet-stream"),
        "/notes.md": Reply(b"# Notes\nThe lamp is green.", "text/plain"),
        "/locked.pdf": Reply(b"<html><p>Log in first.</p></html>", "text/html"),
    }
    for path, title in (("/ferry#top", "Ferry"), ("/tides.pdf?v=2", "tides"), ("/notes.md", "Notes")):
        outcome = (await run(knowledge_base, settings, pages.url + path))[0]
        assert (outcome.status, outcome.title) == ("new", title), outcome
    assert f"source={pages.url}/ferry title" in await best(knowledge_base, "which colour has the ferry")
    locked = (await run(knowledge_base, settings, f"{pages.url}/locked.pdf"))[0]
    assert "web page" in locked.detail
    missing = (await run(knowledge_base, settings, f"{pages.url}/none"))[0]
    assert "404" in missing.detail


async def test_a_paper_is_taken_with_what_arxiv_tells_of_it(
    knowledge_base: KnowledgeBase, settings: Settings, arxiv: ArxivServer
) -> None:
    outcome = (await run(knowledge_base, settings, "arxiv:2310.08560v2"))[0]
    assert (outcome.status, outcome.source, outcome.pages) == ("new", "arxiv:2310.08560", 2)
    assert outcome.title == "MemGPT: Towards LLMs as Operating Systems"
    stored = await knowledge_base.find("ada", "arxiv:2310.08560")
    assert stored is not None
    assert stored.metadata["authors"][0] == "Charles Packer"
    assert stored.metadata["published"] == "2023-10-12"
    assert "source=arxiv:2310.08560, page 2" in await best(knowledge_base, "when does the queue manager evict messages")
    by_address = (await run(knowledge_base, settings, "https://arxiv.org/abs/2310.08560"))[0]
    assert (by_address.source, by_address.status) == ("arxiv:2310.08560", "unchanged")
    assert arxiv.requests[-1].path in {"/pdf/2310.08560", "/api/query"}


async def test_a_paper_is_saved_while_the_search_is_down_and_keeps_its_title(
    knowledge_base: KnowledgeBase, settings: Settings, arxiv: ArxivServer
) -> None:
    arxiv.api_down = True
    outcome = (await run(knowledge_base, settings, "arxiv:1706.03762"))[0]
    assert (outcome.status, outcome.title) == ("new", "arXiv:1706.03762")
    arxiv.api_down = False
    assert (await run(knowledge_base, settings, "arxiv:1706.03762"))[0].title == "Attention Is All You Need"
    arxiv.api_down = True
    again = (await run(knowledge_base, settings, "arxiv:1706.03762"))[0]
    assert (again.status, again.title) == ("unchanged", "Attention Is All You Need")


@pytest.mark.parametrize("fault", BAD)
async def test_a_paper_with_a_bad_pdf_fails_by_name(
    knowledge_base: KnowledgeBase, settings: Settings, arxiv: ArxivServer, fault: str
) -> None:
    arxiv.pdf = fault
    outcome = (await run(knowledge_base, settings, "arxiv:2310.08560"))[0]
    assert outcome.status == "failed"
    assert "2310.08560" in outcome.detail
    assert await knowledge_base.documents("ada") == []


async def test_chunk_sizes_are_checked_before_anything_is_fetched(
    knowledge_base: KnowledgeBase, settings: Settings, arxiv: ArxivServer
) -> None:
    with pytest.raises(InputError, match="chunk_size"):
        async for _ in ingest(Ingestion(knowledge_base, settings, "ada", chunk_size=3), "arxiv:2310.08560"):
            pass
    assert not arxiv.requests


async def test_progress_names_the_document(knowledge_base: KnowledgeBase, settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The ferry is blue.")
    seen: list[tuple[str, int, int]] = []
    job = Ingestion(knowledge_base, settings, "ada", progress=lambda *args: seen.append(args))
    async for _ in ingest(job, str(tmp_path / "a.txt")):
        pass
    assert seen == [("a.txt", 1, 1)]


SLOW = dedent("""
    import asyncio, sys, time
    from ricordo.models.embeddings import open_embedder
    from ricordo.common.settings import Settings
    from ricordo.stores.postgres.database import Database
    from ricordo.stores.ingest import Ingestion, ingest
    from ricordo.stores.knowledge_base import KnowledgeBase
    from ricordo.stores.search.vectors import VectorMemory

    async def main():
        async with Database.open(sys.argv[1]) as db:
            knowledge_base = KnowledgeBase(db, VectorMemory("knowledge_base", open_embedder("local")))
            # Progress is told, and then nothing more happens: it is killed here.
            say = lambda source, done, total: (print(done, total, flush=True), time.sleep(600))
            async for _ in ingest(Ingestion(knowledge_base, Settings(), "ada", 100, 0, say), sys.argv[2]):
                print("done", flush=True)

    asyncio.run(main())
""")


async def test_a_killed_ingestion_leaves_no_half_document_and_is_taken_up_again(
    knowledge_base: KnowledgeBase, settings: Settings, dsn: str, tmp_path: Path
) -> None:
    file = tmp_path / "long.txt"
    file.write_text("\n\n".join(f"Entry {n}: the lamp burned {n * 3} litres that night." for n in range(80)))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SLOW, dsn, str(file), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    first = (await asyncio.wait_for(process.stdout.readline(), 240)).split()
    process.send_signal(signal.SIGKILL)
    await process.communicate()
    assert int(first[0]) < int(first[1])
    assert await knowledge_base.documents("ada") == []
    outcome = (await run(knowledge_base, settings, file))[0]
    assert outcome.status == "new"
    assert "237 litres" in await best(knowledge_base, "Entry 79")
