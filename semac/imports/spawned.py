"""Processes that `multiprocessing` spawns: they import .sema files as the process does that starts them.

A spawned process gets a pickled dict, in which `prepare` of `multiprocessing.spawn` overlooks entries that it doesn't
know. Ours is an object; reading it installs the hook, before the process imports what it is to run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader as Loader
from types import ModuleType
from typing import Any

from sema_runtime import bundle

ENTRY = "sema_imports"
MAIN = "__mp_main__"  # what `multiprocessing` calls it


class Hook:
    """Calls a function where it is unpickled, in a built program after saying where its packages and files are."""

    def __init__(self, install: Callable[[], None]) -> None:
        self.install = install

    def __reduce__(self) -> tuple[Any, ...]:
        if bundle.root is None:
            return self.install, ()
        paths = f"import sys; sys.path[:] = {sys.path!r}"
        files = f"from sema_runtime import bundle; bundle.root, bundle.packages = {bundle.root, bundle.packages!r}"
        hook = f"from {self.install.__module__} import {self.install.__name__}; {self.install.__name__}()"
        return exec, (f"{paths}; {files}; {hook}", {})


def teach_spawn(spawn: ModuleType, install: Callable[[], None], loader: Callable[[str, str], Loader]) -> None:
    """Has spawned processes get the hook, and run a main program that is a .sema file as one."""
    tools: Any = spawn
    if hasattr(tools.get_preparation_data, "untaught"):
        return
    preparation_data, fix_main = tools.get_preparation_data, tools._fixup_main_from_path

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {**preparation_data(name), ENTRY: Hook(install)}

    def fixup_main_from_path(path: str) -> None:
        if not path.endswith(".sema"):
            fix_main(path)
        elif getattr(sys.modules["__main__"], "__file__", None) != path:
            load_main(loader(MAIN, path), path)

    get_preparation_data.untaught = preparation_data  # type: ignore[attr-defined]
    tools.get_preparation_data, tools._fixup_main_from_path = get_preparation_data, fixup_main_from_path


def load_main(loader: Loader, path: str) -> None:
    """Runs the main program of another process as `__mp_main__`, so that its functions can be found here."""
    module = ModuleType(MAIN)
    module.__file__, module.__loader__ = path, loader
    sys.modules[MAIN] = module
    code = loader.get_code(MAIN)
    if code is not None:
        exec(code, module.__dict__)
    sys.modules["__main__"] = module
