"""Imports of `.sema` files: `import my_module` finds `my_module.sema` and `my_module/__init__.sema` on `sys.path`.

    import semac.importer
    semac.importer.install()
    import my_module

A finder of our own stands before Python's path finder. Compiled code is kept by `semac.cache`. `import_file` serves
`(import "file.sema")`; it goes through Python's import system too, so modules are shared and its locks apply.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
import warnings
from contextvars import ContextVar
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader

from sema_runtime.values.errors import ReaderError, SemaError
from semac import cache
from semac.archives import archive_has, archive_member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType
    from typing import Any

SUFFIX = ".sema"
INIT = "__init__" + SUFFIX

_file_modules: dict[str, str] = {}  # made-up module name → real path, for files outside of sys.path
_names: dict[str, str] = {}  # real path → name of the module that was made of it
_chain: ContextVar[tuple[str, ...]] = ContextVar("sema_import_chain", default=())
_snapshot: dict[str, bytes] | None = None  # real path → contents, where only these files are code


class SemaSyntaxError(SyntaxError):
    """A .sema file that can't be compiled, as Python's tools know it; `sema_error` is the compiler's own error."""

    sema_error: Exception | None = None


def install() -> None:
    """Makes .sema files importable in this interpreter, and tracebacks free of the compiler's frames. Idempotent."""
    from semac import tracebacks

    if not any(type(finder) is SemaFinder for finder in sys.meta_path):
        at = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
        sys.meta_path.insert(at, SemaFinder())
    tracebacks.install()


def uninstall() -> None:
    """Undoes `install`; modules that were imported stay."""
    from semac import tracebacks

    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder) is not SemaFinder]
    tracebacks.uninstall()


class SemaFinder:
    """Finds modules and packages made of .sema files in folders and in zip archives."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in _file_modules:
            return _spec(fullname, _file_modules[fullname], False)
        tail = fullname.rpartition(".")[2]
        entries = [os.getcwd() if entry == "" else entry for entry in (sys.path if path is None else path)]
        for index, entry in enumerate(entries):
            found = _in_entry(entry, tail)
            if found is None:
                continue
            if _python_comes_first(fullname, entries[: index + 1], entry, found):
                return None
            return _spec(fullname, found, os.path.basename(found) == INIT)
        return None


def _in_entry(entry: str, tail: str) -> str | None:
    """The file for a module name in one entry of the path; a package wins over a module."""
    package = os.path.join(entry, tail, INIT)
    module = os.path.join(entry, tail + SUFFIX)
    if os.path.isdir(entry):
        return package if os.path.isfile(package) else module if os.path.isfile(module) else None
    return package if archive_has(package) else module if archive_has(module) else None


def _python_comes_first(fullname: str, entries: list[str], entry: str, found: str) -> bool:
    """Whether Python has a module of that name in an earlier entry, or in the same one, which draws a warning."""
    spec = PathFinder.find_spec(fullname, entries)
    if spec is None or spec.loader is None or spec.origin is None:
        return False
    folder = os.path.dirname(spec.origin)
    if folder == entry or os.path.dirname(folder) == entry:
        warnings.warn(f"import {fullname}: {spec.origin} is used, {found} is ignored", RuntimeWarning, stacklevel=2)
    return True


def _spec(fullname: str, path: str, is_package: bool) -> ModuleSpec | None:
    loader: Any = SemaLoader(fullname, path)
    other = sys.modules.get(_names.get(loader.real, ""))
    if other is not None and other.__name__ != fullname and not is_package:
        loader = _SameModule(other)
    spec = ModuleSpec(fullname, loader, origin=path, is_package=is_package)
    spec.has_location = True
    spec.cached = cache.cache_path(path)
    if is_package:
        spec.submodule_search_locations = [os.path.dirname(path)]
    return spec


class SemaLoader(SourceFileLoader):
    """Loads one module. `exec_module` is importlib's own, whose frames Python drops from tracebacks."""

    def __init__(self, fullname: str, path: str) -> None:
        super().__init__(fullname, path)
        self.real = os.path.realpath(path)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        _names[self.real] = spec.name
        return None

    def get_data(self, path: str) -> bytes:
        """The bytes of the module, or of a file beside it. Raises OSError."""
        if path == self.path and _snapshot is not None:
            return read(path)
        member = archive_member(path)
        if member is not None:
            return member
        with open(path, "rb", buffering=0) as file:
            return file.read()

    def get_source(self, fullname: str | None = None) -> str:
        try:
            return decode(self.get_data(self.path), self.path)
        except (OSError, ReaderError) as error:
            raise ImportError(f"can't read {self.path}: {error}", name=self.name, path=self.path) from error

    def get_code(self, fullname: str | None = None) -> CodeType:
        """Raises SemaSyntaxError for a file that can't be compiled."""
        try:
            return code_of(self.path, self.get_data(self.path), self.real)
        except OSError as error:
            raise ImportError(f"can't read {self.path}: {error}", name=self.name, path=self.path) from error
        except Exception as error:
            if not isinstance(error, SemaError) and getattr(error, "span", None) is None:
                raise
            raise _syntax_error(error, self.path) from None

    def is_package(self, fullname: str | None = None) -> bool:
        return os.path.basename(self.path) == INIT


