"""The folder of installed packages: `~/.sema/packages`. A package appears there as a whole or not at all.

Each has a file `.sema-pkg.json` with its origin and a digest of its files, so that what somebody has changed since, and
what `sema pkg` has not installed, is never replaced or removed by it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, NamedTuple

from semac.pkg.errors import PackageError
from semac.pkg.lock import Locked
from semac.pkg.specs import check_name

META = ".sema-pkg.json"
SCRATCH = ".installing-"
LOCK_SECONDS = 600.0


def root_folder() -> str:
    """The folder of installed packages."""
    from sema_runtime.compiler_bridge import packages_dir

    return packages_dir()


class Installed(NamedTuple):
    """A package in the folder. meta: what its `.sema-pkg.json` says; empty where `sema pkg` has not installed it."""

    name: str
    path: str
    meta: dict[str, Any]

    @property
    def locked(self) -> Locked | None:
        """What a lock says of it."""
        texts = {key: self.meta.get(key, "") for key in ("ref", "commit", "version", "registry", "checksum")}
        source = self.meta.get("source")
        if source not in ("git", "registry") or not all(isinstance(text, str) for text in texts.values()):
            return None
        return Locked(source, **texts)


@contextmanager
def opened() -> Iterator[str]:
    """The folder, which no other `sema pkg` changes meanwhile; a folder for packages on their way in it. Raises
    PackageError."""
    from sema_runtime.support.shared_files import lock

    root = root_folder()
    try:
        os.makedirs(root, exist_ok=True)
        descriptor = os.open(os.path.join(root, ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise PackageError(f"cannot write {root}: {error.strerror}") from None
    try:
        if not lock(descriptor, 0.2):
            print("Waiting for another sema pkg to finish ...", flush=True)
            if not lock(descriptor, LOCK_SECONDS):
                raise PackageError(f"another sema pkg has been at work in {root} for ten minutes")
        for name in os.listdir(root):
            if name.startswith(SCRATCH):  # of a process that was killed
                restore(root, os.path.join(root, name))
        scratch = tempfile.mkdtemp(prefix=SCRATCH, dir=root)
        try:
            yield scratch
        finally:
            restore(root, scratch)
    finally:
        os.close(descriptor)


def restore(root: str, scratch: str) -> None:
    """Removes a folder for packages on their way; what was moved out of its place, and not replaced, goes back."""
    moved = os.path.join(scratch, "old")
    for current, folders, files in os.walk(moved):
        if META in files:
            place = os.path.join(root, os.path.relpath(current, moved))
            folders.clear()
            if not os.path.lexists(place):
                os.makedirs(os.path.dirname(place), exist_ok=True)
                os.rename(current, place)
    shutil.rmtree(scratch, ignore_errors=True)


def every() -> list[Installed]:
    """All installed packages, by name."""
    root = root_folder()
    found = []
    for current, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if current != root and {META, "sema.toml", "package.sema"} & {*files}:
            found.append(Installed(os.path.relpath(current, root).replace(os.sep, "/"), current, meta_of(current)))
            folders.clear()
    return found


def find(name: str) -> Installed:
    """The package of a name, or of the last part of one. Raises PackageError."""
    packages = every()
    exact = [package for package in packages if package.name == name]
    found = exact or [package for package in packages if package.name.rpartition("/")[2] == name]
    if len(found) > 1:
        names = ", ".join(package.name for package in found)
        raise PackageError(f"'{name}' may be {names}; give the whole name")
    if not found:
        raise PackageError(f"package '{name}' is not installed; sema pkg list shows those that are")
    return found[0]


def at(name: str) -> Installed | None:
    """The package of exactly this name."""
    path = os.path.join(root_folder(), *check_name(name).split("/"))
    return Installed(name, path, meta_of(path)) if os.path.isdir(path) else None


def meta_of(path: str) -> dict[str, Any]:
    try:
        with open(os.path.join(path, META), encoding="utf-8") as file:
            meta = json.load(file)
    except (OSError, ValueError):
        return {}
    return meta if isinstance(meta, dict) else {}


def digest_of(folder: str) -> str:
    """Tells contents of packages apart; compiled code doesn't count."""
    total = sha256()
    for current, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            path = os.path.join(current, name)
            if name == META and current == folder:
                continue
            place = os.path.relpath(path, folder).replace(os.sep, "/")
            total.update(f"{place}\0".encode("utf-8", "surrogateescape"))
            if os.path.islink(path):
                total.update(os.fsencode(os.readlink(path)))
            else:
                with open(path, "rb") as file:
                    total.update(sha256(file.read()).digest())
    return total.hexdigest()


