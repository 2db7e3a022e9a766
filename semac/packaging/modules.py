"""The compiled modules of a wheel: Python files that run with the places of their sources, beside these."""

from __future__ import annotations

import fnmatch
import os
import posixpath
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sema_runtime.compiled_modules import compiled_path
from sema_runtime.values.errors import SemaError

OPTIONS = ("exclude", "modules", "native")


class PackagingError(Exception):
    """What keeps a wheel from being built, with the file, the place and what to do."""


class Settings(NamedTuple):
    """exclude: globs over the paths in the wheel, of sources that are shipped as they are. modules: sources at the top
    of the wheel that belong to no package. native: whether functions are compiled to machine code, too."""

    exclude: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    native: bool = False

    def is_excluded(self, target: str) -> bool:
        return any(fnmatch.fnmatch(target, pattern) for pattern in self.exclude)


def settings_of(table: Mapping[str, Any], where: str) -> Settings:
    """The settings in a table of pyproject.toml. where: its name. Raises PackagingError for what is none."""
    unknown = sorted(set(table) - set(OPTIONS) - {"dependencies", "enable-by-default", "require-runtime-dependencies"})
    if unknown:
        raise PackagingError(f"pyproject.toml: [{where}] has no option {unknown[0]!r}; there are {', '.join(OPTIONS)}")
    texts = {}
    for name in ("exclude", "modules"):
        value = table.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise PackagingError(f"pyproject.toml: {name} in [{where}] is a list of strings, not {value!r}")
        texts[name] = tuple(value)
    native = table.get("native", False)
    if not isinstance(native, bool):
        raise PackagingError(f"pyproject.toml: native in [{where}] is true or false, not {native!r}")
    return Settings(texts["exclude"], texts["modules"], native)


class Compiled(NamedTuple):
    """What a source becomes. text: of the module; stub: its types, for type checkers; extension: the path of its native
    functions, if it has any."""

    text: str
    stub: str
    extension: str | None = None


def compiled_target(target: str, others: Iterable[str]) -> str:
    """The path in the wheel of the module for a source at target. Raises PackagingError where another file has it."""
    module = compiled_path(target)
    stem = posixpath.splitext(posixpath.basename(module))[0]
    if not stem.isidentifier():
        raise PackagingError(f"{target}: '{stem}' is no name that Python can import; rename the file")
    if module in others:
        raise PackagingError(f"{target} and {module} are both the module '{stem}'; rename one of them")
    return module


def stub_target(module: str, others: Iterable[str]) -> str | None:
    """The path in the wheel of the stub for a module there; None where its author has written one."""
    target = f"{module}i"
    return None if target in others else target


def compiled_module(source: str, settings: Settings, mode: str = "module") -> Compiled:
    """The module for a source file. mode: as `compile_source` has it. Raises PackagingError."""
    from semac.diagnostics.render import render
    from semac.packaging.native import native_module
    from semac.pipeline import compile_source
    from semac.sources import decode, read_file
    from semac.stubs.stub import stub_text

    real = os.path.realpath(source)
    try:
        text = decode(read_file(source), source)
        unit = compile_source(text, real, mode, lists_globals=True)
        unit.text = text
        stub = stub_text(unit, os.path.basename(source)) if mode == "module" else ""
        native = native_module(text, real) if settings.native else None
        if native is not None:
            return Compiled(native[0], stub, native[1])
        unit.show_warnings()
        return Compiled(unit.mapped_text(), stub)
    except OSError as error:
        raise PackagingError(f"can't read {source}: {error.strerror}") from None
    except Exception as error:  # errors of macro bodies are of any kind
        if not isinstance(error, SemaError) and getattr(error, "span", None) is None:
            raise
        raise PackagingError(f"{source} can't be compiled\n{render(error, source, {})}") from None


def check_dependencies(requirements: Iterable[str]) -> None:
    """Raises PackagingError unless a wheel with these requirements gets the runtime when it is installed."""
    import re

    for requirement in requirements:
        name = re.match(r"\s*([A-Za-z0-9._-]+)", requirement)
        if name is not None and re.sub(r"[-_.]+", "-", name[1]).lower() in ("sema-runtime", "semac"):
            return
    raise PackagingError(
        "the modules of this wheel import sema_runtime, which its dependencies lack; add to [project] in"
        f" pyproject.toml:\n  dependencies = [{runtime_requirement()!r}]"
    )


def runtime_requirement() -> str:
    """The runtimes that can run what this compiler compiles."""
    from semac import __version__

    major, minor, _ = __version__.split(".")
    above = f"0.{int(minor) + 1}" if major == "0" else f"{int(major) + 1}"
    return f"sema-runtime>={__version__},<{above}"
