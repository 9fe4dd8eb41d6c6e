"""The chat model that needs no server: it chooses tools by retrieval and answers by quotation, and says so.

It never makes up a sentence: besides a few fixed phrases, all that it says stands in the window or in a tool's result.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from graph import quoting, tokens
from graph.arguments import Filled, fill, is_reference
from graph.embeddings import Embedder
from graph.errors import ToolError
from graph.intent import Chooser, Examples, words_of_name
from graph.phrases import FUNCTION, ITALIAN, NOTICES
from graph.request import Request
from graph.seen import Prompt, Seen, read_prompt

_MOST_STEPS = 4
"""Tool calls of one turn."""
_SUMMARIES = "Summary"

Tool = Mapping[str, Any]
"""A function schema: name, description, parameters."""


class OfflineChat(BaseChatModel):
    """A LangChain chat model over the window's format, with tools and streaming."""

    embedder: Embedder = Field(exclude=True)
    examples: Examples = Field(default=lambda _: (), exclude=True)
    """What users say who want a tool, by its name."""

    @property
    def _llm_type(self) -> str:
        return "offline"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | Any],
        *,
        tool_choice: str | dict[str, Any] | bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer tools; with `tool_choice` one of them must be called, or the named one."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], tool_choice=tool_choice, **kwargs)

    async def _reply(self, messages: Sequence[BaseMessage], tools: Sequence[Tool], choice: Any) -> AIMessage:
        turn = _Turn(self.embedder, self._examples_of, read_prompt(messages), tools)
        called = await turn.call(choice)
        content = "" if called else await turn.answer()
        said = content + (json.dumps(called["args"], ensure_ascii=False) if called else "")
        read, written = tokens.count_messages(list(messages)), tokens.count(said)
        return AIMessage(
            content=content,
            tool_calls=[called] if called else [],
            usage_metadata=UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written),
            response_metadata={"model_name": self._llm_type, "finish_reason": "tool_calls" if called else "stop"},
        )

    def _examples_of(self, name: str) -> Sequence[str]:
        try:
            return self.examples(name)
        except ToolError:  # bound here, but not in the toolbox
            return ()

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = await self._reply(messages, _functions(kwargs), kwargs.get("tool_choice"))
        return ChatResult(generations=[ChatGeneration(message=reply)])

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

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = _finish(self._reply(messages, _functions(kwargs), kwargs.get("tool_choice")))
        return ChatResult(generations=[ChatGeneration(message=reply)])

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


