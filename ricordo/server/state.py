"""What LangGraph's development server keeps of its own: its list of threads and runs, questions among them.

It writes into `.langgraph_api` in the folder it is started in, readable by whoever reads that folder. Here this becomes
a link to a private folder below RICORDO_HOME. A user who is deleted is taken out of it: at once where no server runs,
and else by the servers, which look for deletions in the database.
"""

import asyncio
import fcntl
import hashlib
import logging
import os
import pickle
import shutil
from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import httpx

from ricordo.common.errors import ConfigurationError, DatabaseError
from ricordo.common.private import private_folder
from ricordo.stores.postgres.database import Database
from ricordo.stores.users import ended_since, trace_of

_LINK = ".langgraph_api"
_SAVED = ".langgraph_ops.pckl"
_LOOK_SECONDS = 5
_PAGE = 500
_log = logging.getLogger(__name__)
_held: list[BinaryIO] = []
"""Locks that say that a server runs; the kernel lets go of them, however the process ends."""


def settle_state(home: Path, folder: Path) -> None:
    """Move the state of a server that is starting in a folder below the home, and leave a link to it.

    Raises:
        ConfigurationError: The home cannot be used.
    """
    try:
        _settle(home.expanduser(), folder)
    except OSError as error:
        raise ConfigurationError(
            f"The server's state cannot be kept in {home}: {error}. Set RICORDO_HOME to a folder of yours."
        ) from error


def _settle(home: Path, folder: Path) -> None:
    link = folder / _LINK
    key = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    place = private_folder(private_folder(private_folder(home, ours=False, passable=True) / "server") / key).resolve()
    lock = (place / "lock").open("wb")
    fcntl.flock(lock, fcntl.LOCK_SH)
    _held.append(lock)
    if link.is_symlink():
        link.unlink()
    elif link.exists():
        for entry in link.iterdir():
            shutil.move(entry, place / entry.name)
        link.rmdir()
    link.symlink_to(place)
    for saved in place.iterdir():
        saved.chmod(0o600)


def forget_in_files(home: Path, user_id: str, threads: Collection[str]) -> int:
    """Take a user out of what stopped servers have saved.

    Returns:
        How many servers are running, which see to it by themselves.
    """
    running = 0
    for place in (home.expanduser() / "server").glob("*"):
        with (place / "lock").open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                running += 1
                continue
            _forget_in(place / _SAVED, user_id, frozenset(threads))
    return running


def _forget_in(saved: Path, user_id: str, threads: Collection[str]) -> None:
    try:
        held: dict[str, list[Mapping[str, Any]]] = pickle.loads(saved.read_bytes())  # noqa: S301 - ours, and private
    except FileNotFoundError:
        return
    gone = {str(each["thread_id"]) for each in held["threads"] if _owner(each) == user_id} | set(threads)
    for kind in ("threads", "runs", "crons"):
        held[kind] = [each for each in held.get(kind, []) if str(each.get("thread_id")) not in gone]
    new = saved.with_suffix(".new")
    with open(new, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as stream:
        pickle.dump(held, stream, 2)
    new.replace(saved)


def _owner(thread: Mapping[str, Any]) -> Any:
    return (thread.get("metadata") or {}).get("owner")


async def forget_deleted(db: Database) -> None:
    """Look for users who were deleted, as long as the server runs, and take them off its list."""
    while True:
        try:
            await forget_once(db)
        except (DatabaseError, httpx.HTTPError) as error:
            _log.warning("Whether users were deleted cannot be seen: %s", error)
        await asyncio.sleep(_LOOK_SECONDS)


async def forget_once(db: Database) -> None:
    """Take the threads off the server's list that were deleted with their users, after they were begun."""
    from langgraph_sdk import get_client  # noqa: PLC0415 - it finds the server only once that is up

    async with db.as_owner() as conn:
        ended = await ended_since(conn)
    if not ended:
        return
    client, gone, offset = get_client(api_key=None), [], 0
    while page := await client.threads.search(limit=_PAGE, offset=offset):
        for thread in page:
            traces = [trace_of(thread["thread_id"]), trace_of(f"user {_owner(thread)}")]
            begun = datetime.fromisoformat(str(thread["created_at"]))
            if any(trace in ended and begun < ended[trace] for trace in traces):
                gone.append(thread["thread_id"])
        offset += _PAGE
    for thread_id in gone:
        await client.threads.delete(thread_id)
    if gone:
        _log.info("%d threads of deleted users are off the list", len(gone))
