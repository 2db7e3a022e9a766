"""The layers of a built program as files in memory: the program itself, and the packages of Python that it needs."""

from __future__ import annotations

import os
import posixpath
from hashlib import sha256

from semac.build.errors import BuildError
from semac.build.program import Program, read

Layer = dict[str, bytes]  # contents by place
APP, PACKAGES = "app/", "packages/"
OURS = ("sema_runtime", "semac")


class Compiled:
    """The layer of a program. files: its contents. main: the place of what runs first; digest: that of its text, which
    `source_maps` asks for, None for Python. runtime: the modules of the runtime that its modules import."""

    def __init__(self, program: Program) -> None:
        self.files: Layer = {}
        self.runtime: set[str] = set()
        self.dynamic = False
        self.digest: str | None = None
        for place, file in program.included.items():
            self.files[APP + place] = read(file)
        for base, sources in ((APP, program.sources), (PACKAGES, program.packages)):
            for place, file in sources.items():
                self.files[base + place] = read(file)
        self.main = APP + program.entry
        if self.main.endswith(".sema"):
            self.main = f"{self.main.removesuffix('.sema')}.run.py"
            self._add(program.sources[program.entry], self.main, "program")
        for base, sources in ((APP, program.sources), (PACKAGES, program.packages)):
            for place, file in sources.items():
                if place.endswith(".sema") and file in program.imported:
                    self._add_module(base + place, file)
                elif place.endswith(".py"):
                    self._keep_python(base + place)

    def _add_module(self, place: str, file: str) -> None:
        from sema_runtime.compiled_modules import compiled_path

        target = compiled_path(place)
        if target not in self.files:  # Python imports the other one; (import "...") compiles the source
            self._add(file, target, "module")

    def _add(self, file: str, target: str, mode: str) -> None:
        """Adds the module for a source, and the code that it runs on this Python."""
        from semac.packaging.modules import PackagingError, Settings, compiled_module

        try:
            text = compiled_module(file, Settings(), mode).text
        except PackagingError as error:
            raise BuildError(str(error)) from None
        self.files[target] = text.encode()
        self._note_imports(text)
        self._keep_python(target)
        digest, kept, code = kept_code(text, file, target)
        self.files[kept] = code
        if mode == "program":
            self.digest = digest

    def _note_imports(self, text: str) -> None:
        from semac.imports.traced import named_in_python

        for named in named_in_python(text.encode()):
            if named.name.partition(".")[0] == "sema_runtime":
                self.runtime.add(named.name)
                self.runtime.update(f"{named.name}.{member}" for member in named.members)

    def _keep_python(self, place: str) -> None:
        """Adds Python's own compiled code, which belongs to the text whatever the times of the files are."""
        import importlib.util
        from importlib import _bootstrap_external as bootstrap

        source = self.files[place]
        try:
            code = compile(source, place, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return  # running it will say so
        stamp = importlib.util.source_hash(source)
        kept = bootstrap._code_to_hash_pyc(code, stamp, False)  # type: ignore[attr-defined]
        self.files[importlib.util.cache_from_source(place)] = bytes(kept)


def kept_code(text: str, file: str, target: str) -> tuple[str, str, bytes]:
    """(the digest, the place and the contents of what `source_maps` keeps) for the text of a module at target."""
    from sema_runtime import source_maps

    digest = source_maps.digest_in(text)
    code = source_maps.mapped(text, posixpath.basename(file), digest)
    if digest is None or code is None:
        raise BuildError(f"{file}: the places of its compiled module can't be read back")
    return digest, source_maps.kept_beside(target), source_maps.kept_bytes(code, digest)


def digest_of(layer: Layer) -> str:
    """Tells layers apart, in 16 characters."""
    total = sha256()
    for place in sorted(layer):
        total.update(f"{place}\0{len(layer[place])}\0".encode())
        total.update(layer[place])
    return total.hexdigest()[:16]


def our_packages() -> Layer:
    """The runtime and the compiler, which `eval` and `load` need."""
    import sema_runtime
    import semac

    layer: Layer = {}
    for package in (sema_runtime, semac):
        folder = os.path.dirname(os.path.abspath(str(package.__file__)))
        for current, folders, files in os.walk(folder):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            for name in sorted(files):
                path = os.path.join(current, name)
                layer[os.path.relpath(path, os.path.dirname(folder)).replace(os.sep, "/")] = read(path)
    return layer
