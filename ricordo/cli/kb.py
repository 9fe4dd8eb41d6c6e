"""`ricordo kb`: the documents of the knowledge base."""

from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from ricordo.cli.parts import options, output
from ricordo.cli.parts.stores import open_memory

if TYPE_CHECKING:
    from ricordo.stores.knowledge_base import StoredDocument
    from ricordo.stores.manager import MemoryManager

app = typer.Typer(help="The documents of the knowledge base.")

_Document = Annotated[str, typer.Argument(metavar="DOCUMENT", help="A document's id or its source, as in the list.")]


@app.callback()
def _group() -> None:
    """Look after the documents of the knowledge base; `ricordo ingest` adds to it."""


@app.command("list")
def list_documents(user: options.Owner = None, as_json: options.Json = False) -> None:
    """List documents, the latest first: those for everyone, with --user also that user's own.

    \b
    Examples:
      ricordo kb list
      ricordo kb list --json | jq -r '.documents[].source'
    """
    output.stdout()

    async def show() -> None:
        from ricordo.cli.parts.tables import write_table

        async with open_memory(output.as_text(user) if user is not None else None) as memory:
            documents = await memory.knowledge_base.documents(memory.user_id)
        if as_json:
            output.write_json({"user_id": memory.user_id, "documents": [_plain(each) for each in documents]})
        elif documents:
            write_table(
                ["source", "title", "for", "pages", "chunks", "stored", "id"],
                [
                    (
                        d.source,
                        d.title,
                        "everyone" if d.user_id == "*" else d.user_id,
                        d.pages,
                        d.chunks,
                        d.created_at,
                        d.id,
                    )
                    for d in documents
                ],
            )
        else:
            output.note("There are no documents yet: ricordo ingest PATH stores some.")

    output.run(show, as_json=as_json)


@app.command("show")
def show_document(document: _Document, user: options.Owner = None, as_json: options.Json = False) -> None:
    """Show what is known of a document.

    \b
    Examples:
      ricordo kb show paper.pdf
      ricordo kb show arxiv:2310.08560 --json
    """
    output.stdout()

    async def show() -> None:
        async with open_memory(output.as_text(user) if user is not None else None) as memory:
            known = _plain(await _find(memory, output.as_text(document)))
        if as_json:
            output.write_json(known)
        else:
            flat = known | known.pop("metadata")
            lines = [f"{name:<12} {output.plain(str(value))}\n" for name, value in flat.items() if value is not None]
            output.write("".join(lines))

    output.run(show, as_json=as_json)


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
        async with open_memory(output.as_text(user) if user is not None else None) as memory:
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
