"""A chat model's stream as its listeners hear it: words and calls, without thinking."""

from collections.abc import AsyncIterator, Collection
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables.config import var_child_runnable_config
from pydantic import PrivateAttr
from typing_extensions import override

from ricordo.models.thinking import Speech


class Speaking(BaseChatModel):
    """Streams one reply of another model; callbacks hear what is for the user, `pieces` are all of it.

    LangGraph streams what a model's callbacks tell: filtering afterwards would be too late.
    """

    _inner: Any = PrivateAttr()
    _speech: Speech = PrivateAttr()
    _taken: frozenset[str] = PrivateAttr()
    _pieces: list[AIMessage] = PrivateAttr(default_factory=list)

    def __init__(self, inner: Any, speech: Speech, taken: Collection[str]) -> None:
        """Prepare for one reply.

        Args:
            inner: The model, with its tools bound.
            speech: Takes the reply's text.
            taken: Ids of messages that the reply must not have: some servers give all replies the same.
        """
        super().__init__(name=getattr(getattr(inner, "bound", inner), "name", None))
        self._inner, self._speech, self._taken = inner, speech, frozenset(taken)

    @property
    def pieces(self) -> list[AIMessage]:
        """What has come so far, as it came; a model that does not stream gives one message that is no chunk."""
        return self._pieces

    @property
    def _llm_type(self) -> str:
        return str(getattr(getattr(self._inner, "bound", self._inner), "_llm_type", "speaking"))

    @override
    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        own_id = f"lc_run--{uuid4()}"
        async for each in _unheard(self._inner.astream(messages, stop=stop, **kwargs)):
            if not isinstance(each, AIMessage):
                continue
            again = each.id is None or each.id in self._taken
            piece = each.model_copy(update={"id": own_id}) if again else each
            self._pieces.append(piece)
            yield _said(piece, self._speech.take(str(piece.text)))
        if self._pieces and (rest := self._speech.take("", last=True)):
            yield _said(AIMessage("", id=self._pieces[-1].id), rest)

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("this model is only streamed, and asynchronously")


async def _unheard(stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Go through the other model's stream without callbacks: they would tell all of it again, with the thinking."""
    while True:
        around = var_child_runnable_config.get()
        token = var_child_runnable_config.set({**(around or {}), "callbacks": None})
        try:
            piece = await anext(stream)
        except StopAsyncIteration:
            return
        finally:
            var_child_runnable_config.reset(token)
        yield piece


def _said(piece: AIMessage, text: str) -> ChatGenerationChunk:
    """Return what listeners hear of a piece."""
    message = AIMessageChunk(
        content=text,
        id=piece.id,
        tool_call_chunks=piece.tool_call_chunks if isinstance(piece, AIMessageChunk) else [],
        usage_metadata=piece.usage_metadata,
        response_metadata=piece.response_metadata,
    )
    return ChatGenerationChunk(message=message)
