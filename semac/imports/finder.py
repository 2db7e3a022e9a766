"""Imports of `.sema` files: `import my_module` finds `my_module.sema` and `my_module/__init__.sema` on `sys.path`.

    import semac.importer
    semac.importer.install()
    import my_module

A finder stands before Python's path finder. `semac.imports.cache` keeps compiled code. `import_file` serves
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
from keyword import iskeyword

from sema_runtime import when_loaded
from sema_runtime.capabilities import denied
from sema_runtime.compiled_modules import compiled_path, is_mapped
from sema_runtime.values.errors import ReaderError, SemaError
from semac import sources
from semac.fingerprint import digest
from semac.imports import cache
from semac.imports.archives import archive_has, archive_member, archive_of
from semac.imports.tools import is_watched, teach_tools
from semac.sources import decode, read, read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType
    from typing import Any

SUFFIX = ".sema"
INIT = "__init__" + SUFFIX
STUBS = "SEMA_STUBS"  # where stubs are kept current as modules are imported: "1" beside them, or a folder

_file_modules: dict[str, str] = {}  # made-up module name → real path, for files outside of sys.path
_names: dict[str, str] = {}  # real path → name of the module that was made of it
_chain: ContextVar[tuple[str, ...]] = ContextVar("sema_import_chain", default=())


class SemaSyntaxError(SyntaxError):
    """A .sema file that can't be compiled, as Python's tools know it; `sema_error` is the compiler's own error."""

    sema_error: Exception | None = None


def install(sets_hooks: bool = True, stubs: str | bool = False) -> None:
    """Makes .sema files importable in this interpreter and in processes that it spawns. Idempotent.

    sets_hooks: whether Python's tracebacks of uncaught errors are to be free of the compiler's frames.
    stubs: whether each import keeps the module's `.pyi` current: beside the source, or in the folder of that name.
    """
    if stubs:
        os.environ[STUBS] = "1" if stubs is True else stubs
    if not any(type(finder) is SemaFinder for finder in sys.meta_path):
        at = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
        sys.meta_path.insert(at, SemaFinder())
    teach_tools()
    when_loaded("multiprocessing.spawn", _teach_spawn)
    if sets_hooks:
        from semac.diagnostics import tracebacks

        tracebacks.install()


def _teach_spawn(spawn: ModuleType) -> None:
    from semac.imports.spawned import teach_spawn

    teach_spawn(spawn, install, SemaLoader)


def uninstall() -> None:
    """Undoes `install`; modules that were imported stay."""
    from semac.diagnostics import tracebacks

    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder) is not SemaFinder]
    tracebacks.uninstall()


