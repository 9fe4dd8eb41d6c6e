"""An example of `auth` in langgraph.json: each user has a token, and sees and continues their own threads alone.

`langgraph dev --config langgraph.auth.json` uses it, with the tokens in `RICORDO_TOKENS`, a JSON object of user to
token. Replace `authenticate` by a check of your identity provider's tokens; the rest can stay. A run reads and writes
the memory of the authenticated user, whatever `user_id` its context names.
"""

import secrets
from functools import cache
from typing import Any

from langgraph_sdk import Auth
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from ricordo.common.errors import InputError, ThreadOwnerError
from ricordo.common.identity import assert_identity
from ricordo.graph.resources import get_resources

auth = Auth()


class Tokens(BaseSettings):
    """Who may come in."""

    model_config = SettingsConfigDict(env_prefix="RICORDO_", env_file=".env", extra="ignore")

    tokens: dict[str, SecretStr] = Field(default_factory=dict)
    """`{"alice": "a long random text", "bob": "another"}`"""


@cache
def _tokens() -> dict[str, SecretStr]:
    return Tokens().tokens


@auth.authenticate
async def authenticate(authorization: str | None) -> Auth.types.MinimalUserDict:
    """Tell who sends `Authorization: Bearer TOKEN`."""
    scheme, _, given = (authorization or "").partition(" ")
    for user, token in _tokens().items():
        known = token.get_secret_value().encode()
        if scheme.lower() == "bearer" and known and secrets.compare_digest(known, given.strip().encode()):
            return {"identity": _whole(user)}
    raise Auth.exceptions.HTTPException(status_code=401, detail="Send your token as 'Authorization: Bearer TOKEN'.")


def _whole(identity: str) -> str:
    """Refuse an identity that looks like another one; it is never mended, since "anna " may be somebody else."""
    try:
        assert_identity(identity)
    except InputError as error:
        raise Auth.exceptions.HTTPException(status_code=403, detail=str(error)) from None
    return identity


@auth.on
async def nothing_else(ctx: Auth.types.AuthContext, value: Any) -> bool:
    """Refuse what no other function here allows: assistants are not changed, the store and crons are not used."""
    del ctx, value
    return False


@auth.on(resources="assistants", actions=["read", "search"])
async def see_assistants(ctx: Auth.types.AuthContext, value: Any) -> bool:
    """Let everybody see the graph."""
    del ctx, value
    return True


@auth.on.threads
async def own_threads(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> Auth.types.FilterType:
    """Let users work with their own threads."""
    return _owned(ctx, value)


@auth.on(resources="threads", actions=["create", "create_run"])
async def begin_threads(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> Auth.types.FilterType:
    """Let users begin threads, and in the same moment make them theirs in the database.

    The server knows its own threads only, while the states of all threads are in one database: without this, whoever
    guesses the id of a thread that another user began in the command line could read it.
    """
    thread_id = value.get("thread_id")
    if thread_id:
        try:
            await get_resources().manager.for_user(_whole(ctx.user.identity)).claim_thread(str(thread_id))
        except ThreadOwnerError as error:
            raise Auth.exceptions.HTTPException(status_code=409, detail=str(error)) from None
    return _owned(ctx, value)


def _owned(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> Auth.types.FilterType:
    """Write the owner into what is stored, and return the filter for what is read."""
    value.setdefault("metadata", {}).update(owner=ctx.user.identity)
    return {"owner": ctx.user.identity}
