"""Files that are replaced as a whole or not at all: whoever reads sees the old one or the new one, also after a crash.

`file_access.Replacement` writes into the old file where no new one can be made; here that is an error.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from itertools import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

MADE = os.O_RDWR | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)

_numbers = count(1)


@contextmanager
def replacing(path: str, sync: bool = False) -> Iterator[BinaryIO]:
    """A new file, open for writing, which takes the path's place at the end; after an error nothing is changed.

    Permissions stay; a symbolic link stays one. sync: wait until the disk has it, so that not even a power failure
    undoes it. Raises OSError.
    """
    target = os.path.realpath(path)
    temporary = f"{target}.{os.getpid()}-{next(_numbers)}.tmp"
    with open(os.open(temporary, MADE, 0o666), "w+b") as file:
        try:
            yield file
            file.flush()
            with suppress(FileNotFoundError):
                os.chmod(temporary, os.stat(target).st_mode & 0o7777)
            if sync:
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            os.remove(temporary)
            raise
    if sync:
        _sync_folder(os.path.dirname(target))


def _sync_folder(path: str) -> None:
    """Has the disk note which files a folder holds, where the system can do that."""
    with suppress(OSError):
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def remove_leftovers(path: str) -> None:
    """Removes what processes that died while they were replacing the file have left beside it."""
    folder, name = os.path.split(os.path.realpath(path))
    for other in os.listdir(folder) if os.path.isdir(folder) else ():
        owner, dash, number = other.removeprefix(f"{name}.").removesuffix(".tmp").partition("-")
        if other.endswith(".tmp") and dash and owner.isdecimal() and number.isdecimal() and not _alive(int(owner)):
            with suppress(OSError):
                os.remove(os.path.join(folder, other))


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
