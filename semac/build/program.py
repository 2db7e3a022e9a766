"""The files of a program: those that it imports, the Sema packages among them, and what `--include` adds."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from sysconfig import get_path

from semac.build.errors import BuildError
from semac.build.launch import placed
from semac.imports.traced import Named, files_of, named_in_python, named_in_sema

MOST_FILES = 20_000
MANIFEST = "sema.toml"


@dataclass
class Program:
    """What a program is built of. Places are paths in the built program, with `/`.

    entry: the place of its file. folder: the place of the entry's folder, or of that above its package if it is a
    `__main__`, "" or with a final `/`: imports of Python and relative reads start there. sources: place → file, of Sema
    and Python files. packages: the same, of Sema packages. imported: the real paths of Sema files that are imported and
    not only loaded. included: place → file, of data. modules: names of Python modules of others. notes: what could not
    be traced or found.
    """

    entry: str
    folder: str
    sources: dict[str, str]
    packages: dict[str, str]
    imported: set[str]
    modules: set[str]
    notes: list[str]
    included: dict[str, str] = field(default_factory=dict)

    @property
    def files(self) -> list[str]:
        """All files that go into the built program."""
        return [*self.sources.values(), *self.packages.values(), *self.included.values()]


def traced(entry: str, includes: Iterable[str] = ()) -> Program:
    """The program of a file. Raises BuildError for what can't be read."""
    from sema_runtime.compiler_bridge import packages_dir

    trace = _Trace(os.path.realpath(entry))
    _refuse_circles(trace.entry)
    installed = os.path.join(os.path.realpath(packages_dir()), "")
    packages = {path for path in trace.files if path.startswith(installed)}
    own = trace.files - packages
    root = os.path.commonpath([trace.folder, *map(os.path.dirname, own)])
    program = Program(
        entry=place_of(trace.entry, root),
        folder=place_of(os.path.join(trace.folder, ""), root) if trace.folder != root else "",
        sources={place_of(path, root): path for path in sorted(own)},
        packages=_packages(packages, installed),
        imported=trace.imported,
        modules=trace.modules,
        notes=trace.notes,
    )
    for include in includes:
        _include(program, include)
    return program


def _refuse_circles(entry: str) -> None:
    """Raises BuildError for imports that can't succeed wherever the program runs."""
    from semac.checks.imports import problems
    from semac.sources import decode
    from semac.syntax.reader import read_recovering

    if entry.endswith(".sema"):
        for problem in problems(read_recovering(decode(read(entry), entry))[0], entry):
            if problem.is_error:
                raise BuildError(f"{problem.message}; {problem.hint}")


def place_of(path: str, root: str) -> str:
    """The path below a folder, with `/`."""
    end = "/" if path.endswith(os.sep) else ""
    return os.path.relpath(path, root).replace(os.sep, "/") + end


class _Trace:
    """The files that an entry reaches. files, imported: real paths."""

    def __init__(self, entry: str) -> None:
        self.entry = entry
        self.folder, package = placed(entry)
        self.files = {entry, *files_of(Named("module", package), entry, self.folder)}
        self.imported: set[str] = set()
        self.modules: set[str] = set()
        self.notes: list[str] = []
        sites = tuple({os.path.join(os.path.realpath(get_path(kind)), "") for kind in ("purelib", "platlib")})
        waiting = [*self.files]
        while waiting:
            path = waiting.pop()
            data = read(path)
            for named in named_in_python(data) if path.endswith(".py") else named_in_sema(data, path):
                files = [os.path.realpath(file) for file in files_of(named, path, self.folder)]
                if any(file.startswith(site) for file in files for site in sites):
                    self.modules.add(named.name.partition("/")[0].replace("-", "_"))
                    continue  # with its distribution
                if not files:
                    self._note(named, path)
                if named.kind != "load":
                    self.imported.update(files)
                waiting += [file for file in files if file not in self.files]
                self.files.update(files)
            if len(self.files) > MOST_FILES:
                raise BuildError(f"{entry} imports more than {MOST_FILES} files")

    def _note(self, named: Named, path: str) -> None:
        """Notes a module of others, and a file that isn't there."""
        if named.kind == "module":
            if not named.name.startswith("."):
                self.modules.add(named.name)
        elif not _is_of_the_language(named.name):
            where = os.path.relpath(path, self.folder)
            said = f'({named.kind} "{named.name}") in {where} names no file'
            self.notes.append(f"{said}; the program will look for it where it runs")


def _is_of_the_language(name: str) -> bool:
    from sema_runtime.compiler_bridge import SHIPPED, resolve
    from sema_runtime.values.errors import SemaError

    try:
        return resolve(name, None).startswith(SHIPPED)
    except (SemaError, ValueError):
        return False


def _packages(files: set[str], installed: str) -> dict[str, str]:
    """The files of packages, and the manifests that name their entry points."""
    places = {}
    for path in sorted(files):
        places[place_of(path, installed)] = path
        folder = os.path.dirname(path)
        while folder.startswith(installed) and not os.path.isfile(os.path.join(folder, MANIFEST)):
            folder = os.path.dirname(folder)
        manifest = os.path.join(folder, MANIFEST)
        if os.path.isfile(manifest) and manifest.startswith(installed):
            places[place_of(manifest, installed)] = manifest
    return places


def _include(program: Program, include: str) -> None:
    """Adds a file under its name, or a folder with all in it under its own."""
    path = os.path.abspath(include)
    name = os.path.basename(path)
    if os.path.isdir(path):
        for current, folders, files in os.walk(path):
            folders[:] = sorted(folder for folder in folders if folder != "__pycache__")
            for file in sorted(files):
                full = os.path.join(current, file)
                _add(program, f"{name}/{place_of(full, path)}", full)
    elif os.path.isfile(path):
        _add(program, name, path)
    else:
        program.notes.append(f"--include {include}: there is no such file or folder")


def _add(program: Program, name: str, file: str) -> None:
    place = program.folder + name
    other = program.sources.get(place) or program.included.get(place)
    if other is not None and not os.path.samefile(other, file):
        raise BuildError(f"--include: {file} and {other} would both be {place} in the built program")
    if os.path.isfile(file):  # a link may lead nowhere
        program.included[place] = file


def read(path: str) -> bytes:
    """The bytes of a file. Raises BuildError."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise BuildError(f"file not found: {path}") from None
    except OSError as error:
        raise BuildError(f"cannot read {path}: {error.strerror}") from None
