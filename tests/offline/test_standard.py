"""LangChain's own tests of chat models, on the one that needs no server."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests

from ricordo.models.embeddings import open_embedder
from ricordo.offline.chat import OfflineChat


class Declared:
    """What the model declares: tools, a choice of tools, and the use of tokens; no pictures, no structured output."""

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return OfflineChat

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"embedder": open_embedder("local")}

    @property
    def has_structured_output(self) -> bool:
        return False


class TestUnit(Declared, ChatModelUnitTests):
    pass


class TestIntegration(Declared, ChatModelIntegrationTests):
    pass
