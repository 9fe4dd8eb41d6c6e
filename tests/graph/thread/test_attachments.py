import base64
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from ricordo.graph.thread.attachments import NamesOnly, media_in, name_of, named, shown, takes, without_media
from tests.support.harness import ScriptedChat

DATA = base64.b64encode(b"\x89PNG" + b"0" * 3000).decode()
PICTURES: list[dict[str, Any]] = [
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
    {"type": "image_url", "image_url": f"data:image/png;base64,{DATA}"},
    {"type": "image", "base64": DATA, "mime_type": "image/png"},
    {"type": "image", "source_type": "base64", "data": DATA, "mime_type": "image/png"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
    {"type": "input_image", "image_url": f"data:image/png;base64,{DATA}"},
    {"type": "media", "mime_type": "image/png", "data": DATA},
]


def asked(*blocks: dict[str, Any], text: str = "What is this?") -> HumanMessage:
    return HumanMessage([{"type": "text", "text": text}, *blocks])


@pytest.mark.parametrize("block", PICTURES)
def test_a_picture_is_named_in_any_form(block: dict[str, Any]) -> None:
    assert named(asked(block)) == "What is this?\n\n[picture (image/png, 3 kB)]"
    assert media_in(asked(block)) == [block]


def test_a_file_is_named_as_its_sender_named_it() -> None:
    block = {"type": "file", "file": {"filename": "plan.pdf", "file_data": f"data:application/pdf;base64,{DATA}"}}
    assert name_of(block) == "file plan.pdf (application/pdf, 3 kB)"
    assert name_of({"type": "image", "url": "https://example.org/a/cat.jpg?x=1"}) == "picture cat.jpg"
    assert name_of({"type": "file", "file_id": "file-7"}) == "file file-7"


def test_a_text_file_is_read() -> None:
    words = base64.b64encode("Città\nfine".encode()).decode()
    block = {"type": "file", "base64": words, "mime_type": "text/plain", "filename": "a.txt"}
    assert named(asked(block)).endswith("[file a.txt (text/plain, 1 kB)]\nCittà\nfine")
    assert media_in(asked(block)) == []


def test_plain_messages_stay() -> None:
    plain = HumanMessage("What is this?")
    assert (named(plain), media_in(plain), without_media([plain])) == ("What is this?", [], [plain])


def test_what_is_left_out_is_said_to_the_model() -> None:
    assert shown("Well?", [], PICTURES[2:3]) == (
        "Well?\n\n[picture (image/png, 3 kB): left out: this model does not take it]"
    )
    [message] = without_media([asked(PICTURES[0])])
    assert "left out" in str(message.content)
    assert DATA not in str(message.content)


def test_a_profile_tells_what_a_model_takes() -> None:
    model = ScriptedChat(profile={"image_inputs": False, "pdf_inputs": True})
    assert not takes(model, "any", PICTURES[0])
    assert takes(model, "any", {"type": "file", "mime_type": "application/pdf", "base64": DATA})
    assert takes(None, "any", PICTURES[0]), "most servers only say when they are asked"
    assert not takes(None, "offline", PICTURES[0])


@pytest.mark.parametrize("block", PICTURES)
def test_a_checkpoint_has_names_alone(block: dict[str, Any]) -> None:
    saver = NamesOnly()
    raw = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, block]}
    for value in ([asked(block), AIMessage("A cat.")], {"messages": [raw]}, {"messages": [asked(block)]}, asked(block)):
        _, stored = saver.dumps_typed(value)
        assert DATA.encode() not in stored
        assert b"picture (image/png, 3 kB)" in stored
    assert saver.loads_typed(saver.dumps_typed([AIMessage("A cat.")])) == [AIMessage("A cat.")]