class SemaFinder:
    """Finds modules and packages made of .sema files in folders and in zip archives."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in _file_modules:
            return _spec(fullname, _file_modules[fullname], False)
        if fullname in sys.stdlib_module_names:  # json.sema beside a program is not what libraries ask for
            return None
        tail = fullname.rpartition(".")[2]
        entries = [entry or os.getcwd() for entry in (sys.path if path is None else path)]
        only_ours = True  # in the entries so far Python can't have anything of that name
        for index, entry in enumerate(entries):
            folder = _folder(entry)
            if folder is None:
                only_ours = False
                file = _in_archive(entry, tail)
            else:
                names = folder.names.get(tail)
                if names is None:
                    continue
                only_ours = only_ours and names == [tail + SUFFIX]
                file = _in_folder(entry, tail, names)
            if file is None:
                continue
            if not only_ours and _python_comes_first(fullname, entries[: index + 1], entry, file):
                return None
            return _spec(fullname, file, os.path.basename(file) == INIT, folder)
        return None

    def invalidate_caches(self) -> None:
        """For `importlib.invalidate_caches`."""
        _folders.clear()


class _Folder:
    """The contents of a folder when it was read. names: by the part before the first dot."""

    def __init__(self, path: str, facts: os.stat_result) -> None:
        self.stamp = cache.stamp(facts)
        self.real = os.path.realpath(path)
        self.names: dict[str, list[str]] = {}
        for name in os.listdir(path):
            self.names.setdefault(name.partition(".")[0], []).append(name)


_folders: dict[str, _Folder] = {}


def _folder(path: str) -> _Folder | None:
    """The contents of an entry of the path, read again when it has changed; None for one that is no folder."""
    try:
        facts = os.stat(path)
        known = _folders.get(path)
        if known is None or known.stamp != cache.identity(facts):
            known = _folders[path] = _Folder(path, facts)
        return known
    except OSError:
        return None


def _in_folder(entry: str, tail: str, names: list[str]) -> str | None:
    """The file for a module name, of which a folder has these names; a package wins over a module."""
    if tail in names and os.path.isfile(package := os.path.join(entry, tail, INIT)):
        return package
    name = tail + SUFFIX
    return module if name in names and os.path.isfile(module := os.path.join(entry, name)) else None


def _in_archive(entry: str, tail: str) -> str | None:
    if archive_of(entry) is None:
        return None
    package = os.path.join(entry, tail, INIT)
    module = os.path.join(entry, tail + SUFFIX)
    return package if archive_has(package) else module if archive_has(module) else None


def _python_comes_first(fullname: str, entries: list[str], entry: str, file: str) -> bool:
    """Whether Python has a module of that name in an earlier entry, or in the same one, which draws a warning."""
    spec = PathFinder.find_spec(fullname, entries)
    if spec is None or spec.loader is None or spec.origin is None:
        return False
    folder = os.path.dirname(spec.origin)
    if (folder == entry or os.path.dirname(folder) == entry) and not is_mapped(spec.origin):
        warnings.warn(f"import {fullname}: {spec.origin} is used, {file} is ignored", RuntimeWarning, stacklevel=2)
    return True


def _spec(fullname: str, path: str, is_package: bool, folder: _Folder | None = None) -> ModuleSpec | None:
    """folder: the one where a module was found, if it is known."""
    if folder is None or is_package or os.path.islink(path):
        loader = SemaLoader(fullname, path)
    else:
        loader = SemaLoader(fullname, path, os.path.join(folder.real, os.path.basename(path)))
    other = sys.modules.get(_names.get(loader.real, ""))
    chosen: Any = loader
    if other is not None and other.__name__ != fullname and not is_package:
        chosen = _SameModule(other)
    spec = ModuleSpec(fullname, chosen, origin=path, is_package=is_package)
    spec.has_location = True
    spec.cached = loader.kept
    if is_package:
        spec.submodule_search_locations = [os.path.dirname(path)]
    return spec


class SemaLoader(SourceFileLoader):
    """Loads one module. `exec_module` is importlib's own, whose frames Python drops from tracebacks.

    real: path without symbolic links. kept: the file for its compiled code.
    """

    def __init__(self, fullname: str, path: str, real: str | None = None) -> None:
        super().__init__(fullname, path)
        self.real = os.path.realpath(path) if real is None else real
        self.kept = cache.cache_path(path)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        _names[self.real] = spec.name
        return None

    def get_data(self, path: str) -> bytes:
        """The bytes of the module, or of a file beside it. Raises OSError."""
        if path == self.path and sources.is_snapshot():
            return read(path)
        try:
            return read_file(path)
        except OSError:
            member = archive_member(path)
            if member is None:
                raise
            return member

    def get_source(self, fullname: str | None = None) -> str:
        try:
            return decode(self.get_data(self.path), self.path)
        except (OSError, ReaderError) as error:
            raise ImportError(f"can't read {self.path}: {error}", name=self.name, path=self.path) from error

    def get_code(self, fullname: str | None = None) -> CodeType:
        """Raises SemaSyntaxError for a file that can't be compiled."""
        code = self._code()
        if not is_watched():
            return code
        from sema_runtime.packed_code import opened

        return opened(code)

    def _code(self) -> CodeType:
        wanted = os.environ.get(STUBS) if not denied else None
        if wanted and os.path.isfile(self.path) and not sources.is_snapshot():
            self._keep_stub(wanted)
        known = cache.load_native(self.kept, self.path, self.real) or cache.load(self.kept, self.path, self.real)
        if known is not None:
            return known
        try:
            return self._compiled()
        except OSError as error:
            raise ImportError(f"can't read {self.path}: {error}", name=self.name, path=self.path) from error
        except Exception as error:
            if not isinstance(error, SemaError) and getattr(error, "span", None) is None:
                raise
            raise _syntax_error(error, self.path) from None

    def _keep_stub(self, wanted: str) -> None:
        """Keeps the module's stub current; what is wrong with the module is said where it is compiled."""
        from contextlib import suppress

        from semac.stubs.files import keep_current

        with suppress(Exception):
            keep_current(wanted, self.name, self.path, self.is_package())

    def _compiled(self) -> CodeType:
        """The module compiled afresh, and kept for the next time. Raises SemaError and OSError."""
        from semac.pipeline import compile_source

        started = time.time()
        on_disk = os.path.isfile(self.path)
        stamp = cache.stamp(os.stat(self.path)) if on_disk else None
        source = self.get_data(self.path)
        unit = compile_source(decode(source, self.path), self.real, "module", lists_globals=True)
        unit.show_warnings()
        code = unit.code
        storable = on_disk and unit.unit.is_portable and not unit.unit.warnings  # each run says them
        macro_files = cache.unchanged_since(unit.macro_files, started) if storable else None
        if macro_files is not None:
            cache.store(self.kept, source, code, macro_files, stamp)
        return code

    def get_resource_reader(self, name: Any = None) -> Any:
        """For `importlib.resources`: what reads files beside a package, in an archive too."""
        folder = os.path.dirname(self.path)
        if os.path.isdir(folder) or archive_of(folder) is None:
            return super().get_resource_reader(name)
        from importlib.readers import ZipReader
        from zipimport import zipimporter

        return ZipReader(zipimporter(os.path.dirname(folder)), name)

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


