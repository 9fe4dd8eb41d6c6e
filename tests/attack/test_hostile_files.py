"""Files that take all the time or memory there is cost no more than their limits, and nobody else anything."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from ricordo.common.errors import DocumentError
from ricordo.readers import cage
from ricordo.readers.cage import Limits
from ricordo.readers.kinds import read_document
from tests.support.bombs import crowded_html, nested_pdf, unfolding_pdf
from tests.support.pdfs import text_pdf


@pytest.mark.parametrize(
    ("data", "name"), [(nested_pdf(), "forms.pdf"), (crowded_html(60_000), "tag.html")], ids=["pdf", "html"]
)
async def test_a_file_that_takes_for_ever_is_given_up_and_the_loop_goes_on(data: bytes, name: str) -> None:
    reading = asyncio.create_task(read_document(data, name, limits=Limits(seconds=0.5)))
    turns = 0
    while not reading.done():
        await asyncio.sleep(0.01)
        turns += 1
    assert turns > 5, "the event loop stood still"
    with pytest.raises(DocumentError, match=r"within 0\.5 s.*RICORDO_DOCUMENT_TIMEOUT_SECONDS"):
        await reading
    assert (await read_document(b"lamp", "a.txt")).pages[0].text == "lamp"


async def test_a_file_that_unfolds_is_given_up_at_its_limit_of_memory() -> None:
    with pytest.raises(DocumentError, match="more than 48 MB of memory"):
        await read_document(unfolding_pdf(8), "unfolding.pdf", limits=Limits(memory_mb=48))
    assert (await read_document(text_pdf(["lit"]), "a.pdf", limits=Limits(memory_mb=48))).pages[0].text == "lit"


async def test_a_text_beyond_the_limit_of_output_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cage, "MOST_OUTPUT", 1000)
    with pytest.raises(DocumentError):
        await read_document(b"x" * 1001, "a.txt")


async def test_a_reading_that_is_cancelled_ends_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, begun = asyncio.get_running_loop(), asyncio.Event()
    used: list[cage._Child] = []
    ask = cage._Child.ask

    def noting(child: cage._Child, request: bytes, data: bytes) -> object:
        used.append(child)
        loop.call_soon_threadsafe(begun.set)
        return ask(child, request, data)

    monkeypatch.setattr(cage._Child, "ask", noting)
    reading = asyncio.create_task(read_document(nested_pdf(), "forms.pdf"))
    await begun.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert await asyncio.to_thread(used[0].process.wait, 60) == -signal.SIGKILL


async def test_a_parser_that_breaks_down_is_that_files_error() -> None:
    await read_document(b"lamp", "a.txt")
    child = cage._idle.take()
    os.kill(child.process.pid, signal.SIGSEGV)
    child.process.wait(60)
    cage._idle.give_back(child)
    with pytest.raises(DocumentError, match=rf"parser broke down \(exit code {-signal.SIGSEGV}\)"):
        await read_document(b"lamp", "a.txt")
    assert (await read_document(b"lamp", "a.txt")).pages[0].text == "lamp"


async def test_a_process_that_has_gone_home_is_replaced_without_a_word() -> None:
    await read_document(b"lamp", "a.txt")
    child = cage._idle.take()
    os.kill(child.process.pid, signal.SIGALRM)
    child.process.wait(60)
    cage._idle.give_back(child)
    assert (await read_document(b"lamp", "a.txt")).pages[0].text == "lamp"


def test_one_process_reads_one_document_after_the_other_and_knows_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    cage._idle.close()
    used = set()
    for name in ("a.txt", "b.md", "c.html"):
        asyncio.run(read_document(b"lamp", name))
        child = cage._idle.take()
        used.add(child.process.pid)
        variables = Path(f"/proc/{child.process.pid}/environ")
        assert not variables.exists() or b"sk-secret" not in variables.read_bytes()
        cage._idle.give_back(child)
    assert len(used) == 1


async def test_a_process_that_grew_is_replaced_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        cage, "_START", cage._START.replace("serve()", "import ricordo.readers.caged as c; c._GROWN = 1; serve()")
    )
    cage._idle.close()
    for _ in range(5):
        assert (await read_document(b"lamp", "a.txt")).pages[0].text == "lamp"
    cage._idle.close()
