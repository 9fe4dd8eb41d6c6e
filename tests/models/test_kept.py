from pathlib import Path

import numpy as np
import pytest

from ricordo.models.kept import kept


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("ricordo.models.kept.user_cache_path", lambda _: tmp_path / "cache")
    return tmp_path / "cache"


class Maker:
    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> dict[str, object]:
        self.times += 1
        return {"words": {"a": 1}, "big": np.arange(100_000, dtype=np.float32), "small": [np.ones(3), np.eye(2)]}


def same(one: dict[str, object], other: dict[str, object]) -> bool:
    return repr(one) == repr(other) and np.array_equal(np.asarray(one["big"]), np.asarray(other["big"]))


def test_what_takes_a_while_to_make_is_kept_for_the_next_process(folder: Path) -> None:
    make = Maker()
    first, again = kept("thing", make), kept("thing", make)
    assert same(first, again)
    assert make.times == 1
    assert not again["big"].flags.writeable, "it is read from the file as it is needed"
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("left", [0, 3, 1000, -1])
def test_one_that_was_cut_off_is_made_anew(folder: Path, left: int) -> None:
    make = Maker()
    kept("thing", make)
    [file] = folder.iterdir()
    file.write_bytes(file.read_bytes()[:left])
    assert same(kept("thing", make), make())
    kept("thing", make)
    assert make.times == 3


def test_what_cannot_be_kept_is_made_each_time(folder: Path) -> None:
    folder.touch()  # a file where the folder should be
    make = Maker()
    kept("thing", make)
    kept("thing", make)
    assert make.times == 2


def test_what_pickle_cannot_take_is_made_each_time(folder: Path) -> None:
    with_a_function = kept("thing", lambda: {"f": lambda: 7})
    assert with_a_function["f"]() == 7
    assert list(folder.iterdir()) == []
