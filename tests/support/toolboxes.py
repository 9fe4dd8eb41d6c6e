"""Toolboxes with a catalogue in the database, and the embedding model that counts what it is asked for."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
from langchain_core.tools import StructuredTool

from ricordo.common.errors import EmbeddingError
from ricordo.common.settings import Settings
from ricordo.models.embedding_models import Vectors
from ricordo.models.embeddings import Embedder
from ricordo.stores.toolbox.box import Toolbox
from ricordo.stores.toolbox.catalogue import MANY

SETTINGS = Settings()
TOOLS = {
    "list_directory": "List the files in a folder.",
    "send_mail": "Send an e-mail to somebody.",
    "tell_weather": "Tell the weather of a town.",
}


class Counting(Embedder):
    """The real model, or vectors of chance for large numbers; counts what it embeds."""

    def __init__(self, real: Embedder, *, chance: bool = False, name: str = "") -> None:
        self.real, self.chance, self.texts = real, chance, 0
        self.model_id = name or real.model_id
        self.fails = False

    async def query(self, text: str) -> Vectors:
        if self.fails:
            raise EmbeddingError("the model is out")
        return await self.real.query(text)

    async def passages(self, texts: Sequence[str], *, holes: bool = False) -> Vectors:
        if self.fails:
            raise EmbeddingError("the model is out")
        self.texts += len(texts)
        if self.chance:
            return np.random.default_rng(1).normal(size=(len(texts), 384)).astype(np.float32)
        return await self.real.passages(texts, holes=holes)


class Held(Counting):
    """Embeds some passages, and lets whoever comes next wait until it may go on; others are served meanwhile."""

    def __init__(self, real: Embedder, *, after: int = 0, chance: bool = False) -> None:
        super().__init__(real, chance=chance)
        self._model, self._dims, self._queries = real._model, real.dims, OrderedDict()
        self.after = after
        self.waits, self.may_go_on = asyncio.Event(), asyncio.Event()

    async def passages(self, texts: Sequence[str], *, holes: bool = False) -> Vectors:
        if self.texts >= self.after and not self.waits.is_set():
            self.waits.set()
            await self.may_go_on.wait()
        return await super().passages(texts, holes=holes)

    async def aclose(self) -> None:
        """The real one is used by the tests that follow."""


def many_and(**described: str) -> dict[str, str]:
    """Return so many tools that a start does not wait for them, the given ones last."""
    return {f"polish_{i}": f"Polish the lamp of number {i}." for i in range(MANY)} | described


def box_of(descriptions: dict[str, str], **options: Any) -> Toolbox:
    """Return a toolbox of tools by their descriptions, which give back what they get."""
    box = Toolbox()
    for name, description in descriptions.items():
        made = StructuredTool.from_function(lambda text: text, name=name, description=description)
        box.register_tool(made, **options)
    return box


async def best(box: Toolbox, query: str) -> str:
    """Name the tool that a request finds first."""
    return (await box.search(query, 1, settings=SETTINGS))[0].name
