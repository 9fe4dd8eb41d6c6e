import re
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.common.sentences import centrality, sentences, shortened
from ricordo.models import tokens
from ricordo.offline import extractive
from ricordo.offline.extractive import DESCRIPTION_CHARACTERS, StructuredSummary, summarise
from ricordo.offline.phrases import NOTICES

Spoken = tuple[str, str]

_PIECES = st.sampled_from(
    [
        "We decided to use pgvector. ",
        "MemGPT pages its context in and out. ",
        "Which paper was it? ",
        "记忆系统很重要。我们决定使用它！",
        "هل وصلت الرسالة؟ ",
        "Dr. Ito paid 3.50 EUR on 2024-05-01, e.g. for tea. ",
        '{"id": 7, "tags": ["a", "b"], "text": "x y"} ',
        "QUJD" * 500,
        "\n\n- one\n- two\n",
        "…… !!! 👍 ",
        "https://example.org/a?b=c ",
        "\u2028 \x85 ",
    ]
)
_TEXTS = st.one_of(st.text(max_size=300), st.lists(_PIECES, max_size=12).map("".join))
_THREADS = st.lists(st.tuples(st.sampled_from(["user", "assistant", "summary"]), _TEXTS), min_size=1, max_size=14)


def said_in(summary: StructuredSummary) -> list[str]:
    return [s for s in [summary.purpose, *summary.facts, *summary.decisions, *summary.open_items] if s]


