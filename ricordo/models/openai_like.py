"""OpenAI's chat model for all servers that speak its protocol, each in its own way."""

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from typing_extensions import override

from ricordo.models.thinking import FIELDS

# Arguments that are no text are mended below; langchain-openai dumps what came before, and pydantic wonders.
warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)


class OpenAILike(ChatOpenAI):
    """`ChatOpenAI` that takes calls as servers give them, and keeps thinking and refusals beside the content."""

    @override
    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        deltas = [choice.get("delta") for choice in chunk.get("choices") or []]
        for delta in deltas:
            _mend_calls(delta)
        made = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        if made is not None and deltas:
            made.message.additional_kwargs |= dict(_beside(deltas[0]))
        return made

    @override
    def _create_chat_result(self, response: Any, generation_info: dict[str, Any] | None = None) -> ChatResult:
        whole = response if isinstance(response, dict) or not hasattr(response, "model_dump") else None
        given = whole if whole is not None else response.model_dump(warnings=False)
        messages = [c.get("message") for c in given.get("choices") or []] if isinstance(given, dict) else []
        for message in messages:
            _mend_calls(message)
        made = super()._create_chat_result(given, generation_info)
        for generation, message in zip(made.generations, messages, strict=False):
            generation.message.additional_kwargs |= dict(_beside(message))
        return made

    @override
    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(input_, stop=stop, **kwargs)
        sent = payload.get("messages") or []  # the Responses API has none
        for message, body in zip(self._convert_input(input_).to_messages(), sent, strict=False):
            if isinstance(message, AIMessage):
                body.update(_beside(message.additional_kwargs, FIELDS))
        return payload


def _beside(fields: Mapping[str, Any] | None, names: Iterable[str] = (*FIELDS, "refusal")) -> Iterator[tuple[str, Any]]:
    """Yield what a message has beside its content."""
    for name in names:
        if value := (fields or {}).get(name):
            yield name, value


def _mend_calls(message: Any) -> None:
    """Put the calls of a message into the protocol's form: arguments as text, an index for each."""
    for number, call in enumerate((message or {}).get("tool_calls") or []):
        if call.get("index") is None:
            call["index"] = number
        function = call.get("function") or {}
        if not isinstance(function.get("arguments"), str | None):
            function["arguments"] = json.dumps(function["arguments"], ensure_ascii=False)
