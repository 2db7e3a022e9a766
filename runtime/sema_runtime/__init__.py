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
        while frame is not None and (
            frame.f_code.co_filename.startswith("<frozen importlib") or frame.f_globals is globals()
        ):
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


def parts(names: tuple[str, ...], keywords: tuple[str, ...] = ()) -> list[Any]:
    """For compiled code: what it imports of the runtime, and then keywords.

    names: the names of modules without `sema_runtime`, which begin with a point, each followed by names of what it has.
    Raises ImportError.
    """
    values: list[Any] = []
    module: Any = None
    for name in names:
        if name[0] == ".":
            name = __name__ + name
            module = sys.modules.get(name)
            if module is None or getattr(module.__spec__, "_initializing", False):
                __import__(name)
                module = sys.modules[name]
        else:
            try:
                values.append(getattr(module, name))
            except AttributeError:
                raise ImportError(f"cannot import name {name!r} from {module.__name__!r}") from None
    if keywords:
        from sema_runtime.values.atoms import keyword

        values += map(keyword, keywords)
    return values


def stubs(entries: tuple[Any, ...]) -> list[Any]:
    """For compiled code: functions that unpack their own code when they are called (packed_code.py).

    entries: a mark, then name, line and parameters of each function; or its code, where it was unpacked before.
    """
    frame = sys._getframe(1)
    namespace, file = frame.f_globals, frame.f_code.co_filename
    functions = []
    for entry in entries[1:]:
        code = entry
        if type(entry) is tuple:
            name, params = entry[0], entry[2:]
            code = _CALLS[len(params)].replace(
                co_name=name, co_qualname=name, co_firstlineno=entry[1], co_varnames=params, co_filename=file
            )
        functions.append(_FUNCTION(code, namespace))
    return functions


_FUNCTION: Any = type(stubs)
_CALLS = [
    call.__code__
    for call in (  # each on one line, which is that of the function
        lambda: __sema_unpacked__()(),  # type: ignore[name-defined]  # noqa: F821  # a global of the compiled module
        lambda a: __sema_unpacked__()(a),  # type: ignore[name-defined]  # noqa: F821
        lambda a, b: __sema_unpacked__()(a, b),  # type: ignore[name-defined]  # noqa: F821
        lambda a, b, c: __sema_unpacked__()(a, b, c),  # type: ignore[name-defined]  # noqa: F821
        lambda a, b, c, d: __sema_unpacked__()(a, b, c, d),  # type: ignore[name-defined]  # noqa: F821
        lambda a, b, c, d, e: __sema_unpacked__()(a, b, c, d, e),  # type: ignore[name-defined]  # noqa: F821
    )
]

sys.meta_path.insert(0, _Teacher())
for _name in [*_lessons]:
    when_loaded(_name, _teach)
