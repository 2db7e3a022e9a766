"""Restrictions of a sandboxed program: denied capability groups and allowed directories.

The declaration of a builtin names its group (`@builtin(..., cap="fs-read")`), and `guarded` wraps it in the check
there, so no function of a group can be forgotten. A denied function stays bound; calling it raises PermissionDenied
before it has any effect. File functions also call `check_path` for each path. The groups: shell, fs-read, fs-write,
network, env-read, env-write, process, llm, serial, python.

Python can do what all other groups can, so `python` is denied as soon as any group is. Its builtins are guarded like
others; the compiler turns its forms (`py/import`, `.method`) into errors (semac/analyze/forms/python.py).

Shell commands and other processes don't respect allowed directories, so `shell` and `process` are denied with them
unless the user allows them by name.

None of this is a security boundary: the checks run in the same process as the program.

Both settings belong to the process: `restrict` is called once, before a program starts, and can only take away.
"""

from __future__ import annotations

import os

from sema_runtime.values.errors import PermissionDenied, SemaError

TYPE_CHECKING = False  # `typing` itself costs 4 ms at start
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

GROUPS = frozenset(
    ("shell", "fs-read", "fs-write", "network", "env-read", "env-write", "process", "llm", "serial", "python")
)
STRICT = frozenset(("shell", "fs-write", "network", "env-write", "process", "llm", "serial", "python"))

BEYOND_PATHS = frozenset(("shell", "process"))  # what they start may touch any file

denied: set[str] = set()
allowed: list[str] | None = None  # canonical directories; None means everywhere


class PathDenied(PermissionDenied):
    """A path is outside of the allowed directories."""

    def __init__(self, function: str, path: str) -> None:
        SemaError.__init__(
            self,
            f"Permission denied: {function} — path '{path}' is outside allowed directories",
            function=function,
            path=path,
        )


def parse_mode(mode: str) -> set[str]:
    """The groups that a mode denies: `strict`, `all`, `none`, or a comma list of groups, each with or without `no-`.

    Raises ValueError naming an unknown group.
    """
    groups: set[str] = set()
    for item in mode.split(","):
        name = item.strip()
        if name == "strict":
            groups |= STRICT
        elif name == "all":
            groups |= GROUPS
        elif name and name != "none":
            group = name.removeprefix("no-")
            if group not in GROUPS:
                raise ValueError(f"unknown capability: {name}")
            groups.add(group)
    return groups


def parse_allowed(text: str) -> set[str]:
    """The groups of a comma list that `--allow` gives. Raises ValueError for any but `shell` and `process`."""
    names = {name.strip() for name in text.split(",") if name.strip()}
    for name in sorted(names - BEYOND_PATHS):
        raise ValueError(f"--allow takes shell and process, not '{name}'")
    return names


def restrict(groups: Iterable[str] = (), paths: Iterable[str] | None = None, allow: Iterable[str] = ()) -> None:
    """Denies groups and, when paths is given, all files outside of those directories, with shell and process.

    allow: which of those two stay allowed. Python is denied with anything else. `sandbox.enter` calls this and
    settles where traces go.
    """
    global allowed
    denied.update(groups)
    if paths is not None:
        denied.update(BEYOND_PATHS - set(allow))
    if denied or paths is not None:
        denied.add("python")
    if paths is not None:
        directories = [os.path.realpath(path) for path in paths]
        allowed = directories if allowed is None else [path for path in directories if _below(path, allowed)]


def restricted() -> bool:
    """Whether anything is denied at all."""
    return bool(denied) or allowed is not None


def require(function: str, group: str) -> None:
    """Raises PermissionDenied when the group is denied. function: the Sema name, for the message."""
    if group in denied:
        raise PermissionDenied(function, group)


def guarded(function: F, name: str, group: str) -> F:
    """The function behind a check of its group. As functools.wraps does it, which would cost 3 ms at start."""

    def checked(*args: Any) -> Any:
        if group in denied:
            raise PermissionDenied(name, group)
        return function(*args)

    for part in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(checked, part, getattr(function, part))
    checked.__dict__.update(function.__dict__)
    checked.__wrapped__ = function  # type: ignore[attr-defined]
    return checked  # type: ignore[return-value]


def check_path(function: str, path: str) -> None:
    """Raises PathDenied unless the path, with its symbolic links resolved, is below an allowed directory."""
    if allowed is not None and not _below(os.path.realpath(path), allowed):
        raise PathDenied(function, path)


def _below(path: str, directories: list[str]) -> bool:
    return any(path == directory or path.startswith(directory.rstrip("/") + "/") for directory in directories)
