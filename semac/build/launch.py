"""Runs a built program. Loaded at each start: it imports what running a file does, and nothing of the build."""

from __future__ import annotations

import os
import sys

from sema_runtime import bundle
from semac.cli.entry import guarding_pipes, prepare_process
from semac.cli.exits import guarded
from semac.cli.running import find_sema_modules, run_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

APP, PACKAGES = "app", "packages"


def run(folder: str, entry: str, digest: str, command: list[str]) -> int:
    """Runs the program in a folder and returns the exit status.

    entry: what runs first, a path below the folder. digest: of its text (`source_maps`), "" for a Python file. command:
    the program's own path and its arguments.
    """
    return guarding_pipes(lambda: _run(folder, entry, digest, command))


def _run(folder: str, entry: str, digest: str, command: list[str]) -> int:
    prepare_process()
    if command[1:2] == [bundle.RUN_MODULE]:
        return _run_module(command[2:])
    path = os.path.join(folder, entry)
    root, package = placed(path)
    bundle.root, bundle.packages = root, os.path.join(folder, PACKAGES)
    sys.path.insert(0, root)
    if command[1:2] == ["--mcp"]:
        from semac.build.served import serve

        return serve(lambda: namespace(path, digest, command[0]), command)
    find_sema_modules()
    shown = source_of(path)
    return guarded(lambda: run_code(code(path, digest), shown, command, package), shown)


def placed(path: str) -> tuple[str, str]:
    """(the folder from which a program imports, its package or ""). `__main__` of a package runs as by `python -m`."""
    folder = os.path.dirname(path)
    names: list[str] = []
    if os.path.basename(path).partition(".")[0] == "__main__":
        while any(os.path.isfile(os.path.join(folder, f"__init__{ending}")) for ending in (".py", ".sema")):
            folder, name = os.path.split(folder)
            names.insert(0, name)
    return folder, ".".join(names)


def namespace(path: str, digest: str, command: str) -> dict[str, Any]:
    """The global variables of the program, which has run as a module: not as `__main__`."""
    find_sema_modules()
    sys.argv[:] = [command]
    module = type(sys)(os.path.splitext(os.path.basename(source_of(path)))[0])
    module.__file__ = source_of(path)
    exec(code(path, digest), module.__dict__)
    return vars(module)


def _run_module(command: list[str]) -> int:
    """Runs a module of Python, for another process of this program."""
    import runpy

    sys.argv[:] = command
    runpy.run_module(command[0], run_name="__main__", alter_sys=True)
    return 0


def code(path: str, digest: str) -> CodeType:
    """The code of a program. path: of its Python text. digest: as `run` has it."""
    from importlib.machinery import SourceFileLoader

    from sema_runtime.source_maps import code_of

    loader = SourceFileLoader("__main__", path)
    if digest:
        mapped = code_of(path, source_of(path), digest, lambda: loader.get_source("__main__") or "")
        if mapped is not None:
            return mapped
    plain = loader.get_code("__main__")
    if plain is None:
        raise ImportError(f"{path} has no code")
    return plain


def source_of(path: str) -> str:
    """The source that the Python text of a program is compiled from."""
    return f"{path.removesuffix('.run.py')}.sema" if path.endswith(".run.py") else path
