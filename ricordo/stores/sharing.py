"""What users let each other read: shares and teams. The database decides by them, in `0005_sharing.sql`.

What is shared is read by transactions that are opened for it: `Database.transaction(user, shared=True)`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from ricordo.common.errors import InputError, NotFoundError
from ricordo.common.text import clean, parse_id
from ricordo.stores.postgres.database import EVERYONE, Database

Kind = Literal["user_memory", "knowledge_base"]
KINDS: tuple[Kind, ...] = ("user_memory", "knowledge_base")

_LONGEST_TAG = 60
_SELECT = "SELECT id, user_id, with_user, with_team, kind, tag, created_at, revoked_at FROM shares"


@dataclass(frozen=True, slots=True)
class Share:
    """Leave to read, given by one user to another one or to a team."""

    id: UUID
    user_id: str
    """Whose memory it is."""
    with_user: str | None
    with_team: str | None
    kind: Kind
    tag: str | None
    """Only memories with this tag; None: all of the kind."""
    created_at: datetime
    revoked_at: datetime | None


async def add_share(
    db: Database,
    user_id: str,
    *,
    kind: Kind,
    with_user: str | None = None,
    with_team: str | None = None,
    tag: str | None = None,
) -> Share:
    """Let another user or a team read a user's memory, from their next search on; again without effect.

    Args:
        db: The database.
        user_id: Whose memory it is.
        kind: `user_memory` or `knowledge_base`.
        with_user: Who may read it.
        with_team: Which team may, as it is at the time of reading.
        tag: Share only the memories with this tag.

    Raises:
        InputError: Not exactly one receiver is named, it is the user, or the tag does not fit.
        NotFoundError: There is no such team.
    """
    tag = None if tag is None else " ".join(clean(tag).casefold().split())  # as memories have them
    _check(user_id, with_user, with_team, kind, tag)
    if with_team is not None and not await team_members(db, with_team):
        raise NotFoundError(f"There is no team '{with_team}'. `ricordo share team {with_team} --add NAME` makes one.")
    async with db.transaction(user_id) as conn:
        await conn.execute(
            "INSERT INTO shares (user_id, with_user, with_team, kind, tag) VALUES (%s, %s, %s, %s, %s) "
            "ON CONFLICT DO NOTHING",
            (user_id, with_user, with_team, kind, tag),
        )
        cursor = await conn.execute(
            f"{_SELECT} WHERE user_id = %s AND kind = %s AND revoked_at IS NULL AND with_user IS NOT DISTINCT FROM %s "
            "AND with_team IS NOT DISTINCT FROM %s AND tag IS NOT DISTINCT FROM %s",
            (user_id, kind, with_user, with_team, tag),
        )
        (row,) = await cursor.fetchall()
    return Share(**row)


def _check(user_id: str, with_user: str | None, with_team: str | None, kind: Kind, tag: str | None) -> None:
    if (with_user is None) == (with_team is None):
        raise InputError("A share is with one user or with one team: name one of them, by --to or by --team.")
    for name in (user_id, with_user, with_team):
        if name is not None:
            _check_name(name)
    if with_user == user_id:
        raise InputError(f"'{user_id}' reads this memory anyway: it is that user's own. Name somebody else.")
    if tag is not None and kind != "user_memory":
        raise InputError("Only user memories have tags. Leave --tag away to share the whole knowledge base.")
    if tag is not None and not 0 < len(tag) <= _LONGEST_TAG:
        raise InputError(f"A tag has 1 to {_LONGEST_TAG} characters, and this one has {len(tag)}.")


def _check_name(name: str) -> None:
    if not name or name != clean(name).strip() or name == EVERYONE:
        raise InputError(
            f"'{clean(name)}' is no name of a user or a team: it is empty or reserved, or has spaces around it."
        )


async def revoke_share(db: Database, user_id: str, share_id: str) -> Share:
    """Take back a share: the next statement that begins sees nothing of it any more.

    Args:
        db: The database.
        user_id: Who gave it.
        share_id: Its id.

    Raises:
        NotFoundError: This user gave no such share, or has taken it back already.
    """
    async with db.transaction(user_id) as conn:
        cursor = await conn.execute(
            "UPDATE shares SET revoked_at = now() WHERE id = %s AND user_id = %s AND revoked_at IS NULL RETURNING *",
            (parse_id(share_id, "share"), user_id),
        )
        row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(
            f"'{user_id}' has given no share {share_id} that still holds. `ricordo share list --user {user_id}` shows "
            "those that do."
        )
    return Share(**row)


async def shares_of(db: Database, user_id: str, *, revoked: bool = False) -> list[Share]:
    """List what a user has given and what it was given, the latest first.

    Args:
        db: The database.
        user_id: The user.
        revoked: Also those that were taken back.
    """
    async with db.transaction(user_id) as conn:
        cursor = await conn.execute(
            f"{_SELECT} WHERE %s OR revoked_at IS NULL ORDER BY created_at DESC, id", (revoked,)
        )
        return [Share(**row) for row in await cursor.fetchall()]


async def team_members(db: Database, team: str) -> list[str]:
    """List who is in a team; nobody, if there is none of that name."""
    async with db.transaction(EVERYONE) as conn:
        cursor = await conn.execute("SELECT member FROM team_members WHERE team = %s ORDER BY member", (clean(team),))
        return [row["member"] for row in await cursor.fetchall()]


async def change_team(db: Database, team: str, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> list[str]:
    """Put users in a team, or take them out of it; the first one makes it, the last one ends it.

    Returns:
        Who is in it now.

    Raises:
        InputError: A name is empty or reserved.
    """
    for name in (team, *add):
        _check_name(name)
    async with db.transaction(EVERYONE) as conn:
        await conn.execute(
            "INSERT INTO team_members (team, member) SELECT %s, unnest(%s::text[]) ON CONFLICT DO NOTHING",
            (team, list(add)),
        )
        await conn.execute("DELETE FROM team_members WHERE team = %s AND member = ANY(%s)", (team, list(remove)))
    return await team_members(db, team)
