import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.graph.entities import entities_in


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("Please get arXiv:2310.08560v2 for me.", "2310.08560", "paper"),
        ("Write to anna.b+x@mail.example.org soon.", "anna.b+x@mail.example.org", "contact"),
        ("We read the work of Prospero Quill today.", "Prospero Quill", "name"),
        ("It was founded at Tarnfeld University in 1828.", "Tarnfeld University", "organisation"),
        ("Does MemGPT page?", "MemGPT", "system"),
        ("Ho letto «Il nome della rosa» ieri.", "Il nome della rosa", "work"),
    ],
)
def test_named_things_are_known_by_their_form(text: str, name: str, kind: str) -> None:
    assert [(e.name, e.type) for e in entities_in(text)] == [(name, kind)]


def test_ordinary_sentences_name_nothing() -> None:
    assert entities_in("What is the time? It is late. The sea is calm, I think.") == []


def test_each_thing_comes_once_with_the_sentence_that_names_it_first() -> None:
    found = entities_in("We met. I like MemGPT a lot.", "MemGPT is good.")
    assert [(e.name, e.mention) for e in found] == [("MemGPT", "I like MemGPT a lot.")]


def test_of_a_long_sentence_what_stands_around_the_name_is_kept() -> None:
    found = entities_in("word " * 200 + "MemGPT " + "word " * 200)
    assert "MemGPT" in found[0].mention
    assert len(found[0].mention) < 310


@given(st.text(max_size=300))
def test_any_text_can_be_looked_through(text: str) -> None:
    for entity in entities_in(text):
        assert entity.name in text


@pytest.mark.parametrize(
    ("text", "name", "alias"),
    [
        ("We read about MemGPT (Memory GPT) today.", "MemGPT", "Memory GPT"),
        ("It uses Retrieval Augmented Generation (RAG) a lot.", "Retrieval Augmented Generation", "RAG"),
        (
            "The protocol MCP (Model Context Protocol) is young.",
            "MCP",
            "Model Context Protocol",
        ),
        ("Robert, aka Bob, called.", "Robert", "Bob"),
        ("Robert Miles (also known as Bob Miles) called.", "Robert Miles", "Bob Miles"),
        ("Ho visto Roberto detto Bobo ieri.", "Roberto", "Bobo"),
        ("Anna Bianchi, detta Nina, è qui.", "Anna Bianchi", "Nina"),
        ("Die Stadt Konstantinopel, auch bekannt als Byzanz, fiel.", "Stadt Konstantinopel", "Byzanz"),
        ("We ask Robert, a.k.a. Bob, about it.", "Robert", "Bob"),
        ("MCP stands for Model Context Protocol.", "MCP", "Model Context Protocol"),
        ('The ship "Fulmar", aka "Grey Lady", sails.', "Fulmar", "Grey Lady"),
    ],
)
def test_a_second_name_belongs_to_the_first_where_it_is_said_so(text: str, name: str, alias: str) -> None:
    [entity] = [entity for entity in entities_in(text) if entity.aliases]
    assert (entity.name, entity.aliases) == (name, (alias,))
    assert alias not in [each.name for each in entities_in(text)]
    assert name in entity.mention
    assert alias in entity.mention


@pytest.mark.parametrize(
    "text",
    [
        "Anna Rossi (Milan) met Carla Verdi (Rome).",
        "We read MemGPT (Berkeley) and MemGPT (2023).",
        "Anna Rossi and Bob Miles met. Known facts: none.",
        "The Institute (Tarnfeld University) is old.",
        "I am called Anna. Alias names are bad.",
        "Rome (Ro) and Georgia (Geo).",
    ],
)
def test_what_stands_in_brackets_is_no_second_name_by_itself(text: str) -> None:
    assert [entity.aliases for entity in entities_in(text) if entity.aliases] == []


def test_names_that_a_later_sentence_joins_come_with_the_first_mention() -> None:
    [entity, *_] = entities_in("MemGPT is good.", "Yes: MemGPT (Memory GPT) is.")
    assert (entity.name, entity.mention, entity.aliases) == ("MemGPT", "MemGPT is good.", ("Memory GPT",))
    assert not entity.answered


def test_it_is_told_who_spoke_of_a_thing() -> None:
    found = entities_in("I like MemGPT.", "So does Prospero Quill today, as MemGPT is good.")
    assert {entity.name: entity.answered for entity in found} == {"MemGPT": False, "Prospero Quill": True}


@given(st.text("AaBb ().,akRAG’&-\n", max_size=200))
def test_second_names_too_stand_in_the_text(text: str) -> None:
    for entity in entities_in(text):
        assert all(name in text for name in (entity.name, *entity.aliases))
