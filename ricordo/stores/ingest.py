"""From a path, an address or an arXiv id to the knowledge base, one document after the other.

```python
async for outcome in ingest(Ingestion(knowledge_base, settings, "alice"), "papers/"):
    print(outcome.source, outcome.status, outcome.detail)
```
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ricordo.common.bodies import MAX_BYTES
from ricordo.common.errors import DocumentError, InputError, NotFoundError, ServiceError
from ricordo.common.secrets import without_login
from ricordo.common.settings import Settings
from ricordo.common.text import clean
from ricordo.readers.arxiv import fetch_metadata, fetch_pdf
from ricordo.readers.cage import Limits
from ricordo.readers.chunks import CHUNK_OVERLAP, CHUNK_SIZE, check_sizes
from ricordo.readers.download import Download, download
from ricordo.readers.kinds import FORMATS, read_document
from ricordo.readers.pages import Document
from ricordo.readers.papers import ArxivId, Paper, parse_id
from ricordo.stores.knowledge_base import KnowledgeBase, content_hash

Progress = Callable[[str, int, int], None]
"""Called with a document's source, its chunks embedded so far, and all of them."""
Status = Literal["new", "unchanged", "replaced", "skipped", "failed"]

_ARXIV_HOSTS = frozenset({"arxiv.org", "www.arxiv.org", "export.arxiv.org"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one document."""

    source: str
    """What it is cited by."""
    status: Status
    title: str = ""
    pages: int | None = None
    chunks: int = 0
    detail: str = ""
    """Why it failed or was passed over, or what somebody who relies on its text should know."""


@dataclass(frozen=True, slots=True)
class Ingestion:
    """Where documents go and how they are cut."""

    knowledge_base: KnowledgeBase
    settings: Settings
    """Addresses and time limits."""
    user_id: str
    """Whose documents they are."""
    chunk_size: int = CHUNK_SIZE
    """Longest chunk, in characters."""
    chunk_overlap: int = CHUNK_OVERLAP
    """Characters that a chunk may repeat of the one before it."""
    progress: Progress | None = None
    """Told how far the embedding is."""

    async def store(self, source: str, document: Document, metadata: dict[str, object]) -> Outcome:
        """Store what was read."""
        report = self.progress
        result = await self.knowledge_base.add_document(
            self.user_id,
            source,
            document,
            metadata=metadata,
            chunk_size=self.chunk_size,
            chunk_overlap=self.chunk_overlap,
            progress=(lambda done, total: report(source, done, total)) if report else None,
        )
        detail = "; ".join(filter(None, (*document.notes, result.note)))
        return Outcome(source, result.change, document.title, document.page_count, result.chunks, detail)


async def ingest(job: Ingestion, target: str) -> AsyncIterator[Outcome]:
    """Store the documents that a target names; one that fails does not stop the others.

    Args:
        job: Where they go, and how they are cut.
        target: A file, a directory (with those below it), an http(s) address, or `arxiv:ID`.

    Yields:
        One outcome for each document, as it is done.

    Raises:
        InputError: The chunk size or the overlap is out of bounds.
        DatabaseError: The database cannot be reached.
        EmbeddingError: The embedding model cannot be loaded or reached.
    """
    check_sizes(job.chunk_size, job.chunk_overlap)
    target = clean(target).strip()
    try:
        saved = await _save_from_afar(job, target)
    except (InputError, ServiceError) as error:
        saved = Outcome(without_login(target), "failed", detail=without_login(str(error)))
    if saved is not None:
        yield saved
        return
    if not target:
        yield Outcome(target, "failed", detail="Nothing is named: give a file, a directory, an address or arxiv:ID.")
        return
    path, is_directory = await asyncio.to_thread(_local, target)
    if is_directory:
        async for outcome in _save_directory(job, path):
            yield outcome
    else:
        yield await _save_file(job, path, path.name or target)


def _local(target: str) -> tuple[Path, bool]:
    """Return the path that a target names, and whether it is a directory."""
    path = os.path.expanduser(target)  # noqa: PTH111 - pathlib's raises where there is no such user
    return Path(path), os.path.isdir(path)  # noqa: PTH112 - pathlib's raises where a name is too long


async def _save_from_afar(job: Ingestion, target: str) -> Outcome | None:
    """Store a paper or what an address holds; None if the target is neither."""
    found = re.match(r"(?i)arxiv:|https?://(?P<host>[^/?#]*)(?P<path>/[a-z]+/)?", target)
    if found is None:
        return None
    if found["host"] is None or (found["host"].lower() in _ARXIV_HOSTS and found["path"] in {"/abs/", "/pdf/"}):
        return await save_paper(job, parse_id(target))
    return await _save_address(job, target)


async def save_paper(job: Ingestion, paper: ArxivId) -> Outcome:
    """Store a paper of arXiv under `arxiv:ID`; title and authors come from the search, the text from the PDF.

    Raises:
        NotFoundError: arXiv has no such paper, or it was withdrawn and its text is gone.
        DocumentError: Its PDF cannot be read; the message tells why.
        ServiceError: arXiv cannot be reached or does not answer as it should.
    """
    source = f"arxiv:{paper.base}"
    about = asyncio.create_task(_metadata(job.settings, paper))
    try:
        pdf = await _pdf(job.settings, paper, about)
        document = await read_document(pdf.data, f"{source}.pdf", limits=Limits.of(job.settings))
        known = await about
    finally:
        about.cancel()
    metadata: dict[str, object] = {"url": f"https://arxiv.org/abs/{paper}", "arxiv_id": str(paper)}
    if known is not None:
        taken_back = (f"this paper was withdrawn: {known.withdrawn}",) if known.withdrawn else ()
        document = replace(document, title=known.title, notes=(*document.notes, *taken_back))
        metadata |= {"authors": list(known.authors), "published": known.published, "arxiv_id": known.id}
    elif (stored := await job.knowledge_base.find(job.user_id, source)) is not None:
        document = replace(document, title=stored.title)  # a title once known is not lost while the search is down
        metadata = stored.metadata | metadata
    elif document.title == source:
        document = replace(document, title=f"arXiv:{paper}")
    return await job.store(source, document, {key: value for key, value in metadata.items() if value})


async def _pdf(settings: Settings, paper: ArxivId, about: asyncio.Task[Paper | None]) -> Download:
    """Get the paper; of one that was withdrawn and has no text any more, say so."""
    try:
        return await fetch_pdf(settings, paper)
    except NotFoundError:
        known = await about
        if known is None or not known.withdrawn:
            raise
        raise NotFoundError(
            f'"{known.title}" (arXiv:{known.id}) was withdrawn, and this version has no text: {known.withdrawn}. '
            f"An earlier version may still be there: {paper.base}v1."
        ) from None


async def _metadata(settings: Settings, paper: ArxivId) -> Paper | None:
    try:
        return await fetch_metadata(settings, paper)
    except (ServiceError, NotFoundError):  # the paper itself is what was asked for; without it the PDF's error says so
        return None


async def _save_address(job: Ingestion, url: str) -> Outcome:
    """Store what an address holds, under that address; a name and a password in it are for its server alone."""
    address, _, _ = url.partition("#")
    source = without_login(address)
    settings = job.settings
    got = await download(address, source, seconds=settings.http_timeout_seconds, allowed=settings.allowed_hosts)
    document = await read_document(
        got.data,
        source,
        path=re.sub(r"\?.*", "", source),
        content_type=got.content_type,
        encoding=got.encoding,
        limits=Limits.of(settings),
    )
    return await job.store(source, document, {"url": got.url})


async def _save_directory(job: Ingestion, root: Path) -> AsyncIterator[Outcome]:
    files = await asyncio.to_thread(_files_below, root)
    if not files:
        yield Outcome(str(root), "failed", detail=f"{root} holds no file: give a directory with {_taken()} files.")
    for file in files:
        shown = file.relative_to(root).as_posix()
        if not await asyncio.to_thread(_is_inside, file, root):
            yield Outcome(clean(shown), "skipped", detail="it is a link that leads out of the directory")
        elif file.suffix.lower() in FORMATS:
            yield await _save_file(job, file, shown)
        else:
            yield Outcome(clean(shown), "skipped", detail=f"only {_taken()} files are taken from a directory")


def _taken() -> str:
    return ", ".join(FORMATS)


def _files_below(root: Path) -> list[Path]:
    """List files in the order of their names; hidden ones are left out, links to directories are not followed."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(folder, name) for name in sorted(names) if not name.startswith(".")]
    return found


def _is_inside(file: Path, root: Path) -> bool:
    try:
        return file.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # a link to itself, which reading will tell of
        return True


async def _save_file(job: Ingestion, path: Path, shown: str) -> Outcome:
    shown = clean(shown)
    try:
        data = await asyncio.to_thread(_read, path, shown)
        document = await read_document(data, shown, limits=Limits.of(job.settings))
        where = clean(str(await asyncio.to_thread(path.resolve)))
        source = await _source(job, document, shown, where)
        return await job.store(source, document, {"path": where})
    except InputError as error:
        return Outcome(shown, "failed", detail=str(error))


def _read(path: Path, shown: str) -> bytes:
    try:
        if not path.exists():
            raise DocumentError(
                f"There is no file or directory '{clean(str(path))}'. Check the path; "
                "a paper is named as arxiv:2310.08560."
            )
        if not path.is_file():
            raise DocumentError(f"{shown} is no regular file: only files and directories can be read.")
        if (size := path.stat().st_size) > MAX_BYTES:
            raise DocumentError(
                f"{shown} has {size // 2**20} MB, and at most {MAX_BYTES // 2**20} are taken. Split the file."
            )
        return path.read_bytes()
    except OSError as error:
        raise DocumentError(f"{shown} cannot be read ({error.strerror}). Check its permissions.") from error


async def _source(job: Ingestion, document: Document, shown: str, where: str) -> str:
    """Return what to cite a file by: its name, with as many folders as tell it from another file of that name."""
    digest = content_hash(document, job.chunk_size, job.chunk_overlap)
    parts, least = Path(where).parts, len(Path(shown).parts)
    for name in (shown, *(Path(*parts[-take:]).as_posix() for take in range(least + 1, len(parts)))):
        stored = await job.knowledge_base.find(job.user_id, name)
        if stored is None or stored.metadata.get("path") == where or stored.content_hash == digest:
            return name
    return where
