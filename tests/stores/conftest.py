"""Home folders for embedded servers of one's own, and an embedding model that counts."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ricordo.models.embeddings import Embedder
from tests.support.servers import cleared, data_of, running, server_of, wait_until
from tests.support.toolboxes import Counting

NAME = "a b é 日本 $(x) 'q' \"p\""


@pytest.fixture
def new_home(tmp_path: Path) -> Iterator[Path]:
    """Folder that is not there yet, of a difficult name."""
    with cleared(tmp_path / NAME) as home:
        yield home


@pytest.fixture(scope="session")
def made_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder of a server that has been stopped; a copy of it is quicker than a new one."""
    home = tmp_path_factory.mktemp("made")
    with server_of(home) as server:
        server.start()
    wait_until(lambda: running(home) is None)
    return data_of(home)


@pytest.fixture
def home(new_home: Path, made_data: Path) -> Path:
    """Folder with a server that does not run."""
    shutil.copytree(made_data, data_of(new_home))
    return new_home


@pytest.fixture
def open_home() -> Iterator[Path]:
    """Home folder that every user can reach, as pytest's own are not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        with cleared(Path(folder) / NAME) as home:
            yield home


@pytest.fixture
def counting(embedder: Embedder) -> Counting:
    """The real embedding model, which counts what it embeds."""
    return Counting(embedder)
