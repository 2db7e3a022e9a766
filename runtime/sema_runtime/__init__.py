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


def parts(names: tuple[Any, ...], keywords: tuple[Any, ...] = (), packed: object = None) -> None:
    """For compiled code: sets the globals that it has of the runtime, and then keywords.

    names: modules, as letters (MODULES) or as names without `sema_runtime`, which begin with a point, each followed by
    names of what it has, or pairs of such a name and that of the global. keywords: names of globals from which those of
    the keywords can be told, or pairs of these. packed: what stubs unpack (packed_code.py).
    Raises ImportError.
    """
    namespace = sys._getframe(1).f_globals
    module: Any = None
    for name in names:
        if name in MODULES or name[0] == ".":
            name = __name__ + MODULES.get(name, name)
            module = sys.modules.get(name)
            if module is None or getattr(module.__spec__, "_initializing", False):
                __import__(name)
                module = sys.modules[name]
            continue
        own, name = (name, name) if type(name) is str else name
        try:
            namespace[name] = getattr(module, own)
        except AttributeError:
            raise ImportError(f"cannot import name {own!r} from {module.__name__!r}") from None
    if keywords:
        from sema_runtime.values.atoms import keyword

        for name in keywords:
            text, name = (keyword_text(name), name) if type(name) is str else name
            namespace[name] = keyword(text)
    if packed is not None:
        namespace["__sema_packed__"] = packed
        namespace["__sema_unpacked__"] = unpacked


def keyword_text(name: str) -> str:
    """What a keyword is called whose global has the name that most have: `kw_first_name` for `:first-name`."""
    return name[3:].replace("_", "-")


def stubs(entries: tuple[Any, ...]) -> None:
    """For compiled code: sets globals to functions that unpack their own code when they are called (packed_code.py).

    entries: a mark, then name, line and parameters of each function; or its code, where it was unpacked before.
    """
    frame = sys._getframe(1)
    namespace, file = frame.f_globals, frame.f_code.co_filename
    for entry in entries[1:]:
        code = entry
        if type(entry) is tuple:
            name, params = entry[0], entry[2:]
            code = _CALLS[len(params)].replace(
                co_name=name, co_qualname=name, co_firstlineno=entry[1], co_varnames=params, co_filename=file
            )
        namespace[code.co_name] = _FUNCTION(code, namespace)


# Modules of which much compiled code has something, by letter. A letter keeps its module: compiled code has it.
MODULES = {
    "A": ".lib.numbers.arithmetic", "B": ".lib.numbers.sums", "C": ".lib.collections.lists",
    "D": ".lib.collections.maps", "E": ".conditions.caught", "F": ".values.functions", "G": ".lib.collections.hofs",
    "H": ".lib.tasks.channels", "I": ".lib.numbers.math", "J": ".tasks.steps", "K": ".values.map_keys",
    "L": ".values.lists", "M": ".values.maps", "N": ".lib.numbers.convert", "O": ".lib.language.output",
    "P": ".lib.language.predicates", "Q": ".support.counting", "R": ".values.records", "S": ".lib.text.strings",
    "T": ".values.atoms", "U": ".values.lookup", "V": ".values.matching", "W": ".lib.text.chars",
    "X": ".tasks.callbacks", "Y": ".values.errors", "Z": ".lib.language.control",
    "a": ".lib.collections.list_sets", "b": ".lib.collections.list_slices", "c": ".lib.collections.map_entries",
    "d": ".lib.collections.mutable", "e": ".lib.collections.owned_maps", "f": ".lib.files.files",
    "g": ".lib.collections.records", "h": ".lib.collections.restored", "i": ".lib.numbers.math_functions",
    "j": ".lib.data.json", "k": ".lib.language.multimethods", "l": ".lib.collections.sorting",
    "m": ".values.mutable", "n": ".values.numbers", "o": ".lib.tasks.concurrency", "p": ".lib.text.padding",
    "q": ".values.equality", "r": ".lib.numbers.integers", "s": ".lib.text.search", "t": ".lib.text.case",
    "u": ".lib.collections.vectors", "v": ".conditions.describe", "w": ".tasks.pulled",
}  # fmt: skip
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
