"""Bodies and contexts made to be misread: too long, too deep, escaped, of another kind, asking for too much."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Receive, Scope, Send

from ricordo.common.errors import InputError
from ricordo.common.settings import Settings, get_settings
from ricordo.graph.context import Context
from ricordo.graph.limits import beyond
from ricordo.models.embeddings import Embedder
from ricordo.server.bodies import CheckedBody, wrong_body
from ricordo.stores.postgres.database import Database
from tests.support.harness import open_harness, says


async def post(
    chunks: list[bytes], content_type: str | None = "application/json", *, declare: int | None = None
) -> tuple[int, int, str]:
    """Send a body; returns the status, how many chunks were read, and what was said."""
    read, sent = 0, b""
    status = 0

    async def inside(scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        body = (await receive())["body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    async def receive() -> Message:
        nonlocal read
        read += 1
        return {"type": "http.request", "body": chunks[read - 1], "more_body": read < len(chunks)}

    async def send(message: Message) -> None:
        nonlocal status, sent
        status = message.get("status", status)
        sent += message.get("body", b"")

    headers = [] if content_type is None else [(b"content-type", content_type.encode())]
    if declare is not None:
        headers.append((b"content-length", str(declare).encode()))
    scope = {"type": "http", "method": "POST", "path": "/runs/wait", "headers": headers, "root_path": ""}
    await CheckedBody(inside)(scope, receive, send)
    return status, read, sent.decode()


async def test_a_body_that_says_it_is_too_long_is_not_read() -> None:
    status, read, said = await post([b"[" * 1000] * 1000, declare=400 * 2**20)
    assert (status, read) == (413, 0)
    assert "RICORDO_MAX_BODY_MB" in said


async def test_of_a_body_that_does_not_say_so_no_more_is_read_than_is_allowed() -> None:
    status, read, _ = await post([b" " * 2**20] * 400)
    assert (status, read) == (413, get_settings().max_body_mb + 1)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None, "application/jsonx"]
)
async def test_a_form_of_a_page_is_no_json(kind: str | None) -> None:
    status, _, said = await post([b'{"assistant_id": "agent"}'], kind)
    assert status == 415
    assert "Content-Type: application/json" in said


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"])
async def test_json_passes_as_it_came(kind: str) -> None:
    body = json.dumps({"context": {"user_id": "ada"}, "input": "ä" * 2**18}).encode()
    assert await post([body[:100], body[100:]], kind) == (200, 2, body.decode())


async def test_a_request_without_a_body_needs_no_type() -> None:
    assert (await post([b""], None))[0] == 200


@pytest.mark.parametrize("nested", ['{"a":' * 100_000 + "1" + "}" * 100_000, "[" * 100_000 + "]" * 100_000])
async def test_a_hundred_thousand_levels_are_refused_in_words(nested: str) -> None:
    for body in (nested, f'{{"context": {nested}}}', f'{{"input": {nested}, "context": {{"user_id": 5}}}}'):
        status, _, said = await post([body.encode()])
        assert (status, "no JSON that can be read" in said) == (422, True)


@pytest.mark.parametrize("levels", [200, 900])
def test_a_value_in_a_context_is_no_tree(levels: int) -> None:
    body = f'{{"context": {{"user_id": {"[" * levels}{"]" * levels}}}}}'
    assert "user_id is no single value" in (wrong_body(body.encode()) or "")


@given(key=st.sampled_from(["context", "user_id"]), which=st.sets(st.integers(0, 6)))
def test_escaped_keys_are_the_same_keys(key: str, which: set[int]) -> None:
    escaped = "".join(f"\\u{ord(c):04x}" if i in which else c for i, c in enumerate(key))
    body = '{"context": {"user_id": 5}}'.replace(key, escaped)
    assert "user_id" in (wrong_body(body.encode()) or "")


@pytest.mark.parametrize(
    ("wrap", "unknown"),
    [
        (lambda asked: {"context": asked}, True),
        (lambda asked: [{}, {"context": asked}], True),
        (lambda asked: {"config": {"configurable": {"thread_id": "t"} | asked}}, False),
        (lambda asked: {"method": "run.start", "params": {"config": {"configurable": asked}}}, False),
    ],
)
def test_what_a_run_asks_for_is_found_in_each_of_its_places(wrap: Any, *, unknown: bool) -> None:
    assert wrong_body(orjson.dumps(wrap({"max_iterations": 3}))) is None
    for asked in ({"max_iterations": -1}, {"max_iterations": 11}, {"model": "openai:dear"}, {"user_id": 7}):
        assert wrong_body(orjson.dumps(wrap(asked)))
    assert ("userid" in (wrong_body(orjson.dumps(wrap({"userid": "ada"}))) or "")) is unknown


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"max_iterations": 11}, "RICORDO_MAX_ITERATIONS"),
        ({"max_iterations": 0}, "above 0"),
        ({"max_iterations": -3}, "above 0"),
        ({"deadline_seconds": 301.0}, "RICORDO_DEADLINE_SECONDS"),
        ({"deadline_seconds": -1.0}, "above 0"),
        ({"deadline_seconds": float("nan")}, "above 0"),
        ({"deadline_seconds": float("inf")}, "above 0"),
        ({"tools_per_step": 7}, "RICORDO_TOOLS_PER_STEP"),
        ({"context_window": 8001}, "RICORDO_CONTEXT_WINDOW"),
        ({"context_window": -1}, "above 0"),
        ({"knowledge_base_k": -1}, "from 0 on"),
        ({"summary_k": 101}, "100 at most"),
        ({"model": "openai:gpt-dear"}, "RICORDO_MODELS"),
    ],
)
def test_what_the_deployment_sets_is_the_upper_bound(asked: dict[str, Any], said: str) -> None:
    settings = Settings(context_window=8000, models="openai:one, openai:two")
    assert said in (beyond(Context(**asked), settings, serves=True) or "")


@pytest.mark.parametrize(
    "asked",
    [{}, {"max_iterations": 10, "deadline_seconds": 0.5, "tools_per_step": 1, "knowledge_base_k": 0}]
    + [{"model": name} for name in ("openai:one", "openai:two", "offline", "openai:mine")],
)
def test_what_is_within_the_bounds_is_allowed(asked: dict[str, Any]) -> None:
    settings = Settings(model="openai:mine", models="openai:one, openai:two")
    assert beyond(Context(**asked), settings, serves=True) is None


def test_any_model_may_be_asked_for_where_the_deployment_says_so_and_in_the_command_line() -> None:
    dear = Context(model="openai:dear", max_iterations=500)
    assert beyond(dear, Settings(models="*", max_iterations=500), serves=True) is None
    assert beyond(dear, Settings(), serves=False) is None
    assert beyond(Context(max_iterations=-1), Settings(), serves=False)


async def test_the_graph_holds_to_the_bounds_whatever_way_a_run_came(
    db: Database, embedder: Embedder, tmp_path: Path
) -> None:
    async with open_harness(db, embedder, tmp_path) as harness:
        assert (await harness.ask("Hello?", says("Hello."), max_iterations=11)).answer == "Hello."
        harness.resources.serves = True
        with pytest.raises(InputError, match="RICORDO_MAX_ITERATIONS"):
            await harness.ask("Hello?", says("Never said."), max_iterations=11)
