"""What all tests share: a clean environment, one PostgreSQL a session, one database a test."""

import asyncio
import fcntl
import os
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, LiteralString
from urllib.parse import urlsplit

import psycopg
import pytest
from hypothesis import HealthCheck, settings

from ricordo.common.settings import get_settings
from ricordo.stores.postgres.database import Database
from ricordo.stores.postgres.embedded import EmbeddedPostgres
from ricordo.stores.postgres.migrate import migrate

if TYPE_CHECKING:
    from ricordo.models.embeddings import Embedder
    from tests.support.stand_ins.openai_server import OpenAIServer

# Nothing is timed: a machine may be slow, and its other work may come first.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

_TEMPLATE = "ricordo_template"
_FOREIGN = ("RICORDO_", "TAVILY_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_", "PG")
_PROVIDERS = ("OPENAI_", "AZURE_", "ANTHROPIC_", "OLLAMA_", "MISTRAL_", "GOOGLE_", "GEMINI_", "GROQ_", "OPENROUTER_")


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path) -> Iterator[None]:
    """No setting of the machine reaches a test, and none of a test reaches the next one."""
    before, folder = dict(os.environ), Path.cwd()
    for name in before:
        if name.startswith(_FOREIGN + _PROVIDERS):
            del os.environ[name]
    os.environ["RICORDO_HOME"] = str(tmp_path / "home")
    os.environ["RICORDO_ALLOWED_HOSTS"] = "127.0.0.1"  # where the stand-ins are
    work = tmp_path / "work"
    work.mkdir()
    os.chdir(work)  # no .env there
    get_settings.cache_clear()
    yield
    get_settings.cache_clear()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def session_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder that all workers of the session share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep the other workers out."""
    with (folder / "session.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def server(session_folder: Path) -> Iterator[str]:
    """Address of the session's PostgreSQL, one for all workers; it ends with the last of them."""
    embedded = EmbeddedPostgres(session_folder, options=["-F"], idle_seconds=0)
    dsn = embedded.start()
    yield dsn
    embedded.close()


@pytest.fixture(scope="session")
def template(server: str, session_folder: Path) -> str:
    """Name of a migrated, empty database."""
    with _alone(session_folder), psycopg.connect(server, autocommit=True) as conn:
        if conn.execute("SELECT FROM pg_database WHERE datname = %s", [_TEMPLATE]).fetchone() is None:
            conn.execute(f"CREATE DATABASE {_TEMPLATE}")
            asyncio.run(migrate(_address(server, _TEMPLATE)))
    return _TEMPLATE


@pytest.fixture
def dsn(server: str, template: str) -> Iterator[str]:
    """Address of a migrated, empty database of this test's own."""
    yield from _database(server, f"TEMPLATE {template}")


@pytest.fixture
def empty_dsn(server: str) -> Iterator[str]:
    """Address of a database without a schema."""
    yield from _database(server, "")


def _address(server: str, database: str) -> str:
    return urlsplit(server)._replace(path=f"/{database}").geturl()


def _database(server: str, options: LiteralString) -> Iterator[str]:
    name = f"t_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name} {options}")
        yield _address(server, name)
        conn.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
async def db(dsn: str) -> AsyncIterator[Database]:
    """An open database of this test's own."""
    async with Database.open(dsn) as database:
        yield database


@pytest.fixture(scope="session")
def embedder() -> "Embedder":
    """The local embedding model, loaded once."""
    from ricordo.models.embeddings import open_embedder  # noqa: PLC0415 - slow to import, and few tests need it

    return open_embedder("local")


@pytest.fixture
def openai_server() -> "Iterator[OpenAIServer]":
    """A model server on localhost that the settings lead to; what OpenAI itself would refuse fails the test."""
    from tests.support.stand_ins.openai_server import OpenAIServer  # noqa: PLC0415 - most tests need none

    with OpenAIServer() as model:
        os.environ.update(model.settings())
        get_settings.cache_clear()
        yield model
    assert model.violations == []
