"""Finding files by a pattern. `**` enters each directory once, so links that lead back to a directory end."""

from __future__ import annotations

import os
import re
from fnmatch import translate
from functools import lru_cache

from sema_runtime import bundle
from sema_runtime.capabilities import PathDenied, check_path
from sema_runtime.support.file_access import readable_name, reason
from sema_runtime.values.errors import IoError, SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

DIRECTORIES = "**"


def matching(pattern: str) -> list[str]:
    """The paths that match, sorted. Directories outside of the allowed ones are not entered.

    Raises PathDenied when the pattern begins in one, SemaError for a malformed pattern, IoError for an unreadable
    directory.
    """
    _check(pattern)
    parts = [part for part in pattern.split("/") if part]
    root = "/" if pattern.startswith("/") else ""
    plain = next((index for index, part in enumerate(parts) if _is_magic(part)), len(parts))
    check_path("file/glob", os.path.join(root, *parts[:plain]) or ".")
    paths = {path for path in _below(root, parts) if path and _is_allowed(path)}
    if bundle.root is not None and not root:
        base = os.path.join(bundle.root, "")
        carried = (path.removeprefix(base) for path in _below(base, parts))
        paths |= {path for path in carried if path and not bundle.is_compiled(path)}
    if pattern.endswith("/"):
        paths = {path for path in paths if os.path.isdir(bundle.bundled(path))}
    return sorted(map(readable_name, paths))


def _check(pattern: str) -> None:
    """Raises SemaError for stars and brackets without meaning."""
    if "\0" in pattern:
        raise SemaError("file/glob: invalid pattern: file name contained an unexpected NUL byte")
    for stars in re.finditer(r"\*\*+", pattern):
        if len(stars[0]) > 2:
            _refuse(stars.start() + 2, "wildcards are either regular `*` or recursive `**`")
        if pattern[stars.start() - 1 : stars.start()] not in ("", "/"):
            _refuse(stars.start() - 1, "recursive wildcards must form a single path component")
        if pattern[stars.end() : stars.end() + 1] not in ("", "/"):
            _refuse(stars.end(), "recursive wildcards must form a single path component")
    start = pattern.find("[")
    while start >= 0:
        end = pattern.find("]", start + (3 if pattern[start + 1 : start + 2] == "!" else 2))
        if end < 0:
            _refuse(start, "invalid range pattern")
        start = pattern.find("[", end)


def _refuse(position: int, why: str) -> None:
    raise SemaError(f"file/glob: invalid pattern: Pattern syntax error near position {position}: {why}")


def _is_magic(part: str) -> bool:
    return any(wildcard in part for wildcard in "*?[")


@lru_cache(64)
def _pattern(part: str) -> re.Pattern[str]:
    return re.compile(translate(part))


def _is_allowed(path: str) -> bool:
    try:
        check_path("file/glob", path)
    except PathDenied:
        return False
    return True


def _below(base: str, parts: list[str]) -> Iterator[str]:
    """The paths below a directory that match the rest of a pattern."""
    if not parts:
        yield base
        return
    part, *rest = parts
    if part == DIRECTORIES:
        while rest[:1] == [DIRECTORIES]:
            rest = rest[1:]
        for directory in _directories(base):
            if rest or directory != base:
                yield from _below(directory, rest)
    elif _is_magic(part):
        matches = _pattern(part).match
        for name in _names(base):
            path = os.path.join(base, name)
            if matches(name) and (not rest or os.path.isdir(path)):
                yield from _below(path, rest)
    else:
        path = os.path.join(base, part)
        if os.path.isdir(path) if rest else os.path.lexists(path):
            yield from _below(path, rest)


def _directories(base: str) -> Iterator[str]:
    """The directory and all below it."""
    entered: set[tuple[int, int]] = set()
    waiting = [base]
    while waiting:
        directory = waiting.pop()
        try:
            info = os.stat(directory or ".")
        except OSError:  # removed meanwhile
            continue
        if (info.st_dev, info.st_ino) in entered:
            continue
        entered.add((info.st_dev, info.st_ino))
        yield directory
        below = (os.path.join(directory, name) for name in _names(directory))
        waiting += sorted((path for path in below if os.path.isdir(path)), reverse=True, key=os.path.islink)


def _names(directory: str) -> list[str]:
    if not _is_allowed(directory or "."):
        return []
    try:
        return sorted(os.listdir(directory or "."))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        why = f"attempting to read `{directory}` resulted in an error: {reason(error)}"
        raise IoError(f"file/glob: {why}") from None
