"""`sema.lock`: the exact packages that a project's `sema.toml` came to, those of its packages included."""

from __future__ import annotations

import json
import os
import tomllib
from typing import Any, NamedTuple

from semac.pkg.errors import PackageError
from semac.pkg.manifest import Manifest
from semac.pkg.specs import Spec, check_name, check_ref

FILE = "sema.lock"
VERSION = 1
FIELDS = ("ref", "commit", "version", "registry", "checksum")


class Locked(NamedTuple):
    """A package as it is installed. Of git ref and commit count, of a registry version, registry and checksum (SHA-256
    of the archive), of Python the version."""

    source: str
    ref: str = ""
    commit: str = ""
    version: str = ""
    registry: str = ""
    checksum: str = ""

    @property
    def shown(self) -> str:
        """What people call this version."""
        return self.ref or self.version


Lock = dict[str, Locked]  # by key; those of Python begin with `py:`


def path_of(manifest: Manifest) -> str:
    return os.path.join(os.path.dirname(manifest.path), FILE)


def read(path: str) -> Lock | None:
    """The lock in a file; None where there is none. Raises PackageError."""
    try:
        with open(path, "rb") as file:
            data = tomllib.load(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PackageError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PackageError(f"{path} is not TOML: {error}; sema pkg install writes it anew when it is gone") from None
    if data.get("lock_version") != VERSION:
        found = data.get("lock_version")
        raise PackageError(f"{path} has lock_version {found}, this semac reads {VERSION}; another version wrote it")
    lock = {}
    for prefix, table in (("", "packages"), ("py:", "python")):
        entries = data.get(table, {})
        if not isinstance(entries, dict):
            raise PackageError(f"{path}: {table} is no table; remove the file and run sema pkg install")
        for key, entry in entries.items():
            lock[prefix + key] = _entry(path, key, entry, table)
    return lock


def _entry(path: str, key: str, entry: Any, table: str) -> Locked:
    texts = {field: entry.get(field, "") for field in FIELDS} if isinstance(entry, dict) else {}
    source = "python" if table == "python" else entry.get("source") if isinstance(entry, dict) else None
    if source not in ("git", "registry", "python") or not all(isinstance(text, str) for text in texts.values()):
        raise PackageError(f"{path}: the entry of {key} can't be read; remove the file and run sema pkg install")
    if source != "python":
        check_name(key)
    if source == "git":
        check_ref(key, texts["ref"])
        check_ref(key, texts["commit"])
    return Locked(source, **texts)


def text_of(lock: Lock) -> str:
    """The text of a lock."""
    lines = ["# Written by sema pkg; belongs into version control.", f"lock_version = {VERSION}"]
    for key in sorted(lock):
        entry = lock[key]
        is_python = entry.source == "python"
        table, name = ("python", key.removeprefix("py:")) if is_python else ("packages", key)
        lines += ["", f"[{table}.{json.dumps(name)}]"]
        lines += [] if is_python else [f"source = {json.dumps(entry.source)}"]
        values = ((field, getattr(entry, field)) for field in FIELDS)
        lines += [f"{field} = {json.dumps(value)}" for field, value in values if value]
    return "\n".join(lines) + "\n"


def disagreements(specs: list[Spec], lock: Lock, needed: set[str]) -> list[str]:
    """How a lock differs from what a project names. needed: the keys of all packages that it comes to."""
    problems = []
    for spec in specs:
        key = f"py:{spec.name}" if spec.kind == "python" else spec.name
        entry = lock.get(key)
        if entry is None:
            problems.append(f"{key} is not in {FILE}")
        elif spec.kind == "git" and entry.ref != spec.wanted:
            problems.append(f"{key} is {spec.wanted} in sema.toml and {entry.ref} in {FILE}")
        elif spec.kind == "registry" and not _satisfies(entry.version, spec.wanted):
            problems.append(f"{key} is {spec.wanted} in sema.toml and {entry.version} in {FILE}")
    return problems + [f"{key} is in {FILE}, and nothing needs it" for key in sorted(set(lock) - needed)]


def _satisfies(version: str, wanted: str) -> bool:
    from semac.pkg.versions import newest

    return newest([version], wanted) == version
