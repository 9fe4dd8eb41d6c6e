"""Objects that take a while to make, kept in the user's cache folder for the next process."""

import mmap
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from platformdirs import user_cache_path

_ALIGNED = 64


def kept(name: str, make: Callable[[], Any]) -> Any:
    """Return what was made under a name before, or make it and keep it; its arrays can only be read.

    Arrays stay in the file and are mapped: what is not touched costs no memory, and all processes share the rest.
    Whatever is wrong with the folder, the object is made.

    Args:
        name: Stands for the object and the version of whatever makes it.
        make: Makes it; pickle must be able to take it.
    """
    folder = user_cache_path("ricordo")
    path = folder / f"{name}-python{sys.version_info.major}.{sys.version_info.minor}.pickle"
    try:
        return _read(path)
    except Exception:  # noqa: BLE001 - absent, cut off, or from another version of a package: pickle fails in any way
        made = make()
    with suppress(OSError, pickle.PicklingError, AttributeError, TypeError):  # as pickle says what it cannot take
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=folder, delete=False) as file:
            try:
                _write(made, file)
                Path(file.name).replace(path)
            finally:
                Path(file.name).unlink(missing_ok=True)
    return made


def _write(made: Any, file: Any) -> None:
    buffers: list[pickle.PickleBuffer] = []
    frame = pickle.dumps(made, protocol=5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    pickle.dump((frame, [len(each) for each in raw]), file)
    for each in raw:
        file.write(bytes(-file.tell() % _ALIGNED))
        file.write(each)
    file.flush()


def _read(path: Path) -> Any:
    with path.open("rb") as file:
        # Only this user, who could as well change the program, writes in that folder.
        frame, sizes = pickle.load(file)  # noqa: S301 - as said
        place = file.tell()
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    buffers = []
    for size in sizes:
        place += -place % _ALIGNED
        buffers.append(mapped[place : place + size])
        place += size
    if place != len(mapped):
        raise ValueError("the file was cut off")
    return pickle.loads(frame, buffers=buffers)  # noqa: S301 - as said
