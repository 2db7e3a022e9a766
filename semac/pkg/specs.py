"""What `sema pkg add` is given: a package of a registry, of git, or of Python's index.

| written | is |
|---|---|
| `name`, `name@1.2.0` | a version of a registry |
| `host.example/owner/name`, `...@ref` | a branch, a tag or a commit of a git repository |
| `py:name`, `py:name>=2` | a distribution of Python's index, which pip installs |
"""

from __future__ import annotations

import re
from typing import NamedTuple

from semac.pkg.errors import PackageError

DEFAULT_REF = "main"
PYTHON = "py:"
SEGMENT = re.compile(r"[A-Za-z0-9_~][A-Za-z0-9._~+-]*")
REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+-]*")
DISTRIBUTION = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*((?:[<>=!~]=?=?[^@;\s]+)?)")
LONGEST = 200


class Spec(NamedTuple):
    """kind: "git", "registry" or "python". name: its key in sema.toml. wanted: ref or version; "" for the newest."""

    kind: str
    name: str
    wanted: str


def parsed(text: str) -> Spec:
    """The package that a text names. Raises PackageError."""
    if text.startswith(PYTHON):
        return python_spec(text.removeprefix(PYTHON))
    if "@" not in text:
        return spec_of(text, None)
    path, _, wanted = text.rpartition("@")
    if not wanted:
        raise invalid(text, "nothing stands behind the '@'")
    return spec_of(path, wanted)


def spec_of(name: str, wanted: str | None) -> Spec:
    """The package of a key in `[deps]` and its value. Raises PackageError."""
    check_name(name)
    if "/" in name:
        host = name.partition("/")[0]
        if "." not in host:
            raise invalid(name, f"a git repository begins with a host such as github.com, '{host}' is none")
        return Spec("git", name, check_ref(name, DEFAULT_REF if wanted is None else wanted))
    if wanted is not None and not re.fullmatch(r"[0-9A-Za-z.+^~>=<*-]{1,64}", wanted):
        raise invalid(name, f"'{wanted}' is no version")
    return Spec("registry", name, wanted or "")


def python_spec(text: str) -> Spec:
    """The distribution of a requirement. Raises PackageError."""
    match = DISTRIBUTION.fullmatch(text.strip())
    if match is None:
        raise PackageError(
            f"invalid package spec: py:{text}: expected py:NAME or py:NAME and a version, py:httpx>=0.27"
        )
    return Spec("python", match[1], match[2])


def check_name(name: str) -> str:
    """A name that can be a path below the folder of packages. Raises PackageError."""
    if "://" in name:
        raise invalid(name, "write it without a scheme: host/path")
    for mark, what in (("\\", "a backslash"), (":", "a colon"), ("\0", "a NUL character")):
        if mark in name:
            raise invalid(name, f"it has {what}")
    if name.startswith("/"):
        raise invalid(name, "it is an absolute path")
    segments = name.split("/")
    if any(segment in (".", "..") for segment in segments):
        raise invalid(name, "path traversal not allowed")
    if len(name) > LONGEST or not all(SEGMENT.fullmatch(segment) for segment in segments):
        raise invalid(name, "letters, digits and . _ - between slashes")
    return name


def check_ref(name: str, ref: str) -> str:
    """A ref that git may be given. Raises PackageError."""
    if ref.startswith("-"):
        raise invalid(f"{name}@{ref}", "a ref can't begin with '-'")
    if not REF.fullmatch(ref) or ".." in ref or ref.endswith((".lock", "/", ".")) or "//" in ref:
        raise invalid(f"{name}@{ref}", f"'{ref}' is no branch, tag or commit")
    return ref


def invalid(text: str, why: str) -> PackageError:
    return PackageError(f"invalid package spec: {text}: {why}")
