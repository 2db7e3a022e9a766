"""The program that an approval is good for: its file and all that it imports, as they are when the run starts.

`pinned` finds these files, makes the run use exactly their contents, and returns the digest that goes into
requests for approval. Python modules count as well when they stand beside the program; packages that are installed,
Sema's or Python's, don't: those of Sema are followed where they are imported, those of Python are the machine's.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import Any

from sema_runtime.values.errors import SemaError
from semac.imports.finder import keep_to
from semac.imports.traced import files_of, named_in_python, named_in_sema, sema_file

MARK = b"sema-workflow-approval-revision-v1"
ENTRY = "<entry>"
MOST_FILES, MOST_BYTES = 4096, 64 << 20
PROJECT = ("sema.toml", "sema.lock")
ASKS = b"approval"
NAMED = re.compile(rb'\(\s*(?:import|load)\s+"([^"\\\n]+)"')


def pinned(file: str, source: bytes) -> str | None:
    """The digest of the program, which from now on imports these very files; None, and nothing changes, for one that
    comes to no `approval` as far as can be seen. Raises SemaError for files that can't be read or are too many."""
    if not can_ask(file, source):
        return None
    program = Program(file, source)
    keep_to(program.contents)
    sys.meta_path.insert(sys.meta_path.index(PathFinder), KeptPython(program))
    return program.revision()


def can_ask(file: str, source: bytes) -> bool:
    """Whether the word stands in the program or in a file that it imports. Looks at texts only: this is asked of every
    workflow that runs."""
    seen: set[str] = set()
    waiting = [(source, file)]
    size = 0
    while waiting and len(seen) < MOST_FILES and size <= MOST_BYTES:
        text, path = waiting.pop()
        size += len(text)
        if ASKS in text:
            return True
        for name in NAMED.findall(text):
            imported = sema_file(name.decode("utf-8", "surrogateescape"), path)
            if imported is not None and imported not in seen:
                seen.add(imported)
                with suppress(SemaError):  # importing it will say so
                    waiting.append((_read(imported), imported))
    return False


def revision(file: str, source: bytes) -> str:
    """SHA-256 over the names and contents of all files of a program. Raises SemaError as `pinned` does."""
    return Program(file, source).revision()


class Program:
    """The files of a program. contents: of each by its real path. folder: from where Python modules are imported."""

    def __init__(self, file: str, source: bytes) -> None:
        self.entry = os.path.realpath(file)
        self.folder = os.path.dirname(self.entry)
        self.contents: dict[str, bytes] = {}
        self.size = 0
        self._add(self.entry, source)
        waiting = [(self.entry, file)]  # with the path by which it is reached: relative ones start there
        while waiting:
            real, path = waiting.pop()
            for imported in self._imported(real, path):
                known = os.path.realpath(imported)
                if known not in self.contents:
                    self._add(known, _read(imported))
                    waiting.append((known, imported))
        for name in PROJECT:
            nearest = _nearest(os.path.dirname(os.path.abspath(file)), name)
            if nearest is not None:
                self._add(os.path.realpath(nearest), _read(nearest))

    def _add(self, real: str, data: bytes) -> None:
        self.contents[real] = data
        self.size += len(data)
        if len(self.contents) > MOST_FILES or self.size > MOST_BYTES:
            size = f"{MOST_FILES} files or {MOST_BYTES >> 20} MiB"
            raise SemaError(f"{self.entry} has more than {size} with all that it imports, too much to be approved")

    def _imported(self, real: str, path: str) -> Iterator[str]:
        data = self.contents[real]
        if real.endswith(".py"):
            for named in named_in_python(data):
                yield from files_of(named, real, self.folder)
            return
        importers = {os.path.dirname(importing): importing for importing in (path, real)}.values()
        for named in named_in_sema(data, path):  # load takes one, import both
            for importer in importers:
                yield from files_of(named, importer, self.folder)

    def revision(self) -> str:
        """SHA-256 over the names and contents of the files, in the order of their names."""
        from sema_runtime.compiler_bridge import packages_dir

        packages = os.path.join(os.path.realpath(packages_dir()), "")
        named = {}
        for real, data in self.contents.items():
            base, at = ("packages:", packages) if real.startswith(packages) else ("", self.folder)
            name = ENTRY if real == self.entry else base + os.path.relpath(real, at)
            named[name.encode("utf-8", "surrogateescape")] = data
        digest = sha256(MARK)
        for key in sorted(named):
            for part in (key, named[key]):
                digest.update(len(part).to_bytes(8, "little"))
                digest.update(part)
        return digest.hexdigest()


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise SemaError(f"{path}: {error.strerror or error}") from None


def _nearest(folder: str, name: str) -> str | None:
    """In the folder or one above it."""
    while True:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


# Python modules of the program


class KeptPython:
    """Gives Python modules that belong to a program the contents that they had when it started."""

    def __init__(self, program: Program) -> None:
        self.contents = program.contents
        self.names = {_module_name(real, program.folder) for real in program.contents if real.endswith(".py")}

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """None for modules of others. Raises ImportError when something has taken the place of one that belongs to the
        program."""
        if fullname not in self.names:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        data = None if spec is None or spec.origin is None else self.contents.get(os.path.realpath(spec.origin))
        if spec is None or spec.origin is None or data is None:
            raise ImportError(f"the module {fullname} is another one than when the program started", name=fullname)
        spec.loader = _Kept(fullname, spec.origin, data)
        return spec


class _Kept(SourceFileLoader):
    def __init__(self, fullname: str, path: str, data: bytes) -> None:
        super().__init__(fullname, path)
        self.data = data

    def get_code(self, fullname: str) -> Any:
        return self.source_to_code(self.data, self.path)


def _module_name(real: str, folder: str) -> str:
    stem = os.path.relpath(real, folder).removesuffix(".py").removesuffix(f"{os.sep}__init__")
    return stem.replace(os.sep, ".")
