import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.entities import entities_in


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