def bare(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def is_word_for_word(sentence: str, messages: Sequence[Spoken]) -> bool:
    head = bare(sentence.removesuffix("…"))
    return any(head in bare(text) for _, text in messages)


@given(_THREADS, st.integers(1, 700))
@settings(max_examples=80)
def test_a_summary_fits_its_budget_and_quotes_word_for_word(messages: list[Spoken], budget: int) -> None:
    made = summarise(messages, budget)
    assert tokens.count(made.render()) <= max(20, budget)
    assert made.render().strip()
    assert made.description.strip()
    assert len(made.description) <= DESCRIPTION_CHARACTERS
    assert "\n" not in made.description
    for sentence in [*said_in(made), *made.named_things]:
        assert is_word_for_word(sentence, messages), sentence


@given(_THREADS)
@settings(max_examples=15)
def test_the_same_messages_give_the_same_summary(messages: list[Spoken]) -> None:
    assert summarise(messages, 200) == summarise(messages, 200)


def thread() -> list[Spoken]:
    return [
        ("user", "Can you get me the paper MemGPT"),
        ("assistant", "Found: 2310.08560 MemGPT: Towards LLMs as Operating Systems, by Charles Packer."),
        ("user", "Can you save the content of the paper"),
        ("assistant", "We decided to store it in pgvector. The index still needs to be rebuilt."),
        ("user", "The lighthouse of Skerryhope was lit on 3 March 1871."),
        ("assistant", "Noted."),
        ("user", "Who paid for the tower?"),
    ]


def test_each_part_of_a_summary_holds_what_it_is_for() -> None:
    made = summarise(thread(), 400)
    assert made.purpose == "Can you get me the paper MemGPT"
    assert "The lighthouse of Skerryhope was lit on 3 March 1871." in made.facts
    assert made.decisions == ["We decided to store it in pgvector."]
    assert made.open_items == ["The index still needs to be rebuilt.", "Who paid for the tower?"]
    assert {"MemGPT", "2310.08560", "Charles Packer"} <= set(made.named_things)


def test_the_description_tells_of_the_beginning_and_the_end() -> None:
    made = summarise(thread(), 60)
    assert made.description.startswith("Can you get me the paper MemGPT")
    assert made.description.endswith("Who paid for the tower?")


def test_every_message_of_the_user_has_its_place() -> None:
    asked = [f"Please look up topic number {i} in the archive" for i in range(40)]
    messages = [spoken for text in asked for spoken in (("user", text), ("assistant", "It is there. " * 30))]
    assert set(asked) <= set(said_in(summarise(messages, 700)))


def test_a_small_budget_goes_to_beginning_middle_and_end() -> None:
    messages = [("user", f"Please look up topic number {i} in the archive") for i in range(41)]
    said = " ".join(said_in(summarise(messages, 60)))
    for place in (0, 20, 40):
        assert f"number {place} in" in said


def test_a_long_request_is_cut_and_marked() -> None:
    made = summarise([("user", "please " * 3000)], 30)
    assert made.purpose.endswith(" …")
    assert made.purpose.startswith("please please")


def test_a_standing_phrase_of_the_assistant_is_no_fact() -> None:
    phrase = "I am here to help you at any time."
    news = [f"Bridge number {i} opened in May. {phrase}" for i in range(5)]
    messages = [spoken for text in news for spoken in (("user", "What is new?"), ("assistant", text))]
    said = said_in(summarise(messages, 300))
    assert phrase not in said
    assert "Bridge number 3 opened in May." in said


def test_what_the_offline_model_says_of_itself_is_no_fact() -> None:
    notice = NOTICES["en"]["offline"]
    assert notice not in said_in(summarise([("user", "What is new?"), ("assistant", f"The bridge.\n\n{notice}")], 300))


@pytest.mark.parametrize("text", ["", "   \n ", "\u2028"])
def test_messages_without_text_have_a_summary_too(text: str) -> None:
    assert summarise([("user", text)], 50).render() == "messages without text"


def test_joined_summaries_keep_all_parts_in_order() -> None:
    parts = [summarise(thread()[:4], 200), summarise(thread()[4:], 200)]
    whole = StructuredSummary.join(parts)
    assert whole.purpose == parts[0].purpose
    for name in ("decisions", "open_items", "named_things"):
        assert getattr(whole, name) == list(dict.fromkeys(getattr(parts[0], name) + getattr(parts[1], name)))
    assert set(said_in(parts[1])) <= set(said_in(whole))
    assert len(whole.description) <= DESCRIPTION_CHARACTERS


def test_a_model_may_write_too_long_a_description() -> None:
    assert len(StructuredSummary(description="long " * 100).description) <= DESCRIPTION_CHARACTERS


_WORDS = "The agent keeps what it learned about retrieval, and the queue evicts message number {} at 70 percent. "


@pytest.mark.parametrize(
    "text",
    [
        _WORDS * 15,
        "QUJD" * 5000,
        '{"id": 1, "name": "x y z", "list": [1, 2, 3]}, ' * 500,
        "五行の長い文章です。" * 500,
        "a b\n" * 3000,
    ],
    ids=["prose", "base64", "json", "cjk", "lines"],
)
def test_no_more_is_read_of_each_message_than_its_share(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    weighed: list[int] = []

    def counted(part: str) -> list[str]:
        read.append(len(part))
        return sentences(part)

    def compared(found: Sequence[Counter[str]]) -> list[float]:
        weighed.append(len(found))
        return centrality(found)

    monkeypatch.setattr(extractive, "sentences", counted)
    monkeypatch.setattr(extractive, "centrality", compared)
    summarise([("user" if i % 2 == 0 else "assistant", text.replace("{}", str(i))) for i in range(200)], 700)
    assert sum(read) <= 200 * extractive._LEAST_SHARE
    assert sum(weighed) <= extractive._WEIGHED, "each is compared with each other"


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("Dr. Ito came. He left at 3.50, e.g. by bus.", ["Dr. Ito came.", "He left at 3.50, e.g. by bus."]),
        ("他来了。她走了！真的？", ["他来了。", "她走了！", "真的？"]),
        ("Eccolo. È vero? Sì!", ["Eccolo.", "È vero?", "Sì!"]),
        ("Shown in Fig. 3 by Smith et al. (2020). Next.", ["Shown in Fig. 3 by Smith et al. (2020).", "Next."]),
        (
            "The agent pages its context in and out of the window on\ndemand. It works.",
            ["The agent pages its context in and out of the window on demand.", "It works."],
        ),
        ("- one\n- two\n\nHello\nWorld", ["one", "two", "Hello", "World"]),
        ("1. First thing.\n2. Second thing.", ["First thing.", "Second thing."]),
        ("", []),
    ],
)
def test_sentences_are_split_as_a_reader_would(text: str, split: list[str]) -> None:
    assert sentences(text) == split


def test_an_endless_word_is_cut_where_it_begins_to_say_nothing() -> None:
    assert shortened("The key is " + "A" * 500 + " and more") == "The key is " + "A" * 40 + " …"
    assert shortened("See https://example.org/" + "a" * 100) == "See https://example.org/" + "a" * 100
