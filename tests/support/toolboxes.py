"""Toolboxes with a catalogue in the database, and the embedding model that counts what it is asked for."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from langchain_core.tools import StructuredTool

from ricordo.common.errors import EmbeddingError
from ricordo.common.settings import Settings
from ricordo.models.embedding_models import Vectors
from ricordo.models.embeddings import Embedder
from ricordo.stores.toolbox.box import Toolbox

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
