"""The runtime of compiled Sema programs: values, builtins by topic, LLM, tasks. Importing it loads nothing else."""

from __future__ import annotations

import sys

__version__ = "0.1.0"  # that of semac
__all__ = ["ai", "importer", "interop", "web", "workflow"]  # the public modules: docs/reference/public-api.md

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
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


def _teach(module: ModuleType) -> None:
    from sema_runtime.teaching import teach

    teach(module)


# Modules that learn something of ours when they are loaded: of our values (teaching.py), of .sema files (the compiler).
_lessons: dict[str, Callable[[ModuleType], None]] = dict.fromkeys(
    ("json.encoder", "pydantic_core", "fastapi.encoders"), _teach
)


class _Teacher:
    """The first finder of Python's import system: what the others find is taught once it is loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        lesson = _lessons.get(name)
        if lesson is None:
            return None
        others = (finder.find_spec for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec"))
        spec = next((spec for find in others if (spec := find(name, path, target)) is not None), None)
        if spec is None or spec.loader is None:
            return None
        load: Any = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            lesson(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def when_loaded(name: str, lesson: Callable[[ModuleType], None]) -> None:
    """Calls lesson(module) with the module of that name: now where it is loaded, else as soon as it is."""
    _lessons[name] = lesson
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):  # else it has no contents yet
        lesson(module)


def unpacked() -> Any:
    """For compiled code: the function whose stub is running, with its own code (packed_code.py)."""
    from sema_runtime.packed_code import unpacked_in

    return unpacked_in(sys._getframe(1))


sys.meta_path.insert(0, _Teacher())
for _name in [*_lessons]:
    when_loaded(_name, _teach)
