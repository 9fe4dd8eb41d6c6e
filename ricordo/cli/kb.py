"""`ricordo kb`: the documents of the knowledge base."""

from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from ricordo.cli.parts import options, output
from ricordo.cli.parts.stores import open_memory
from ricordo.cli.parts.tables import write_list

if TYPE_CHECKING:
    from ricordo.stores.knowledge_base import StoredDocument
    from ricordo.stores.manager import MemoryManager

app = typer.Typer(help="The documents of the knowledge base.")

_Document = Annotated[str, typer.Argument(metavar="DOCUMENT", help="A document's id or its source, as in the list.")]


@app.command("list")
@output.command
async def list_documents(user: options.Owner = None, as_json: options.Json = False) -> None:
    """List documents, the latest first: those for everyone, with --user also that user's own.

    \b
    Examples:
      ricordo kb list
      ricordo kb list --json | jq -r '.documents[].source'
    """
    async with open_memory(user) as memory:
        documents = await memory.knowledge_base.documents(memory.user_id)
    owners = ["everyone" if d.user_id == "*" else d.user_id for d in documents]
    write_list(
        {"user_id": memory.user_id, "documents": list(map(_plain, documents))},
        ["source", "title", "for", "pages", "chunks", "stored", "id"],
        [
            (d.source, d.title, who, d.pages, d.chunks, d.created_at, d.id)
            for d, who in zip(documents, owners, strict=True)
        ],
        "There are no documents yet: ricordo ingest PATH stores some.",
        as_json=as_json,
    )


@app.command("show")
@output.command
async def show_document(document: _Document, user: options.Owner = None, as_json: options.Json = False) -> None:
    """Show what is known of a document.

    \b
    Examples:
      ricordo kb show paper.pdf
      ricordo kb show arxiv:2310.08560 --json
    """
    async with open_memory(user) as memory:
        known = _plain(await _find(memory, output.as_text(document)))
    if as_json:
        output.write_json(known)
    else:
        flat = known | known.pop("metadata")
        lines = [f"{name:<12} {output.plain(str(value))}\n" for name, value in flat.items() if value is not None]
        output.write("".join(lines))


@app.command("delete")
def delete_document(
    document: _Document,
    user: options.Owner = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a document and its chunks, for good.

    \b
    Examples:
      ricordo kb delete paper.pdf
      ricordo kb delete arxiv:2310.08560 --yes
    """

    async def delete() -> None:
        async with open_memory(user) as memory:
            found = await _find(memory, output.as_text(document))
            if not yes:
                with output.answered():
                    sure = typer.confirm(f"Delete {output.plain(found.source)} with its {found.chunks} chunks?")
                if not sure:
                    raise typer.Abort
            await memory.knowledge_base.delete(memory.user_id, found.id)
        output.note(f"deleted {output.plain(found.source)} ({found.chunks} chunks)")

    output.run(delete)


async def _find(memory: "MemoryManager", name: str) -> "StoredDocument":
    """Find a document by its source or its id."""
    from ricordo.common.errors import NotFoundError

    base = memory.knowledge_base
    if (found := await base.find(memory.user_id, name)) is not None:
        return found
    try:
        return await base.document(memory.user_id, UUID(name))
    except ValueError:
        raise NotFoundError(
            f"There is no document '{name}'. `ricordo kb list` shows what everyone may read, --user NAME a user's own."
        ) from None


def _plain(document: "StoredDocument") -> dict[str, Any]:
    return {
        "id": str(document.id),
        "source": document.source,
        "title": document.title,
        "kind": document.kind,
        "pages": document.pages,
        "chunks": document.chunks,
        "created_at": document.created_at.isoformat(),
        "content_hash": document.content_hash.hex(),
        "metadata": document.metadata,
    }