def _syntax_error(error: Exception, path: str) -> SemaSyntaxError:
    """The same error as Python's tools show it: with file, line, column and the line's text."""
    from sema_runtime.conditions.describe import describe

    span = getattr(error, "span", None)
    line, col, end_line, end_col = tuple(span) if span is not None else (1, 1, 1, 1)
    try:
        text = SemaLoader("", path).get_source().split("\n")[line - 1]
    except (ImportError, IndexError):
        text = None
    described = describe(error)
    message = described.message + (f" (hint: {described.hint})" if described.hint else "")
    syntax_error = SemaSyntaxError(message, (os.path.realpath(path), line, col, text, end_line, end_col))
    syntax_error.sema_error = error
    error.source_file = os.path.realpath(path)  # type: ignore[attr-defined]
    return syntax_error


def keep_to(files: dict[str, bytes] | None) -> None:
    """From now on these are all the Sema files that can be imported or loaded, with these contents, whatever becomes of
    them on the disk; compiled code that is kept there isn't used. files: by real path; None: the disk again."""
    sources.keep_to(files)
    cache.trusted = files is None


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
        if sources.is_snapshot():
            read(real)
        else:
            os.stat(real)
        name = _importable_name(real) or _file_module_name(real)
    if not any(type(finder) is SemaFinder for finder in sys.meta_path):
        install()
    token = _chain.set((*chain, real))
    try:
        return importlib.import_module(name)
    except SemaSyntaxError as error:
        raise (error.sema_error or error) from None
    finally:
        _chain.reset(token)


def _importable_name(real: str) -> str | None:
    """The name by which Python would import a file, so that both ways give one module; None where it wouldn't.

    Packages in between are regular ones, since asking for a name below them imports them. In a sandbox, and where
    sources are pinned, no other file may be loaded for the question.
    """
    if denied or sources.is_snapshot() or not real.endswith(SUFFIX):
        return None
    from importlib.util import find_spec

    for entry in sys.path:
        base = os.path.realpath(entry or os.getcwd()).rstrip(os.sep) + os.sep
        parts = real[len(base) : -len(SUFFIX)].split(os.sep) if real.startswith(base) else [""]
        if parts[-1] == "__init__":
            parts.pop()
        if not parts or not all(map(str.isidentifier, parts)) or any(map(iskeyword, parts)):
            continue
        folders = [os.path.join(base, *parts[:count]) for count in range(1, len(parts))]
        if all(any(os.path.isfile(os.path.join(folder, init)) for init in (INIT, "__init__.py")) for folder in folders):
            name = ".".join(parts)
            install()
            try:
                spec = find_spec(name)
            except (ImportError, ValueError, SemaError):
                continue
            if spec is not None and spec.origin is not None and _is_of(os.path.realpath(spec.origin), real):
                return name
    return None


def _is_of(origin: str, real: str) -> bool:
    """Whether what Python would import is a source file, or stands for it in an installed package."""
    return origin == real or (origin == compiled_path(real) and is_mapped(origin))


def _file_module_name(real: str) -> str:
    """A module name for a file, without dots, the same in every process."""
    stem = os.path.splitext(os.path.basename(real))[0].replace(".", "_")
    name = f"{stem}@{digest(real.encode('utf-8', 'surrogateescape')).hex()[:8]}"
    _file_modules[name] = real
    return name