class _SameModule:
    """Gives a file that was imported under another name the module that exists already."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module that will be in `sys.modules` under both names."""
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        """The module has been executed under its first name."""


def code_of(path: str, source: bytes, filename: str) -> CodeType:
    """The compiled module, from the cache or fresh. filename: what the code calls its file, without symbolic links.

    Raises SemaError when it can't be compiled.
    """
    on_disk = os.path.isfile(path)
    if on_disk:
        known = cache.load(path, source, filename)
        if known is not None:
            return known
    from semac.driver import compile_source

    started = time.time()
    unit = compile_source(decode(source, path), filename, "module", lists_globals=True)
    code = unit.code
    storable = on_disk and unit.unit.is_portable
    macro_files = cache.unchanged_since(unit.macro_files, started) if storable else None
    if macro_files is not None:
        cache.store(path, source, code, macro_files)
    return code


def decode(source: bytes, path: str) -> str:
    """The text of a source file, UTF-8 with or without byte order mark. Raises ReaderError."""
    try:
        return source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        col = error.start - source.rfind(b"\n", 0, error.start)
        raise ReaderError(f"{path} is not UTF-8 text", (line, col, line, col + 1)) from None


def _syntax_error(error: Exception, path: str) -> SemaSyntaxError:
    """The same error as Python's tools show it: with file, line, column and the line's text."""
    from sema_runtime.values.conditions import describe

    span = getattr(error, "span", None)
    line, col, end_line, end_col = tuple(span) if span is not None else (1, 1, 1, 1)
    try:
        text = SemaLoader("", path).get_source().split("\n")[line - 1]
    except (ImportError, IndexError):
        text = None
    described = describe(error)
    message = described.message + (f" (hint: {described.hint})" if described.hint else "")
    made = SemaSyntaxError(message, (os.path.realpath(path), line, col, text, end_line, end_col))
    made.sema_error = error
    error.source_file = os.path.realpath(path)  # type: ignore[attr-defined]
    return made


# The text of files


def keep_to(files: dict[str, bytes] | None) -> None:
    """From now on these are all the Sema files that can be imported or loaded, with these contents, whatever becomes of
    them on the disk; compiled code that is kept there isn't used. files: by real path; None: the disk again."""
    global _snapshot
    _snapshot = files
    cache.trusted = files is None


def read(path: str) -> bytes:
    """The bytes of a source file. Raises OSError, and SemaError for a file that isn't one of those of `keep_to`."""
    known = None if _snapshot is None else _snapshot.get(os.path.realpath(path))
    if known is not None:
        return known
    if _snapshot is not None and not _is_shipped(path):
        os.stat(path)
        raise SemaError(
            f"{path} was not a part of the program when it started, so no approval covers it",
            'name it in the program by a literal path, (import "file.sema"), and run it again',
        )
    with open(path, "rb", buffering=0) as file:
        return file.read()


def _is_shipped(path: str) -> bool:
    """Whether a file comes with the language: it is as much a part of it as the builtins are."""
    from sema_runtime.seam import SHIPPED

    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(SHIPPED), ""))


# (import "file.sema")


def import_file(path: str, importer: str | None = None) -> ModuleType:
    """The module of a file, executed once however it is reached.

    importer: the file that asks. Raises SemaError for a cycle, OSError for a missing file, and what the module raises.
    """
    real = os.path.realpath(path)
    chain = _chain.get()
    if importer is not None and (not chain or chain[-1] != os.path.realpath(importer)):
        chain = (*chain, os.path.realpath(importer))
    if real in chain:
        raise SemaError("cyclic import detected: " + " -> ".join([*chain[chain.index(real) :], real]))
    name = _names.get(real, "")
    if name not in sys.modules:
        if _snapshot is None:
            os.stat(real)
        else:
            read(real)
        name = _file_module_name(real)
    if not any(type(finder) is SemaFinder for finder in sys.meta_path):
        install()
    token = _chain.set((*chain, real))
    try:
        return importlib.import_module(name)
    except SemaSyntaxError as error:
        raise (error.sema_error or error) from None
    finally:
        _chain.reset(token)


def _file_module_name(real: str) -> str:
    """A module name for a file, without dots, the same in every process."""
    stem = os.path.splitext(os.path.basename(real))[0].replace(".", "_")
    name = f"{stem}@{cache.digest(real.encode('utf-8', 'surrogateescape')).hex()[:8]}"
    _file_modules[name] = real
    return name
