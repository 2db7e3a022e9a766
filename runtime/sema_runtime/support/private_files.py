"""Makes folders and files that only their owner can read: journals, tapes and ledgers hold prompts and replies."""

from __future__ import annotations

import os
from contextlib import suppress

from sema_runtime.systems import O_CLOEXEC

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def make_folders(path: str) -> None:
    """Makes a folder and its missing parents, for their owner alone; an existing one keeps its mode. Raises OSError."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path.rstrip(os.sep))
    if above and not os.path.exists(above):  # mkdir reports a parent that is no folder
        with suppress(FileExistsError):
            make_folders(above)
    try:
        os.mkdir(path, FOLDER_MODE)
    except FileExistsError:  # another process was quicker
        if not os.path.isdir(path):
            raise


def make_file(path: str) -> None:
    """Makes an empty file for its owner alone; an existing one stays unchanged. Raises OSError."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | O_CLOEXEC, FILE_MODE))


def owned(path: str, flags: int) -> int:
    """Opens a file; usable as the opener of `open`. A new file is for its owner alone."""
    return os.open(path, flags | O_CLOEXEC, FILE_MODE)
