"""Pictures and files that a caller sends: they reach the model in that turn, and are named everywhere else."""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ricordo.common.text import clean
from ricordo.graph import prompts
from ricordo.models.chat import OFFLINE
from ricordo.models.tokens import text_of

Block = Mapping[str, Any]

TOKENS = 1_600
"""Reckoned for one attachment, which only its provider can count."""
_KINDS = {
    "image": "picture",
    "audio": "recording",
    "video": "video",
    "file": "file",
    "document": "file",
    "media": "file",
}
_DATA = re.compile(r"data:(?P<mime>[\w.+/-]*)[^,]{0,200},", re.ASCII)
_PROFILE = {"picture": ("image_inputs",), "recording": ("audio_inputs",), "video": ("video_inputs",)}
_FILES = ("pdf_inputs",)
_KB = 1024


def _kind(block: Block) -> str | None:
    """Return what a content block is, in a word; None for text and for what is no attachment."""
    said = str(block.get("type", "")).removeprefix("input_").removesuffix("_url")
    if said == "text-plain":
        return "file"
    kind = _KINDS.get(said)
    main = _mime(block).partition("/")[0]
    return _KINDS.get(main, kind) if kind == "file" else kind


def _parts(block: Block) -> list[Block]:
    """Return a block and the objects in it: each provider has its own place for data, name and type."""
    return [block, *(value for value in block.values() if isinstance(value, Mapping))]


def _field(block: Block, *names: str) -> str:
    values = (part.get(name) for part in _parts(block) for name in names)
    return next((value for value in values if isinstance(value, str) and value), "")


def _data(block: Block) -> str:
    return _field(block, "base64", "data", "file_data", "url", "image_url", "file_url")


def _mime(block: Block) -> str:
    found = _DATA.match(_data(block))
    return _field(block, "mime_type", "media_type") or (found["mime"] if found else "")


def _words(block: Block) -> str | None:
    """Return the words of a text file; None for anything else."""
    if block.get("type") == "text-plain" and isinstance(block.get("text"), str):
        return clean(str(block["text"]))
    if _kind(block) != "file" or not _mime(block).startswith("text/"):
        return None
    data = _data(block)
    if found := _DATA.match(data):
        data = data[found.end() :]
    try:
        return clean(base64.b64decode(data, validate=True).decode())
    except (binascii.Error, ValueError):
        return None


def name_of(block: Block) -> str:
    """Name an attachment: what it is, its file, its type and size as far as the caller told."""
    data, mime = _data(block), _mime(block)
    inline = not re.match(r"https?://|gs://|s3://", data)
    address = "" if inline else urlsplit(data).path.rsplit("/", 1)[-1] or data
    name = _field(block, "filename", "file_name", "name", "title", "file_id") or address
    size = f"{max(1, round(len(data) * 3 / 4 / _KB)):,} kB" if inline and data else ""
    about = ", ".join(part for part in (mime, size) if part)
    return clean(" ".join(part for part in (_kind(block) or "file", name[:200], f"({about})" if about else "") if part))


def media_in(message: BaseMessage) -> list[Block]:
    """Return a message's attachments, but for text files, whose words are part of its text."""
    blocks = message.content if isinstance(message.content, list) else []
    return [b for b in blocks if isinstance(b, dict) and _kind(b) and _words(b) is None]


def named(message: BaseMessage) -> str:
    """Return a message's text with its attachments named; a text file stands in it whole."""
    parts = [text_of(message)]
    for block in message.content if isinstance(message.content, list) else []:
        if isinstance(block, dict) and _kind(block):
            words = _words(block)
            parts.append(f"[{name_of(block)}]" + (f"\n{words}" if words is not None else ""))
    return clean("\n\n".join(part for part in parts if part))


def takes(model: Any, name: str, block: Block) -> bool:
    """Tell whether a model takes an attachment, as far as its profile says; most servers only say when they are asked.

    Args:
        model: The chat model.
        name: Its name, `provider:name`.
        block: The attachment.
    """
    profile = getattr(model, "profile", None) or {}
    keys = _PROFILE.get(_kind(block) or "", _FILES)
    return name != OFFLINE and all(profile.get(key) is not False for key in keys)


def shown(text: str, blocks: Sequence[Block], left_out: Sequence[Block]) -> str | list[str | dict[str, Any]]:
    """Return a user message's content: its text, what goes with it, and what does not, in words."""
    notes = [f"[{name_of(block)}: {prompts.NOT_TAKEN}]" for block in left_out]
    whole = "\n\n".join([text, *notes])
    return [{"type": "text", "text": whole}, *(dict(block) for block in blocks)] if blocks else whole


def without_media(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return messages with words in the place of attachments."""
    return [
        m.model_copy(update={"content": shown(text_of(m), [], out)})
        if isinstance(m, HumanMessage) and (out := media_in(m))
        else m
        for m in messages
    ]


class NamesOnly(JsonPlusSerializer):
    """Serialises checkpoints with attachments named: each step of each turn would store them anew."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Serialise a channel's value."""
        return super().dumps_typed(_with_names(obj))


def _with_names(value: Any) -> Any:
    if isinstance(value, HumanMessage):
        return value.model_copy(update={"content": named(value)}) if media_in(value) else value
    if isinstance(value, list):
        return [_with_names(each) for each in value]
    if not isinstance(value, dict):
        return value
    content = value.get("content")
    if isinstance(content, list) and media_in(asked := HumanMessage(content)):  # as callers may write a message
        return value | {"content": named(asked)}
    return {key: _with_names(each) for key, each in value.items()} if "messages" in value else value
