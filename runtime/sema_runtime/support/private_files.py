"""Folders and files for their owner alone: journals, tapes and ledgers hold prompts, replies and values."""

from __future__ import annotations

import os
from contextlib import suppress

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def make_folders(path: str) -> None:
    """Makes a folder and those above it that are missing, each for its owner alone; one that is there keeps its mode.
    Raises OSError."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path.rstrip(os.sep))
    if above and not os.path.exists(above):  # what is there and no folder is told by mkdir
        with suppress(FileExistsError):
            make_folders(above)
    try:
        os.mkdir(path, FOLDER_MODE)
    except FileExistsError:  # another process was quicker
        if not os.path.isdir(path):
            raise


def make_file(path: str) -> None:
    """Makes an empty file for its owner alone; one that is there stays as it is. Raises OSError."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE))


def owned(path: str, flags: int) -> int:
    """Opens a file as `open` wants it of its opener; one that is made is for its owner alone."""
    return os.open(path, flags | os.O_CLOEXEC, FILE_MODE)
