"""Secrets are told by their form and by what they are called; all else stays."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.common.secrets import SECRET, value_without_secrets, without_secrets


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("My password is hunter22, remember.", "hunter22"),
        ("La password è gabbiano7.", "gabbiano7"),
        ("the API key: wren-0042-xyz", "wren-0042-xyz"),
        ('{"client_secret": "wren0042"}', "wren0042"),
        ("use sk-wren0042puffin0042 here", "sk-wren0042puffin0042"),
        ("Authorization: Bearer wren0042.puffin", "wren0042.puffin"),
        ("a token eyJhbGciOiJub25lIn0.eyJzdWIiOiJ3cmVuIn0.x is there", "eyJzdWIiOiJ3cmVuIn0"),
        ("connect to postgresql://wren:puffin@localhost/db", "puffin"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIwren\n-----END RSA PRIVATE KEY-----", "MIIwren"),
    ],
)
def test_a_secret_is_not_kept(text: str, secret: str) -> None:
    shown = without_secrets(text)
    assert secret not in shown
    assert SECRET in shown


@pytest.mark.parametrize(
    "text",
    [
        "How do I choose a good password?",
        "the sk-learn-documentation page",
        "at most 500 tokens",
        "The author is Ada Byron; see https://example.org/a:b@c",
        "the key to the harbour is rusty",
    ],
)
def test_what_only_speaks_of_secrets_stays(text: str) -> None:
    assert without_secrets(text) == text


def test_values_are_secret_by_what_they_are_called_at_any_depth() -> None:
    given_: dict[str, Any] = {
        "apiKey": "wren",
        "max_tokens": 5,
        "options": {"user-password": "wren", "headers": [{"Cookie": "wren"}], "page": 2},
        "query": "my password=wren42",
        "secret": None,
    }
    assert value_without_secrets(given_) == {
        "apiKey": SECRET,
        "max_tokens": 5,
        "options": {"user-password": SECRET, "headers": [{"Cookie": SECRET}], "page": 2},
        "query": f"my password={SECRET}",
        "secret": None,
    }


@given(st.text(max_size=200))
def test_any_text_can_be_looked_through(text: str) -> None:
    assert isinstance(without_secrets(text), str)