class _Turn:
    """One decision: call a tool, or answer."""

    def __init__(self, embedder: Embedder, examples: Examples, prompt: Prompt, tools: Sequence[Tool]) -> None:
        self._embedder = embedder
        self._examples = examples
        self._prompt = prompt
        self._tools = {str(tool["name"]): tool for tool in tools}
        self._request = Request(prompt.question)
        self._called = [call for step in prompt.steps for call in step.tool_calls]
        self._kind = "answer"
        self._lacking: tuple[str, list[str]] | None = None

    async def call(self, choice: Any) -> ToolCall | None:
        """Return the tool call to make, if one is needed and everything that it requires is known."""
        name = await self._choose(choice)
        if name is None or len(self._called) >= _MOST_STEPS:
            return None
        if self._kind == "history":
            return self._expand(name)
        if any(call["name"] == name for call in self._called):
            return None
        filled = self._fill(name)
        if filled.missing:
            self._lacking = (name, filled.missing)
            return self._help_with(name)
        return self._calling(name, filled.values)

    async def _choose(self, choice: Any) -> str | None:
        forced = choice.get("function", {}).get("name") if isinstance(choice, dict) else choice
        if forced in self._tools:
            return str(forced)
        if named := self._named():
            return named
        reader = next((name for name, tool in self._tools.items() if _reads_summaries(tool)), None)
        chooser = Chooser(self._embedder, self._examples)
        scores = await chooser.scores(
            self._prompt.question, list(self._tools.values()), {"history": reader} if reader else {}
        )
        must = choice in ("any", "required", True)
        best = next((name for name in scores if name in self._tools or not must), "answer")
        self._kind = "history" if best == reader else best
        return best if best in self._tools else None

    def _named(self) -> str | None:
        """Return the tool that the user names: by its identifier, or by its words where it has several."""
        said = f" {' '.join(words_of_name(self._prompt.question))} "
        called = sorted(self._tools, key=len, reverse=True)
        whole = (name for name in called if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self._prompt.question))
        spoken = (name for name in called if len(words := words_of_name(name)) > 1 and f" {' '.join(words)} " in said)
        return next(whole, next(spoken, None))

    def _fill(self, name: str) -> Filled:
        return fill(self._tools[name], self._examples(name), self._prompt)

    def _calling(self, name: str, args: dict[str, Any]) -> ToolCall:
        return tool_call(name=name, args=args, id=f"call_{uuid4().hex}")

    def _help_with(self, name: str) -> ToolCall | None:
        """Return a call of a tool that the lacking tool's own description names as the one that finds what it lacks."""
        told = json.dumps(self._tools[name], ensure_ascii=False)
        for other in self._tools:
            if other != name and other in told and not any(call["name"] == other for call in self._called):
                filled = self._fill(other)
                if not filled.missing:
                    return self._calling(other, filled.values)
        return None

    def _expand(self, name: str) -> ToolCall | None:
        """Return the call that brings older turns back, unless what is asked for is in the window."""
        summaries = self._prompt.of(_SUMMARIES)
        place = self._request.ordinal
        ours = [call for call in self._called if call["name"] == name]
        if ours:
            found = quoting.spoken(self._request, quoting.passages_of(self._prompt))
            more = re.search(rf"{re.escape(name)}\((.+?)\)", str(self._prompt.results[-1].text).partition("\n")[0])
            if found or not more:
                return None
            return self._calling(
                name, {key: _value(value) for key, value in re.findall(r"(\w+)=('[^']*'|\d+)", more[1])}
            )
        filled = self._fill(name)
        given = any(str(value) in self._prompt.question for value in filled.values.values())
        if given:
            return self._calling(name, filled.values)
        if not summaries or (place is not None and place < 0 and self._prompt.of("Conversation")):
            return None
        if place is not None and place >= 0:
            filled.values[next(iter(_summary_parameters(self._tools[name])))] = summaries[0].known["id"]
        return self._calling(name, filled.values) if not filled.missing or place is not None else None

    async def answer(self) -> str:
        """Answer by quotation."""
        notices = NOTICES[self._language()]
        return f"{await self._body(notices)}\n\n{notices['offline']}"

    async def _body(self, notices: Mapping[str, str]) -> str:
        if self._kind == "history":
            talk = quoting.passages_of(self._prompt) if self._called else self._prompt.of("Conversation")
            said = quoting.spoken(self._request, talk)
            return (
                "\n\n".join([notices["conversation"], *map(quoting.quote_message, said)])
                if said
                else notices["nothing"]
            )
        if self._prompt.results:
            return await self._from_results(notices)
        if self._lacking:
            name, missing = self._lacking
            parameters = self._tools[name]["parameters"]["properties"]
            what = "; ".join(
                f"{m} ({parameters[m].get('description') or parameters[m].get('type', '')})" for m in missing
            )
            return notices["missing"].format(tool=name, what=what)
        if self._kind == "talk":
            return notices["talk"]
        return await self._from_memory(notices)

    async def _from_results(self, notices: Mapping[str, str]) -> str:
        latest = {call["id"] for call in self._prompt.steps[-1].tool_calls} if self._prompt.steps else set()
        parts: list[str] = []
        for result in [m for m in self._prompt.results if m.tool_call_id in latest] or self._prompt.results[-1:]:
            tool, text = result.name or "", str(result.text)
            head = notices["failed" if result.status == "error" else "result"].format(tool=tool)
            lines = quoting.result_lines(text)
            if lines is None:
                quotes, _ = await self._evidence(quoting.passages_of(self._prompt), most=5)
                lines = "\n".join(quote.render() for quote in quotes) or notices["nothing"]
            parts.append(f"{head}\n{lines}")
        return "\n\n".join(parts)

    async def _from_memory(self, notices: Mapping[str, str]) -> str:
        stored, talk = self._prompt.of("Knowledge Base"), self._prompt.of("Conversation")
        if self._kind == "overview" and (quotes := quoting.overview(self._prompt.question, stored, talk)):
            return "\n".join([notices["memory"], *(quote.render() for quote in quotes)])
        quotes, sure = await self._evidence(self._prompt.passages, most=3)
        if not quotes:
            return notices["nothing"]
        head = notices["memory"] if sure else notices["nearest"]
        return "\n".join([head, *(quote.render() for quote in quotes)])

    async def _evidence(self, passages: Sequence[Seen], most: int) -> tuple[list[quoting.Quote], bool]:
        question = self._prompt.question
        vector = await self._embedder.query(question)
        return await quoting.evidence(question, vector, passages, self._embedder, most)

    def _language(self) -> str:
        words = [word.low for word in self._request.words]
        return "it" if sum(w in ITALIAN for w in words) > sum(w in FUNCTION - ITALIAN for w in words) else "en"


def _summary_parameters(tool: Tool) -> list[str]:
    parameters = (tool.get("parameters") or {}).get("properties") or {}
    return [n for n, p in parameters.items() if _SUMMARIES.lower() in words_of_name(n) and is_reference(n, p)]


def _reads_summaries(tool: Tool) -> bool:
    return bool(_summary_parameters(tool))


def _value(text: str) -> Any:
    return int(text) if text.isdigit() else text.strip("'")
