"""The chat model that needs no server: it chooses tools by retrieval and answers by quotation, and says so.

It never makes up a sentence: besides a few fixed phrases, all that it says stands in the window or in a tool's result.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LangSmithParams, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field
from typing_extensions import override

from ricordo.common.errors import ToolError
from ricordo.models import tokens
from ricordo.models.embeddings import Embedder
from ricordo.offline.deciding import Tool, Turn
from ricordo.offline.intent import Embed, Examples
from ricordo.offline.seen import read_prompt


class OfflineChat(BaseChatModel):
    """A LangChain chat model over the window's format, with tools and streaming."""

    name: str | None = "offline"
    embedder: Embedder = Field(exclude=True)
    examples: Examples = Field(default=lambda _: (), exclude=True)
    """What users say who want a tool, by its name."""
    known: Embed | None = Field(default=None, exclude=True)
    """Embeds what every process needs, and may keep the vectors; None: the embedder."""

    @property
    def _llm_type(self) -> str:
        return "offline"

    @override
    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        params = super()._get_ls_params(stop=stop, **kwargs)
        params["ls_provider"], params["ls_model_name"] = "ricordo", kwargs.get("model") or self._llm_type
        return params

    @override
    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | Any],
        *,
        tool_choice: str | dict[str, Any] | bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer tools; with `tool_choice` one of them must be called, or the named one."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], tool_choice=tool_choice, **kwargs)

    async def _reply(self, messages: list[BaseMessage], tools: Sequence[Tool], choice: Any) -> AIMessage:
        turn = Turn(
            self.embedder, self._examples_of, read_prompt(messages), [] if choice == "none" else tools, self.known
        )
        called = await turn.calls(choice)
        content = "" if called else await turn.answer()
        said = content + ("".join(json.dumps(call["args"], ensure_ascii=False) for call in called))
        read, written = tokens.count_messages(cast("list[AnyMessage]", messages)), tokens.count(said)
        return AIMessage(
            content=content,
            tool_calls=called,
            usage_metadata=UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written),
            response_metadata={"model_name": self._llm_type, "finish_reason": "tool_calls" if called else "stop"},
        )

    def _examples_of(self, name: str) -> Sequence[str]:
        try:
            return self.examples(name)
        except ToolError:  # bound here, but not in the toolbox
            return ()

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = await self._reply(messages, _functions(kwargs), kwargs.get("tool_choice"))
        return ChatResult(generations=[ChatGeneration(message=reply)])

    @override
    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(await self._reply(messages, _functions(kwargs), kwargs.get("tool_choice"))):
            if run_manager:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = _finish(self._reply(messages, _functions(kwargs), kwargs.get("tool_choice")))
        return ChatResult(generations=[ChatGeneration(message=reply)])

    @override
    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in _chunks(_finish(self._reply(messages, _functions(kwargs), kwargs.get("tool_choice")))):
            if run_manager:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk


def _functions(kwargs: Mapping[str, Any]) -> list[Tool]:
    return [tool["function"] for tool in kwargs.get("tools") or []]


def _finish(work: Coroutine[Any, Any, AIMessage]) -> AIMessage:
    """Run a coroutine to its end for a synchronous caller, who may sit inside a running loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def _chunks(reply: AIMessage) -> Iterator[ChatGenerationChunk]:
    for word in re.findall(r"\s*\S+\s*\Z|\s*\S+", str(reply.text)):
        yield ChatGenerationChunk(message=AIMessageChunk(content=word, id=reply.id))
    calls = [
        tool_call_chunk(name=c["name"], args=json.dumps(c["args"], ensure_ascii=False), id=c["id"], index=i)
        for i, c in enumerate(reply.tool_calls)
    ]
    yield ChatGenerationChunk(
        message=AIMessageChunk(
            content="",
            id=reply.id,
            tool_call_chunks=calls,
            usage_metadata=reply.usage_metadata,
            response_metadata=reply.response_metadata,
            chunk_position="last",
        )
    )
