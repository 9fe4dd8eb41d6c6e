"""What the integration tests share: a model server and a `langgraph dev` for the whole session."""

import os
from collections.abc import AsyncIterator, Iterator
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from langgraph_sdk.client import LangGraphClient

from ricordo.common.settings import get_settings
from tests.support.langgraph_server import LangGraphServer
from tests.support.stand_ins.arxiv_server import ArxivServer
from tests.support.stand_ins.local_server import Faults
from tests.support.stand_ins.openai_server import KEY, OpenAIServer


@pytest.fixture(scope="session")
def shared_dsn(server: str, template: str) -> Iterator[str]:
    """Address of the database that the session's servers share."""
    name = f"shared_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
        conn.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def shared_model() -> Iterator[OpenAIServer]:
    """The model of the session's servers."""
    with OpenAIServer() as model:
        yield model


@pytest.fixture
def model(shared_model: OpenAIServer) -> Iterator[OpenAIServer]:
    """The same with nothing left of earlier tests; what OpenAI would refuse fails the test."""
    shared_model.play()
    shared_model.requests.clear()
    yield shared_model
    broken, shared_model.violations[:] = list(shared_model.violations), []
    assert broken == []


@pytest.fixture(scope="session")
def shared_arxiv() -> Iterator[ArxivServer]:
    """The arXiv of the session's servers."""
    with ArxivServer() as arxiv:
        yield arxiv


@pytest.fixture
def arxiv(shared_arxiv: ArxivServer) -> ArxivServer:
    """The same without faults or requests of earlier tests."""
    shared_arxiv.faults, shared_arxiv.pdf = Faults(), "good"
    shared_arxiv.requests.clear()
    return shared_arxiv


@pytest.fixture(scope="session")
def shared_settings(
    shared_dsn: str, shared_model: OpenAIServer, shared_arxiv: ArxivServer, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """The environment of the session's servers."""
    own = {"RICORDO_DATABASE_URL": shared_dsn, "RICORDO_HOME": str(tmp_path_factory.mktemp("server-home"))}
    return own | shared_model.settings() | shared_arxiv.settings()


@pytest.fixture(scope="session")
def langgraph(shared_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[LangGraphServer]:
    """A running `langgraph dev`, which watches that nothing blocks its event loop and that no key is logged."""
    with LangGraphServer(tmp_path_factory.mktemp("server"), shared_settings) as running:
        yield running
    assert "Blocking call" not in running.said()
    assert KEY not in running.said()


@pytest.fixture
async def client(langgraph: LangGraphServer) -> AsyncIterator[LangGraphClient]:
    """A client of the running server."""
    async with langgraph.client() as client:
        yield client


@pytest.fixture
def same_settings(shared_settings: dict[str, str]) -> None:
    """Make this process use the database and the model of the session's server."""
    os.environ.update(shared_settings)
    get_settings.cache_clear()
