"""The runtime of compiled Sema programs: values, builtins by topic, LLM, tasks. Importing it loads nothing else."""

from __future__ import annotations

import sys

__all__ = ["ai", "importer", "interop", "web", "workflow"]  # the public modules: docs/reference/public-api.md

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import FrameType, ModuleType
    from typing import Any


class _Outdated:
    """The last finder of Python's import system: explains why a file that semac compiled can't be imported.

    Such a file names the modules of the runtime that it was compiled for. Where one of them is missing, no other finder
    has found it, and the error says how to compile the file again. Any other import is left alone.
    """

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """None; raises ImportError where a compiled file imports what this runtime doesn't have."""
        if not name.startswith("sema_runtime."):
            return None
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
            frame = frame.f_back
        text = frame.f_globals.get("__doc__") if frame is not None else None
        if frame is None or not isinstance(text, str) or not text.startswith("Compiled from "):
            return None
        source, is_compiled, _ = text.removeprefix("Compiled from ").rpartition(" by semac.")
        if not is_compiled:
            return None
        file = frame.f_code.co_filename
        raise ImportError(
            f"{file} imports {name}, which this sema_runtime doesn't have: another version of semac compiled the file."
            f" Compile it again: sema compile {source} -o {file}",
            name=name,
            path=file,
        )


sys.meta_path.append(_Outdated())


TAUGHT = ("json.encoder", "pydantic_core", "fastapi.encoders")  # modules that learn about our values: teaching.py


class _Teacher:
    """The first finder of Python's import system: what the others find is taught once it is loaded."""

    def __init__(self) -> None:
        self.busy = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in TAUGHT or self.busy:
            return None
        from importlib.util import find_spec

        self.busy = True
        try:
            spec = find_spec(name)
        finally:
            self.busy = False
        if spec is None or spec.loader is None:
            return None
        load: Any = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            _teach(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _teach(module: ModuleType) -> None:
    from sema_runtime.teaching import teach

    teach(module)


sys.meta_path.insert(0, _Teacher())
for _name in TAUGHT:
    if _name in sys.modules:
        _teach(sys.modules[_name])
