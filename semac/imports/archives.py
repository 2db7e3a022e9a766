"""Entries of `sys.path` that are zip archives, or folders inside of one (`lib.zip/package`).

Uses Python's own zip importer, which is always loaded: a finder that imports something calls itself.
"""

from __future__ import annotations

import os
from zipimport import ZipImportError, zipimporter


def archive_has(path: str) -> bool:
    """Whether path (`archive/inner/file`) is a file inside of an archive."""
    try:
        return archive_member(path) is not None
    except OSError:
        return False


def archive_member(path: str) -> bytes | None:
    """The bytes of a file inside an archive, None when path isn't inside of one. Raises OSError when it is missing."""
    archive = archive_of(path)
    if archive is None or archive == path:
        return None
    opened = _opened(archive)
    return None if opened is None else opened.get_data(path)


def archive_of(path: str) -> str | None:
    """The file that path or one of its parents is."""
    while path and not os.path.isdir(path):
        if os.path.isfile(path):
            return path
        parent = os.path.dirname(path)
        if parent == path:
            return None
        path = parent
    return None


_archives: dict[str, zipimporter | None] = {}


def _opened(archive: str) -> zipimporter | None:
    if archive not in _archives:
        try:
            _archives[archive] = zipimporter(archive)
        except ZipImportError:
            _archives[archive] = None
    return _archives[archive]
