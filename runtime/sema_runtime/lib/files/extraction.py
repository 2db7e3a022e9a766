"""Entries of an archive on their way into a folder, where all of them appear or none.

They are written into a hidden folder inside the destination, checked, and moved when all is well. Archives are not
trusted: no entry may leave the destination, by its name or through a link, and sizes are counted while reading.
"""

from __future__ import annotations

import os
from contextlib import suppress
from stat import S_ISLNK, S_ISREG

from sema_runtime.capabilities import check_path
from sema_runtime.support.file_access import failed
from sema_runtime.support.input_files import check_limit
from sema_runtime.values.errors import SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any

    from sema_runtime.tasks.background import Work

MAX_OUTPUT = 512 << 20  # bytes, all entries together
MAX_ENTRIES = 100_000
MAX_LINK = 4096  # bytes of a symbolic link's target
CHUNK = 1 << 18
LIMIT_HINT = "reduce or split the archive input"
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class Extraction:
    """One extraction. `with` makes the hidden folder and removes it again; `finish` moves the entries from there.

    function, archive: for messages. count: entries so far. Names of entries are as in the archive.
    """

    def __init__(self, function: str, archive: str, destination: str, work: Work) -> None:
        self.function = function
        self.archive = archive
        self.destination = destination
        self.work = work
        self.count = 0
        self.written = 0
        self.folders: dict[str, int] = {}  # permissions by path relative to the destination
        self.files: dict[str, None] = {}
        self.links: dict[str, str] = {}
        self.made: list[str] = []  # folders above and including the destination that weren't there

    def __enter__(self) -> Extraction:
        from tempfile import mkdtemp

        try:
            self._make_destination()
            self.hidden = mkdtemp(prefix=".extracting-", dir=self.destination)
        except OSError as error:
            self._remove_made()
            raise failed(self.function, self.destination, error) from None
        return self

    def _make_destination(self) -> None:
        missing = []
        path = os.path.abspath(self.destination)
        while not os.path.lexists(path):
            missing.append(path)
            path = os.path.dirname(path)
        for folder in reversed(missing):
            os.mkdir(folder)
            self.made.append(folder)

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        from shutil import rmtree

        rmtree(self.hidden, ignore_errors=True)
        if kind is not None:
            self._remove_made()

    def _remove_made(self) -> None:
        for folder in reversed(self.made):
            with suppress(OSError):
                os.rmdir(folder)

    # Entries

    def refuse(self, name: str, reason: str) -> SemaError:
        """The condition that an entry can't be extracted."""
        shown = name.encode(errors="surrogateescape").decode(errors="replace")
        return SemaError(f"{self.function} {self.archive}: entry {shown} {reason}")

    def counted(self) -> None:
        """Called for each entry before anything else."""
        self.work.check()
        self.count += 1
        check_limit(self.function, "entries", self.count, MAX_ENTRIES, LIMIT_HINT)

    def place(self, name: str) -> str:
        """Where an entry goes, relative to the destination; "" is the destination itself."""
        if os.sep != "/":
            name = name.replace(os.sep, "/")
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.startswith("/") or ".." in parts or os.path.splitdrive(name)[0]:
            raise self.refuse(name, "would be written outside of the destination")
        if "\0" in name:
            raise self.refuse(name, "has a name with a NUL character")
        return "/".join(parts)

    def add_folder(self, name: str, mode: int) -> None:
        place = self.place(name)
        if place:
            self.counted()
            self._make_hidden(name, place)
            self.folders[place] = mode & 0o777 | 0o700

    def add_file(self, name: str, content: IO[bytes], size: int, mode: int, modified: float | None) -> None:
        """size: what the archive says; mode: permissions, 0 for the usual ones; modified: seconds since 1970."""
        path = self._new_file(name)
        self._check_output(self.written + size)
        try:
            with open(os.open(path, NEW, mode & 0o777 | 0o600 if mode else 0o666), "wb") as file:
                self._copy(content, file)
        except OSError as error:
            raise failed(self.function, os.path.join(self.destination, name), error) from None
        if modified is not None:
            with suppress(OSError, OverflowError, ValueError):
                os.utime(path, (modified, modified))

    def add_hard_link(self, name: str, target: str) -> None:
        """Another name for a file that the archive had before."""
        source = self.place(target)
        if source not in self.files:
            raise self.refuse(name, f"is a link to {target}, which is not a file before it in the archive")
        path = self._new_file(name)
        try:
            os.link(os.path.join(self.hidden, source), path)
        except OSError as error:
            raise failed(self.function, os.path.join(self.destination, name), error) from None

    def add_link(self, name: str, target: str) -> None:
        """A symbolic link. It is made at the end, so that nothing is written through it.

        `..` may stand only at the front: after the name of another link it could lead anywhere.
        """
        self._new_file(name)
        place = self.place(name)
        parts = [part for part in target.split("/") if part not in ("", ".")]
        up = len(parts) - len([part for part in parts if part != ".."])
        outside = target.startswith("/") or ".." in parts[up:] or up > place.count("/")
        if outside or "\0" in target or len(target) > MAX_LINK or not target:
            raise self.refuse(name, "is a link that leads outside of the destination")
        del self.files[place]
        self.links[place] = target

    def _new_file(self, name: str) -> str:
        """The hidden path of an entry that is no folder."""
        place = self.place(name)
        self.counted()
        if place in self.files or place in self.links:
            raise SemaError(f"{self.function}: duplicate entry target {place} — refusing to overwrite")
        path = os.path.join(self.hidden, place)
        self._make_hidden(name, os.path.dirname(place))
        if not place or os.path.lexists(path):
            raise self.refuse(name, "is a file and a folder in this archive")
        self.files[place] = None
        return path

    def _make_hidden(self, name: str, place: str) -> None:
        """Makes a folder in the hidden one, and notes it and its parents."""
        if not place or place in self.folders:
            return
        self._make_hidden(name, os.path.dirname(place))
        try:
            os.mkdir(os.path.join(self.hidden, place))
        except (FileExistsError, NotADirectoryError):
            raise self.refuse(name, "goes where this archive has a file") from None
        except OSError as error:
            raise failed(self.function, os.path.join(self.destination, place), error) from None
        self.folders[place] = 0o777
        check_limit(self.function, "entries", len(self.folders), MAX_ENTRIES, LIMIT_HINT)

    def _copy(self, content: IO[bytes], file: IO[bytes]) -> None:
        while chunk := self._read(content):
            self.work.check()
            self.written += len(chunk)
            self._check_output(self.written)
            file.write(chunk)

    def _read(self, content: IO[bytes]) -> bytes:
        """Some bytes of an entry. Whatever the library raises for a damaged one becomes a condition."""
        try:
            return content.read(CHUNK)
        except Exception as error:
            raise damaged(self.function, self.archive, error) from None

    def _check_output(self, size: int) -> None:
        check_limit(self.function, "output bytes", size, MAX_OUTPUT, LIMIT_HINT)

    # Moving

    def finish(self) -> int:
        """Moves everything into the destination, replacing existing files, and returns the number of entries."""
        for place, target in self.links.items():
            self._hide_link(place, target)
        folders = sorted(self.folders)
        files = [*self.files, *self.links]
        for place in folders:
            self._check_target(place, folder=True)
        for place in files:
            self._check_target(place, folder=False)
        try:
            for place in folders:
                path = os.path.join(self.destination, place)
                if not os.path.isdir(path):
                    os.mkdir(path, self.folders[place])
            for place in files:
                os.replace(os.path.join(self.hidden, place), os.path.join(self.destination, place))
        except OSError as error:
            raise failed(self.function, os.path.join(self.destination, place), error) from None
        return self.count

    def _hide_link(self, place: str, target: str) -> None:
        path = os.path.join(self.hidden, place)
        if os.path.lexists(path):
            raise self.refuse(place, "is a link and a folder in this archive")
        try:
            os.symlink(target, path)
        except OSError as error:
            raise failed(self.function, os.path.join(self.destination, place), error) from None

    def _check_target(self, place: str, folder: bool) -> None:
        """Raises a condition when an entry can't go to its place, before anything has been moved."""
        path = os.path.join(self.destination, place)
        check_path(self.function, path)
        parent = os.path.realpath(os.path.dirname(path))
        root = os.path.realpath(self.destination)
        if parent != root and not parent.startswith(root.rstrip("/") + "/"):
            raise self.refuse(place, f"would be written through a link to {parent}")
        if not os.path.lexists(path):
            blocked = os.path.isdir(parent) and not os.access(parent, os.W_OK)
        elif folder != os.path.isdir(path):
            raise self.refuse(place, f"can't replace {path}, which is {'a file' if folder else 'a folder'}")
        elif not folder and not _replaceable(path):
            raise self.refuse(place, f"can't replace {path}, which is a device or a pipe")
        else:
            blocked = not os.access(path if folder else parent, os.W_OK)
        if blocked:
            raise failed(self.function, path, PermissionError(13, "Permission denied"))


def _replaceable(path: str) -> bool:
    """Whether an entry may take the place of a file: a regular one, or a link, which is not followed."""
    mode = os.lstat(path).st_mode
    return S_ISREG(mode) or S_ISLNK(mode)


def damaged(function: str, archive: str, error: Exception) -> SemaError:
    """The condition that an archive can't be read."""
    return SemaError(f"{function} {archive}: {str(error) or type(error).__name__}")
