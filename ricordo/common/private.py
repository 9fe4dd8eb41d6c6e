"""Folders that no other user of the machine looks into."""

import os
from pathlib import Path


def private_folder(folder: Path, *, ours: bool = True, passable: bool = False) -> Path:
    """Make a folder that its owner alone can read, with those above it.

    Args:
        folder: The folder; it is returned.
        ours: Whether one that is there already is closed too. What a person chose, it might be a folder of theirs.

        passable: Whether others may pass through, and see nothing, where root makes it: PostgreSQL, which refuses root,
            runs as one of them.

    Raises:
        OSError: It cannot be made, or belongs to somebody else.
    """
    mode = 0o711 if passable and not os.geteuid() else 0o700
    try:
        folder.mkdir(parents=True, mode=mode)
    except FileExistsError:
        if not ours:
            return folder
    folder.chmod(mode)
    return folder