def prepare(folder: str, name: str, locked: Locked) -> None:
    """Writes what says where a package is from into its folder."""
    facts = {field: value for field, value in locked._asdict().items() if value}
    with open(os.path.join(folder, META), "w", encoding="utf-8") as file:
        json.dump({**facts, "name": name, "digest": digest_of(folder)}, file, indent=2)
        file.write("\n")


def check_place(name: str, force: bool) -> None:
    """Raises PackageError where a package can't go to its place without a loss."""
    root = root_folder()
    parts = check_name(name).split("/")
    for count in range(1, len(parts) + 1):
        above, part = os.path.join(root, *parts[: count - 1]), parts[count - 1]
        path = os.path.join(above, part)
        names = os.listdir(above) if os.path.isdir(above) else []
        twin = next((other for other in names if other != part and other.casefold() == part.casefold()), None)
        if twin is not None:
            other = "/".join([*parts[: count - 1], twin])
            raise PackageError(f"{name} and the installed {other} differ in upper and lower case only; remove one")
        if count < len(parts) and is_package(path):
            raise PackageError(
                f"{name} would lie in the installed package {'/'.join(parts[:count])}; remove one of them"
            )
    target = os.path.join(root, *parts)
    inside = [package.name for package in every() if package.name.startswith(f"{name}/")]
    if inside:
        raise PackageError(f"{name} would replace the folder that holds {', '.join(inside)}; remove these first")
    if os.path.lexists(target) and not force:
        check_unchanged(Installed(name, target, meta_of(target)))


def is_package(path: str) -> bool:
    return any(os.path.exists(os.path.join(path, name)) for name in (META, "sema.toml", "package.sema"))


def check_unchanged(package: Installed) -> None:
    """Raises PackageError for a package with changes that nobody has elsewhere."""
    if not package.meta:
        raise PackageError(f"{package.path} was not installed by sema pkg; move it away, or use --force to lose it")
    if package.meta.get("digest") != digest_of(package.path):
        raise PackageError(f"{package.path} has been changed since it was installed; --force gives the changes up")


def replace_all(scratch: str, prepared: dict[str, str]) -> None:
    """Moves packages into their places. prepared: folders below scratch by name. Raises PackageError."""
    root = root_folder()
    with uninterrupted():
        for name, folder in prepared.items():
            target = os.path.join(root, *name.split("/"))
            try:
                os.makedirs(os.path.dirname(target), exist_ok=True)
                if os.path.lexists(target):
                    moved = os.path.join(scratch, "old", *name.split("/"))
                    os.makedirs(os.path.dirname(moved), exist_ok=True)
                    os.rename(target, moved)
                os.rename(folder, target)
            except OSError as error:
                raise PackageError(f"cannot write {target}: {error.strerror}") from None


def remove(package: Installed) -> None:
    """Removes a package and the folders that are empty without it. Raises PackageError."""
    root = root_folder()
    with opened() as scratch, uninterrupted():
        try:
            os.rename(package.path, os.path.join(scratch, "removed"))
        except OSError as error:
            raise PackageError(f"cannot remove {package.path}: {error.strerror}") from None
        above = os.path.dirname(package.path)
        while above != root:
            try:
                os.rmdir(above)
            except OSError:
                break
            above = os.path.dirname(above)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Has Ctrl-C wait for the end of a step that must not end halfway."""
    interrupted = False

    def note(*_: Any) -> None:
        nonlocal interrupted
        interrupted = True

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if interrupted:
            raise KeyboardInterrupt
