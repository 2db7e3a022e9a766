"""Whether a model, a path, an address or a command is one of those that a policy names.

A value is read before it is compared: a path that leaves the workspace, an address with a password in it or a value of
another type can't be read. What can't be read is never allowed, and always matches what is denied.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from sema_runtime.workflow.policy.rules import Models, Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
CONTROL = frozenset(map(chr, [*range(33), 127]))


class Unreadable(Exception):
    """A value that can't be compared; its text says why."""


# Models


def model_rule(models: Models, target: str) -> tuple[bool, str]:
    """Whether `provider/model` is allowed, and the rule that says so."""
    either = (target, f"{target.partition('/')[0]}/*")
    if any(target_pattern in models.deny for target_pattern in either):
        return False, "models.deny"
    if any(target_pattern in models.allow for target_pattern in either):
        return True, "models.allow"
    return models.default_allow, "models.default-allow" if models.default_allow else "models.default-deny"


# Values of arguments


def is_allowed(pattern: Pattern, value: Any) -> bool:
    """Raises Unreadable."""
    read = read_value(pattern, value)
    return not _matches(pattern, pattern.deny, read, any) and _matches(pattern, pattern.allow, read, all)


def is_denied(pattern: Pattern, value: Any) -> bool:
    """Whether a value is one of those of a rule that denies. Raises Unreadable."""
    if pattern.kind == "domains":
        return any(host_matches(host, _address(value)[1]) for host in pattern.allow)
    return _matches(pattern, pattern.allow, read_value(pattern, value), any)


def read_value(pattern: Pattern, value: Any) -> tuple[Any, ...]:
    """What is compared: a path as it is written and as it is with its links followed; a host; a command."""
    if not isinstance(value, str):
        raise Unreadable("it is no string")
    if pattern.kind == "paths":
        return path_parts(value)
    if pattern.kind == "commands":
        return (value,)
    scheme, host, port = _address(value)
    if scheme not in pattern.schemes:
        raise Unreadable(f"the scheme {scheme} is not allowed")
    if pattern.ports and port not in pattern.ports:
        raise Unreadable(f"the port {port} is not allowed")
    return (host,)


def _matches(pattern: Pattern, parts: tuple[Any, ...], read: tuple[Any, ...], how: Any) -> bool:
    return bool(how(any(TESTS[pattern.kind](part, value) for part in parts) for value in read))


# Paths


def compiled_path(text: str) -> tuple[str, ...]:
    """The components of a path of the policy. Raises ValueError."""
    if os.path.isabs(text) or "\\" in text or "\0" in text:
        raise ValueError("paths are relative to the workspace, with / between their parts")
    parts = tuple(part for part in text.split("/") if part not in ("", "."))
    for part in parts:
        if part == "..":
            raise ValueError("a path of the policy can't have .. in it")
        if "*" in part and part not in ("*", "**"):
            raise ValueError(f'"{part}" must be * or ** or have no * in it')
    if not parts and text not in (".", "./"):
        raise ValueError("the path is empty")
    return parts


def path_parts(value: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The components of a path as it is written and with its links followed, from the working directory, which is the
    workspace. Raises Unreadable when either leaves it."""
    if os.path.isabs(value) or "\\" in value or "\0" in value or not value:
        raise Unreadable("it is no path relative to the workspace")
    written: list[str] = []
    for part in value.split("/"):
        if part == "..":
            if not written:
                raise Unreadable("it leaves the workspace")
            written.pop()
        elif part not in ("", "."):
            written.append(part)
    try:
        workspace = os.path.realpath(os.getcwd())
        real = os.path.realpath(os.path.join(workspace, value))
    except (OSError, ValueError):
        raise Unreadable("it can't be resolved") from None
    if real != workspace and not real.startswith(workspace.rstrip("/") + "/"):
        raise Unreadable("a link in it leaves the workspace")
    followed = [part for part in real[len(workspace) :].split("/") if part]
    return tuple(written), tuple(followed)


def path_matches(pattern: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    """`*` is one component, `**` any number of them."""
    reached = {0}  # how many parts of the pattern can be behind us
    for part in parts:
        reached = _behind(pattern, reached)
        reached = {
            at + (pattern[at] != "**") for at in reached if at < len(pattern) and pattern[at] in ("**", "*", part)
        }
    return len(pattern) in _behind(pattern, reached)


def _behind(pattern: tuple[str, ...], reached: set[int]) -> set[int]:
    """Those and what lies behind any `**` that stands there, as it may match nothing."""
    places = set(reached)
    for at in reached:
        while at < len(pattern) and pattern[at] == "**":
            at += 1
            places.add(at)
    return places


# Domains


def compiled_domain(text: str) -> str:
    """A host, or `*.` and a host for those below it. Raises ValueError."""
    start = "*." if text.startswith("*.") else ""
    host = _host(text[len(start) :])
    if not host or any(char in "/:@*" for char in text[len(start) :] if not text.startswith("[")):
        raise ValueError('domains are hosts, as "example.com", or "*.example.com" for those below it')
    return start + host


def host_matches(pattern: str, host: str) -> bool:
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern


def _address(value: Any) -> tuple[str, str, int | None]:
    """(scheme, host, port) of a URL. Raises Unreadable for what libraries could read in more than one way."""
    from urllib.parse import urlsplit

    if not isinstance(value, str) or not CONTROL.isdisjoint(value) or "\\" in value:
        raise Unreadable("it is no URL")
    try:
        parts = urlsplit(value)
        port = parts.port
        host = _host(parts.hostname or "")
    except ValueError:
        raise Unreadable("it is no URL") from None
    if not parts.scheme or not host:
        raise Unreadable("it is no URL with a scheme and a host")
    if "@" in parts.netloc:
        raise Unreadable("it has credentials in it")
    scheme = parts.scheme.lower()
    return scheme, host, port if port is not None else PORTS.get(scheme)


def _host(text: str) -> str:
    """As DNS has it: lower case, without the last dot, other alphabets encoded. Raises ValueError."""
    text = text.removeprefix("[").removesuffix("]").lower().removesuffix(".")
    return text if text.isascii() else text.encode("idna").decode()  # UnicodeError is a ValueError


TESTS: dict[str, Callable[[Any, Any], bool]] = {"paths": path_matches, "domains": host_matches, "commands": str.__eq__}
