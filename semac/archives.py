"""Entries of `sys.path` that are zip archives, or folders inside of one (`lib.zip/package`)."""

from __future__ import annotations

import os
from functools import lru_cache


def archive_names(entry: str) -> frozenset[str]:
    """The full paths (`archive/inner/path`) of the .sema files in an archive on the path; empty for anything else."""
    archive = _archive_of(entry)
    if archive is None:
        return frozenset()
    status = os.stat(archive)
    return _names(archive, status.st_mtime_ns, status.st_size)


def archive_member(path: str) -> bytes | None:
    """The bytes of a file inside an archive, None when path isn't inside of one. Raises OSError when it is missing."""
    if os.path.exists(path):
        return None
    archive = _archive_of(path)
    if archive is None:
        return None
    import zipfile

    inner = path[len(archive) + 1 :].replace(os.sep, "/")
    try:
        with zipfile.ZipFile(archive) as opened:
            return opened.read(inner)
    except (KeyError, zipfile.BadZipFile) as error:
        raise FileNotFoundError(f"no {inner} in {archive}") from error


def _archive_of(path: str) -> str | None:
    """The file that is path or one of its parents."""
    while path and not os.path.isdir(path):
        if os.path.isfile(path):
            return path
        parent = os.path.dirname(path)
        if parent == path:
            return None
        path = parent
    return None


@lru_cache(64)
def _names(archive: str, mtime_ns: int, size: int) -> frozenset[str]:
    """mtime_ns and size tell one version of the archive from the next."""
    import zipfile

    try:
        with zipfile.ZipFile(archive) as opened:
            inner = opened.namelist()
    except (OSError, zipfile.BadZipFile):
        return frozenset()
    return frozenset(os.path.join(archive, *name.split("/")) for name in inner if name.endswith(".sema"))
