"""Traces: whether LangSmith gets any, and what they show of memory."""

import multiprocessing
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from langchain_core.callbacks import AsyncCallbackManager
from langchain_core.documents import Document
from langchain_core.runnables.config import ensure_config
from langsmith import utils as langsmith

from ricordo.stores.passages import Passage

_PREFIXES = ("LANGSMITH_", "LANGCHAIN_")
_SWITCHES = {f"{prefix}{name}" for prefix in _PREFIXES for name in ("TRACING", "TRACING_V2")}
_STARTED_WITH = Path("/proc/self/environ")


def settle_tracing() -> None:
    """Let LangSmith see what `.env` says, and keep tracing off unless the deployment has switched it on.

    LangGraph's server switches it on by itself wherever there is a LangSmith key, which its licence needs: all of
    memory would go out unasked. The deployment's own word is in what the process was started with, or in `.env`.
    """
    if "langgraph_api" in sys.modules and not _SWITCHES & _started_with():
        for name in _SWITCHES:
            os.environ.pop(name, None)
    switched = _SWITCHES & os.environ.keys()
    for name, value in dotenv_values(".env").items():
        if name.startswith(_PREFIXES) and not (name in _SWITCHES and switched):
            os.environ.setdefault(name, value or "")
    langsmith.get_env_var.cache_clear()  # type: ignore[attr-defined] # of an lru_cache under overloads


def _started_with() -> set[str]:
    """Return the variables that this process was started with; none where that cannot be told."""
    if multiprocessing.parent_process() is not None:  # `langgraph dev` that reloads: the server has begun in that one
        return set()
    try:
        said = _STARTED_WITH.read_bytes()
    except OSError:
        return set()
    return {os.fsdecode(line.partition(b"=")[0]) for line in said.split(b"\0")}


async def as_retriever(
    memory: str, query: str, user_id: str, reading: Coroutine[Any, Any, list[Passage]]
) -> list[Passage]:
    """Read a memory as a run of a retriever, which traces and callbacks show with what was found."""
    config = ensure_config()
    callbacks = AsyncCallbackManager.configure(
        config["callbacks"],
        inheritable_tags=config["tags"],
        inheritable_metadata=config["metadata"],
        local_metadata={"user_id": user_id},
    )
    run = await callbacks.on_retriever_start({"name": memory}, query, name=memory)
    try:
        passages = await reading
    except BaseException as error:
        await run.on_retriever_error(error)
        raise
    await run.on_retriever_end([Document(p.text, id=p.id, metadata={"head": p.head}) for p in passages])
    return passages
