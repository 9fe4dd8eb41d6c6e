from dataclasses import fields
from types import SimpleNamespace

import pytest

from ricordo.graph.context import Context, context_of, thread_of, user_of


def runtime(context: object = None, identity: str | None = None, thread: str | None = "t") -> SimpleNamespace:
    server = SimpleNamespace(user=SimpleNamespace(identity=identity)) if identity else None
    return SimpleNamespace(
        context=context, server_info=server, execution_info=SimpleNamespace(thread_id=thread, run_id="r")
    )


def test_every_option_says_what_it_does() -> None:
    assert all(f.metadata.get("description") for f in fields(Context))


@pytest.mark.parametrize(
    ("context", "identity", "user"),
    [
        (None, None, "default"),
        (Context(user_id="anna"), None, "anna"),
        ({"user_id": "anna"}, None, "anna"),
        (Context(user_id="anna"), "berta", "berta"),
    ],
)
def test_the_authenticated_identity_wins(context: object, identity: str | None, user: str) -> None:
    assert user_of(runtime(context, identity)) == user


def test_without_a_context_the_defaults_hold() -> None:
    assert context_of(runtime()) == Context()


def test_a_run_without_a_thread_has_one_of_its_own() -> None:
    assert thread_of(runtime(thread=None)) == "run r"
