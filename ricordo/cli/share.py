"""`ricordo share`: what users let each other read."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ricordo.cli.parts import options, output
from ricordo.cli.parts.stores import open_memory
from ricordo.cli.parts.tables import write_list

if TYPE_CHECKING:
    from ricordo.stores.sharing import Share

app = typer.Typer(help="What users let each other read.")

_Giver = Annotated[str, typer.Option("--from", metavar="NAME", help="Whose memory it is.")]
_Names = Annotated[list[str] | None, typer.Option(metavar="NAME")]


@app.command("add")
@output.command
async def add(
    giver: _Giver,
    to: Annotated[str | None, typer.Option("--to", metavar="NAME", help="The user who may read it.")] = None,
    team: Annotated[str | None, typer.Option("--team", metavar="TEAM", help="Or the team that may.")] = None,
    kind: Annotated[
        Literal["user_memory", "knowledge_base"], typer.Option("--kind", help="Memories, or documents.")
    ] = "user_memory",
    tag: Annotated[str | None, typer.Option("--tag", metavar="TAG", help="Only memories with this tag.")] = None,
    as_json: options.Json = False,
) -> None:
    """Let a user or a team read what another user remembers, from their next question on.

    \b
    Examples:
      ricordo share add --from anna --to berta
      ricordo share add --from anna --to berta --tag boats
      ricordo share add --from anna --team crew --kind knowledge_base
    """
    from ricordo.stores.sharing import add_share

    async with open_memory(None) as memory:
        share = await add_share(
            memory.db,
            output.as_text(giver),
            kind=kind,
            with_user=output.as_text(to) if to is not None else None,
            with_team=output.as_text(team) if team is not None else None,
            tag=output.as_text(tag) if tag is not None else None,
        )
    _report(share, "shared", as_json=as_json)


@app.command("list")
@output.command
async def list_shares(
    user: options.User = options.DEFAULT_USER,
    revoked: Annotated[bool, typer.Option("--revoked", help="Also what was taken back.")] = False,
    as_json: options.Json = False,
) -> None:
    """List what a user has shared and what was shared with that user.

    \b
    Examples:
      ricordo share list --user anna
      ricordo share list --user berta --revoked --json
    """
    from ricordo.stores.sharing import shares_of

    name = output.as_text(user)
    async with open_memory(None) as memory:
        shares = await shares_of(memory.db, name, revoked=revoked)
    write_list(
        {"user_id": name, "shares": list(map(asdict, shares))},
        ["from", "with", "kind", "tag", "since", "revoked", "id"],
        [(s.user_id, _receiver(s), s.kind, s.tag, s.created_at, s.revoked_at, s.id) for s in shares],
        f"'{output.plain(name)}' shares nothing, and nothing is shared with that user.",
        as_json=as_json,
    )


@app.command("revoke")
@output.command
async def revoke(
    share: Annotated[str, typer.Argument(metavar="ID", help="The share's id, as in the list.")],
    giver: _Giver,
    as_json: options.Json = False,
) -> None:
    """Take a share back; the other's next question sees nothing of it any more.

    \b
    Examples:
      ricordo share revoke 1b4e28ba-2fa1-41d2-883f-0016d3cca427 --from anna
    """
    from ricordo.stores.sharing import revoke_share

    async with open_memory(None) as memory:
        taken_back = await revoke_share(memory.db, output.as_text(giver), share)
    _report(taken_back, "revoked", as_json=as_json)


@app.command("team")
@output.command
async def team(
    name: Annotated[str, typer.Argument(metavar="TEAM", help="The team's name.")],
    add: _Names = None,
    remove: _Names = None,
    as_json: options.Json = False,
) -> None:
    """Show who is in a team, put users in it, or take them out; the first one makes it.

    \b
    Examples:
      ricordo share team crew --add berta --add carla
      ricordo share team crew --remove carla
      ricordo share team crew
    """
    from ricordo.stores.sharing import change_team

    async with open_memory(None) as memory:
        own = [[output.as_text(one) for one in names or []] for names in (add, remove)]
        members = await change_team(memory.db, output.as_text(name), add=own[0], remove=own[1])
    if as_json:
        output.write_json({"team": output.as_text(name), "members": members})
    elif members:
        output.write("".join(f"{output.plain(member)}\n" for member in members))
    else:
        output.note(f"Nobody is in the team '{output.plain(name)}'.")


def _report(share: "Share", what: str, *, as_json: bool) -> None:
    if as_json:
        output.write_json(asdict(share))
        return
    tagged = f" tagged '{output.plain(share.tag)}'" if share.tag is not None else ""
    line = f"{what}: {share.kind} of {share.user_id}{tagged}, with {_receiver(share)}"
    output.write(f"{share.id}\n")
    output.note(output.plain(line))


def _receiver(share: "Share") -> str:
    return share.with_user if share.with_user is not None else f"team {share.with_team}"
