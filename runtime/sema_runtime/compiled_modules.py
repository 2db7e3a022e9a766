"""`(import "mail.sema")` in a compiled file where the source or the compiler is elsewhere: `mail.py` stands for it."""

from __future__ import annotations

import os
import sys

from sema_runtime import bundle
from sema_runtime.values.naming import COMPILED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

HEAD = 1000  # bytes at the start of a compiled file in which its docstring ends, and in which it calls source_maps
MAPPED = b"if not runs_as_source(globals(), "


def compiled_form(path: str, importer: object) -> str | None:
    """The Python file that `sema compile` made of a source file, for a compiled file that imports it.

    None where the source is there and can be compiled, and where no such file stands in its place. One that runs with
    the places of its source (source_maps.py) stands for it always.
    """
    if type(importer) is not str or (importer.endswith(".sema") and bundle.root is None):
        return None
    target = compiled_path(path)
    head = _head(target)
    if f'{COMPILED}"""'.encode() not in head:
        return None
    return None if MAPPED not in head and os.path.isfile(path) and _has_compiler() else target


def compiled_path(path: str) -> str:
    """The Python file for a source file."""
    folder, name = os.path.split(path)
    return os.path.join(folder, os.path.splitext(name)[0].replace("-", "_") + ".py")


def is_mapped(path: str) -> bool:
    """Whether a Python file runs with the places of its source, as those in wheels do."""
    return MAPPED in _head(path)


def _head(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(HEAD)
    except OSError:
        return b""


def _has_compiler() -> bool:
    from importlib.util import find_spec

    return find_spec("semac") is not None


def import_compiled(path: str) -> ModuleType:
    """The module of a Python file, the same that `import` gives where Python finds the file by a name."""
    from importlib import import_module
    from importlib.util import find_spec

    real = os.path.realpath(path)
    for entry in sys.path:
        base = os.path.join(os.path.realpath(entry or os.getcwd()), "")
        parts = real[len(base) : -len(".py")].split(os.sep) if real.startswith(base) else []
        name = ".".join(parts[:-1] if parts[-1:] == ["__init__"] else parts)
        if name and all(map(str.isidentifier, parts)):
            try:
                spec = find_spec(name)
            except (ImportError, ValueError):
                continue
            if spec is not None and spec.origin is not None and os.path.realpath(spec.origin) == real:
                return import_module(name)
    return _by_place(real)


def _by_place(real: str) -> ModuleType:
    """The module of a file that has no name in Python."""
    from importlib.util import module_from_spec, spec_from_file_location

    name = f"{os.path.splitext(os.path.basename(real))[0]}@{real}"
    if name not in sys.modules:
        spec = spec_from_file_location(name, real)
        if spec is None or spec.loader is None:
            raise ImportError(f"can't import {real}")
        sys.modules[name] = module = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


# Without the compiler


class Sources:
    """The last finder: says what is missing where a module is there as a .sema file alone."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """None; raises ImportError for a .sema file."""
        tail = name.rpartition(".")[2]
        for entry in sys.path if path is None else path:
            for file in (os.path.join(entry, tail + ".sema"), os.path.join(entry, tail, "__init__.sema")):
                if os.path.isfile(file):
                    raise ImportError(
                        f"{file} is not compiled: install semac, or compile its folder: sema compile FOLDER -o OUT",
                        name=name,
                        path=file,
                    )


def refuse_sources() -> None:
    """Has imports of .sema files end in an error that says what to do."""
    if not any(type(finder) is Sources for finder in sys.meta_path):
        sys.meta_path.append(Sources())
