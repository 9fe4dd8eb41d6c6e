from itertools import cycle, permutations

import pytest

from ricordo.models.embeddings import Embedder
from ricordo.offline.phrases import NOTICES
from ricordo.offline.quoting import as_found, evidence, overview, result_lines
from ricordo.offline.seen import Seen, read_blocks
from ricordo.stores.passages import render_all
from tests.support.offline_desk import chunk, spoken

HARBOUR = "The harbour of Skerryhope exports herring and salt to nine countries. "
TRAINED = "The big model was trained on eight processors for three and a half days. "
LEDGER = "A ledger has a normal form, and it is reached in seven steps. "
SAVE = "Salva il contenuto dell'articolo e mandalo alla collega. "
TOWER = "Il faro è alto quaranta metri e si vede da lontano. "


def stored(text: str, source: str = "a.pdf, page 1", title: str = "") -> list[Seen]:
    return read_blocks(chunk(source, text, title).render(1), "Knowledge Base")


async def best(embedder: Embedder, question: str, passages: list[Seen]) -> list[str]:
    return [quote.text for quote in await evidence(question, passages, embedder)]


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("Combien de jours a duré l'entraînement ?", TRAINED, "Garde le contenu de l'article pour moi."),
        ("Wie hoch ist der Leuchtturm?", TOWER, "Der Zug fährt um neun Uhr ab."),
        ("What does the harbour export?", HARBOUR, LEDGER),
        ("灯塔有多高？", TOWER, "Der Zug fährt um neun Uhr ab."),
    ],
)
async def test_a_sentence_of_another_language_wins_over_one_that_only_sounds_alike(
    embedder: Embedder, question: str, answer: str, other: str
) -> None:
    quotes = await best(embedder, question, stored(f"{LEDGER}{other} {answer}"))
    assert quotes[0] == answer.strip()


async def test_a_short_statement_that_counts_something_is_a_sentence_and_a_row_of_figures_is_none(
    embedder: Embedder,
) -> None:
    passages = stored("I have 3 kids.") + stored("kids 3 4 5\n\n3 4 kids")
    assert await best(embedder, "how many kids do I have", passages) == ["I have 3 kids."]


async def test_what_is_merely_the_nearest_is_not_given_as_an_answer(embedder: Embedder) -> None:
    passages = stored(HARBOUR + TRAINED + LEDGER + SAVE + TOWER)
    for question in ("Who won the world cup in 2006?", "Why is the sky blue?", "Chi ha scritto la Divina Commedia?"):
        assert await best(embedder, question, passages) == []
    assert await best(embedder, "Who won the world cup in 2006?", stored(LEDGER)) == []
    assert await best(embedder, "Why is the sky blue?", []) == []


async def test_questions_orders_and_quotations_of_the_dialogue_are_no_evidence(embedder: Embedder) -> None:
    talk = read_blocks(
        render_all(
            spoken(
                ("user", "How many processors trained the model? Find the processors."),
                (
                    "assistant",
                    f'- "Nine processors trained the model." [b.pdf]\n\n{NOTICES["en"]["offline"]}',
                ),
                ("user", "My sister trained the model on two processors."),
            )
        ),
        "Conversation",
    )
    assert await best(embedder, "How many processors trained the model?", talk) == [
        "My sister trained the model on two processors."
    ]


async def test_the_knowledge_base_is_the_better_source_of_the_same_sentence(embedder: Embedder) -> None:
    entity = [Seen("Entity", "id=1", '"The harbour exports herring."')]
    question = "What does the harbour export?"
    passages = [*entity, *stored("The harbour exports herring.")]
    assert [quote.render() for quote in await evidence(question, passages, embedder)] == [
        '- "The harbour exports herring." [a.pdf, page 1]'
    ]


_PARTS = ("agent", "window", "queue", "memory", "archive", "token")
FILLER = " ".join(
    f"The {a} {verb} the {b} when {c} arrive."
    for (a, b), verb, c in zip(
        permutations(_PARTS, 2),
        cycle(["fills", "empties", "reads", "writes", "keeps"]),
        cycle(["letters", "guests", "orders", "trains", "storms", "goods", "parcels"]),
        strict=False,
    )
)


def test_what_a_document_says_of_itself_comes_into_its_overview() -> None:
    told = "We propose a scheduler for the archive. In this paper, we conclude that memory counts."
    found = overview("What is the paper about?", stored(f"{FILLER} {told}"), [])
    quotes = [quote.text for quote in found]
    assert "We propose a scheduler for the archive." in quotes
    assert "In this paper, we conclude that memory counts." in quotes


@pytest.mark.parametrize(
    ("question", "said", "source"),
    [
        ("What are the key points of Voyager?", "", "b.pdf"),
        ("What are the key points of the paper?", 'Saved: "Voyager" (b.pdf).', "b.pdf"),
        ("What are the key points of the paper?", "", "a.pdf"),
    ],
)
def test_an_overview_is_of_the_document_that_is_meant(question: str, said: str, source: str) -> None:
    passages = stored("The window is small.", "a.pdf, page 1", "MemGPT") + stored(
        "The agent explores.", "b.pdf, page 2", "Voyager"
    )
    talk = read_blocks(render_all(spoken(("assistant", said))), "Conversation")
    assert {quote.seen.document for quote in overview(question, passages, talk)} == {source}


def test_references_and_headings_are_no_part_of_an_overview() -> None:
    text = "5 Closing Remarks\n\nThe window is small.\n\n[12] J. Smith. On Windows. 2019.\n\nIt can be paged."
    assert [q.text for q in overview("What is it about?", stored(text), [])] == [
        "The window is small.",
        "It can be paged.",
    ]


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ('{"results": [{"title": "T", "url": "u://x", "score": 0.5}]}', "1. T · url: u://x · score: 0.5"),
        (
            '[{"name": "forget", "description": "Forget a memory.", "group": "memory"}]',
            "1. forget · description: Forget a memory. · group: memory",
        ),
        ('["one", "two"]', "1. one\n2. two"),
        ('{"ok": true}', "1. ok: True"),
        ("2026-11-30 10:00:00 (UTC)", "> 2026-11-30 10:00:00 (UTC)"),
        ("[nothing found: the knowledge base is empty]", "> [nothing found: the knowledge base is empty]"),
        ("long " * 1000, None),
    ],
)
def test_a_result_is_laid_out_to_be_read(result: str, shown: str | None) -> None:
    assert result_lines(result) == shown


def test_what_a_tool_found_is_quoted_even_where_no_word_of_the_question_stands_in_it() -> None:
    found = [*stored("My name is Ada."), *stored(" ")]
    assert [quote.text for quote in as_found(found, most=3)] == ["My name is Ada."]
    assert len(as_found(found * 5, most=3)) <= 3
