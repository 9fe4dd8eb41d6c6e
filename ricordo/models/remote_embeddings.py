"""The embedding models of LangChain's providers, behind `embeddings.py`."""

import asyncio
import importlib
import re
import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np

from ricordo.common.bodies import ACCEPTED, bounded
from ricordo.common.errors import ConfigurationError, EmbeddingError
from ricordo.models.embedding_models import Vectors

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

_REMOTE_BYTES = 8000
"""UTF-8 bytes of one window of a remote model: never more tokens than bytes, and OpenAI's models take 8,191."""
_REFUSALS = frozenset({400, 413, 422})
_OF_THE_KEY = re.compile(r"api.?key|unauthori[sz]ed|permission|credential|quota|billing|no such model", re.IGNORECASE)
_OF_THE_NUMBER = re.compile(r"batch|at most|maximum|too many|larger|larger than|limit|up to|less than", re.IGNORECASE)
_REMOTE_WINDOWS = 32
"""Windows of one request: OpenAI refuses more than 300,000 tokens at once."""


class RemoteModel:
    """A provider's model, by LangChain's `provider:model` string."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.model_id = name
        self._options = options
        self._lock = threading.Lock()
        self._http: httpx.AsyncClient | None = None
        self._client: Embeddings | None = None
        self._most = _REMOTE_WINDOWS
        self._has_worked = False

    def _load(self) -> "Embeddings":
        with self._lock:
            if self._client is None:
                self._client = self._open()
            return self._client

    def _open(self) -> "Embeddings":
        provider, _, model = self.model_id.partition(":")
        if provider == "openai":
            from langchain_openai import OpenAIEmbeddings  # noqa: PLC0415 - a second of imports, for this alone

            # A client of our own, so that it can be closed.
            self._http = httpx.AsyncClient(
                timeout=self._options["timeout"], headers=ACCEPTED, event_hooks=bounded(), follow_redirects=True
            )
            # Its own length check downloads tokenizer tables at run time; windows by bytes need none.
            return OpenAIEmbeddings(
                model=model,
                check_embedding_ctx_length=False,
                chunk_size=_REMOTE_WINDOWS,
                http_async_client=self._http,
                **self._options,
            )
        try:
            client: Embeddings = _init_embeddings()(self.model_id)
        except ImportError as error:
            raise ConfigurationError(
                f"RICORDO_EMBEDDINGS={self.model_id} needs a package that is not installed: {error}. "
                "Install it beside Ricordo, or set RICORDO_EMBEDDINGS=local."
            ) from error
        except ValueError as error:
            raise ConfigurationError(
                f"RICORDO_EMBEDDINGS={self.model_id} is not understood: {error}. "
                "Use provider:model, such as openai:text-embedding-3-small, or local."
            ) from error
        return client

    async def aclose(self) -> None:
        """Close the connections."""
        if self._http is not None:
            await self._http.aclose()

    async def embed(self, texts: Sequence[str], *, query: bool) -> Vectors:
        """Embed texts of any length: each is cut in windows, whose vectors are averaged by length.

        Raises:
            ConfigurationError: The provider's package is not installed, or the name is not understood.
            EmbeddingError: The provider refused or could not be reached.
        """
        pieces = [(row, piece) for row, text in enumerate(texts) for piece in windows(text)]
        parts = [piece for _, piece in pieces]
        client = await asyncio.to_thread(self._load)
        try:
            if query and len(parts) == 1:
                found: list[Any] = [await client.aembed_query(parts[0])]
                self._has_worked = True
            else:
                found = await self._in_batches(client, parts)
        except Exception as error:
            # Every provider has exceptions of its own; whatever it was, the user needs to know what to do about it.
            raise EmbeddingError(
                f"The embedding model {self.model_id} gave no vectors: {type(error).__name__}: {error}. "
                "Check its key, its address and the network, or set RICORDO_EMBEDDINGS=local."
            ) from error
        # A provider may leave one out, or give NaN; what has no width of its own is none.
        width = next((len(vector) for vector in found if vector), 0)
        vectors = np.zeros((len(texts), width), np.float32)
        for (row, piece), vector in zip(pieces, found, strict=True):
            vectors[row] += np.asarray(vector, np.float32) * len(piece) if vector else np.nan
        return vectors

    async def _in_batches(self, client: "Embeddings", parts: Sequence[str]) -> list[Any]:
        found: list[Any] = []
        while len(found) < len(parts):
            found += await self._vectors(client, parts[len(found) : len(found) + self._most])
        return found

    async def _vectors(self, client: "Embeddings", parts: Sequence[str]) -> list[Any]:
        """Ask for some vectors, for fewer at once where the provider refuses so many; None for a text it refuses alone.

        How many it takes is kept for the next batch.
        """
        try:
            found: list[Any] = await client.aembed_documents(list(parts))
            if len(found) != len(parts):
                raise ValueError(f"{len(found)} vectors came for {len(parts)} texts")  # noqa: TRY301 - it is no vector either
        except Exception as error:
            if not _is_refusal(error) or (len(parts) == 1 and not self._has_worked):
                raise
            if len(parts) == 1:
                return [None]
            size = _size_named(error, len(parts))
        else:
            self._has_worked = True
            return found
        found = []
        for start in range(0, len(parts), size):
            found += await self._vectors(client, parts[start : start + size])
        if None not in found:  # it was the number, and none of the texts
            self._most = min(self._most, size)
        return found


def _is_refusal(error: Exception) -> bool:
    """Tell whether a provider may take fewer texts, or others: it was reached, and it is not the key that is wrong."""
    if isinstance(error, OSError | TimeoutError | httpx.TransportError):
        return False
    named = [getattr(error, name, None) for name in ("status_code", "http_status", "code")]
    response = getattr(error, "response", None)
    status = next((one for one in [*named, getattr(response, "status_code", None)] if isinstance(one, int)), None)
    return (status is None or status in _REFUSALS) and not _OF_THE_KEY.search(str(error))


def _size_named(error: Exception, size: int) -> int:
    """Return how many texts a provider says that it takes, if it does; else half as many as it refused."""
    numbers = [int(found) for found in re.findall(r"(?<![\d.])\d{1,4}(?![\d.])", str(error))]
    named = [number for number in numbers if 0 < number < size and number not in _REFUSALS]
    return max(named, default=size // 2) if _OF_THE_NUMBER.search(str(error)) else size // 2


def _init_embeddings() -> Callable[[str], Any]:
    for package in ("langchain", "langchain_classic"):
        if find_spec(package) is not None:
            found: Callable[[str], Any] = importlib.import_module(f"{package}.embeddings").init_embeddings
            return found
    raise ImportError("langchain")


def windows(text: str) -> list[str]:
    """Cut a text in windows of at most 8,000 bytes, at whole characters; nothing is left out."""
    data = text.encode()
    found, start = [], 0
    while start < len(data):
        end = min(start + _REMOTE_BYTES, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:  # noqa: PLR2004 - UTF-8's mark of a continued character
            end -= 1
        found.append(data[start:end].decode())
        start = end
    # Providers refuse an empty text, which has no meaning to embed anyway.
    return found if text.strip() else ["(empty)"]
