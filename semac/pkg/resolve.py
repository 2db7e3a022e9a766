"""From what a project names to what is installed: everything is fetched first, then put into its place at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from semac.pkg import git, lock, python_index, settings, store
from semac.pkg.errors import PackageError
from semac.pkg.lock import Lock, Locked
from semac.pkg.manifest import FILE, Manifest
from semac.pkg.manifest import read as read_manifest
from semac.pkg.specs import Spec
from semac.pkg.versions import newest


class Wish(NamedTuple):
    """A package that is needed. by: what needs it, "" for the project."""

    spec: Spec
    by: str


class Plan:
    """What is to be installed for a project. lock: all packages that it comes to; prepared: folders of those that are
    not installed yet, by name; python: requirements for pip, by key."""

    def __init__(self, scratch: str, known: Lock, registry: str | None, tell: Callable[[str], None]) -> None:
        self.scratch = scratch
        self.known = known
        self.registry = registry
        self.tell = tell
        self.lock: Lock = {}
        self.prepared: dict[str, str] = {}
        self.python: dict[str, str] = {}
        self.asked: dict[str, Wish] = {}

    def add(self, specs: list[Spec]) -> None:
        """Resolves what a project names, and what that needs. Raises PackageError."""
        waiting = [Wish(spec, "") for spec in specs]
        while waiting:
            wish = waiting.pop(0)
            spec = wish.spec
            key = f"py:{spec.name}" if spec.kind == "python" else spec.name
            before = self.asked.get(key)
            if before is not None:
                self._agree(key, before, wish)
                continue
            self.asked[key] = wish
            if spec.kind == "python":
                known = self.known.get(key)
                exact = f"=={known.version}" if known is not None and known.version else spec.wanted
                self.python[key] = f"{spec.name}{exact}"
                continue
            folder = self._git(spec) if spec.kind == "git" else self._from_registry(spec)
            path = os.path.join(folder, FILE)
            if os.path.isfile(path):
                waiting += [Wish(needed, spec.name) for needed in read_manifest(path).specs]

    def _agree(self, key: str, before: Wish, wish: Wish) -> None:
        """Raises PackageError where two packages need different versions of one; what the project says decides.

        Of a Python package there is one, and it must suit all of them: the installer finds it or says why not.
        """
        locked = self.lock.get(key)
        if wish.spec.kind == "python":
            wanted = [part for part in (self.python[key].removeprefix(wish.spec.name), wish.spec.wanted) if part]
            self.python[key] = wish.spec.name + ",".join(dict.fromkeys(wanted))
            return
        if before.spec.wanted == wish.spec.wanted or not before.by:
            return
        if locked is not None and locked.source == "registry" and newest([locked.version], wish.spec.wanted):
            return
        raise PackageError(
            f"{before.by} needs {key} {before.spec.wanted or '*'}, {wish.by} needs {wish.spec.wanted or '*'};"
            f" name the one to use in [deps] of {FILE}"
        )

    def _git(self, spec: Spec) -> str:
        known = self.known.get(spec.name)
        commit = known.commit if known is not None and known.ref == spec.wanted else ""
        installed = store.at(spec.name)
        own = installed.locked if installed is not None else None
        if installed is not None and own is not None and commit and own.commit == commit:
            self.lock[spec.name] = Locked("git", ref=spec.wanted, commit=commit)
            return installed.path
        folder = self._folder()
        found = git.fetched(spec.name, spec.wanted, commit, folder)
        locked = Locked("git", ref=spec.wanted, commit=found)
        return self._prepare(spec, locked, folder)

    def _from_registry(self, spec: Spec) -> str:
        known = self.known.get(spec.name)
        installed = store.at(spec.name)
        own = installed.locked if installed is not None else None
        if known is not None and newest([known.version], spec.wanted) is not None:
            if installed is not None and own == known:
                self.lock[spec.name] = known
                return installed.path
            return self._downloaded(spec, known.version, known.registry, known.checksum)
        registry = settings.registry(self.registry)
        versions = registry.versions(spec.name)
        version = newest(versions, spec.wanted)
        if version is None:
            there = ", ".join(sorted(versions)) or "none"
            raise PackageError(f"{registry.url} has no version {spec.wanted or '*'} of {spec.name}; there are {there}")
        checksum = versions[version].get("checksum_sha256")
        return self._downloaded(spec, version, registry.url, checksum if isinstance(checksum, str) else "")

    def _downloaded(self, spec: Spec, version: str, url: str, checksum: str) -> str:
        folder = self._folder()
        archive = f"{folder}.tar.gz"
        found = settings.registry(url).download(spec.name, version, archive)
        if checksum and found != checksum:
            raise PackageError(
                f"{spec.name}@{version}: the archive has the checksum {found}, expected was {checksum};"
                " it was damaged on the way, or is another one than before"
            )
        git.unpack(f"{spec.name}@{version}", archive, folder)
        os.remove(archive)
        return self._prepare(spec, Locked("registry", version=version, registry=url, checksum=found), folder)

    def _folder(self) -> str:
        return os.path.join(self.scratch, str(len(self.prepared)))

    def _prepare(self, spec: Spec, locked: Locked, folder: str) -> str:
        store.prepare(folder, spec.name, locked)
        self.lock[spec.name] = locked
        self.prepared[spec.name] = folder
        return folder


def install(
    manifest: Manifest | None,
    specs: list[Spec],
    *,
    is_locked: bool = False,
    afresh: Callable[[str], bool] = lambda key: False,
    registry: str | None = None,
    force: bool = False,
    tell: Callable[[str], None] = print,
) -> Lock:
    """Installs packages and what they need; the lock of the project.

    manifest: of the project, whose `sema.lock` is written; None: there is no project. specs: what to install.
    is_locked: exactly what the lock says, which must agree with the project. afresh: whether a package is looked for
    anew, though the lock names it. Raises PackageError; then nothing has changed.
    """
    path = lock.path_of(manifest) if manifest is not None else None
    known = (lock.read(path) if path is not None else None) or {}
    if is_locked and (path is None or not os.path.isfile(path)):
        raise PackageError(f"there is no {lock.FILE}; sema pkg install without --locked writes it")
    if is_locked:
        refuse_disagreement(lock.disagreements(specs, known, {*known}))
    with store.opened() as scratch:
        plan = Plan(scratch, {key: entry for key, entry in known.items() if not afresh(key)}, registry, tell)
        plan.add(specs)
        if is_locked:
            refuse_disagreement(lock.disagreements(specs, known, {*plan.asked}))
        for name in plan.prepared:
            store.check_place(name, force)
        python_index.install([*plan.python.values()])
        for key, requirement in plan.python.items():
            name = key.removeprefix("py:")
            plan.lock[key] = Locked("python", version=python_index.version(name))
            tell(f"✓ Installed {requirement} from Python's index ({plan.lock[key].version})")
        store.replace_all(scratch, plan.prepared)
        if path is not None and not is_locked and plan.lock != known:
            write(path, lock.text_of(plan.lock))
    for name in plan.prepared:
        tell(f"✓ Installed {name} → {plan.lock[name].shown}")
    return plan.lock


def needed(specs: list[Spec]) -> set[str]:
    """The keys of packages and of what they need, as far as that is installed. Raises PackageError."""
    keys: set[str] = set()
    waiting = [*specs]
    while waiting:
        spec = waiting.pop()
        key = f"py:{spec.name}" if spec.kind == "python" else spec.name
        if key not in keys:
            keys.add(key)
            installed = None if spec.kind == "python" else store.at(spec.name)
            path = os.path.join(installed.path, FILE) if installed is not None else ""
            waiting += read_manifest(path).specs if os.path.isfile(path) else []
    return keys


def refuse_disagreement(problems: list[str]) -> None:
    if problems:
        listed = "\n  ".join(problems)
        raise PackageError(
            f"{lock.FILE} disagrees with {FILE}:\n  {listed}\nsema pkg install without --locked mends it"
        )


def write(path: str, text: str) -> None:
    """Replaces a file of the project. Raises PackageError."""
    from sema_runtime.support.replacing import Replacement

    try:
        with Replacement(path, in_place=True) as file:
            file.write(text.encode())
    except OSError as error:
        raise PackageError(f"cannot write {path}: {error.strerror}") from None
