"""What binds modules to the extensions that hold their native functions (semac/native), at run time.

A module that is linked with an extension calls `link` first, and gets `bind`, which it calls with the number of each
statement after which functions can be bound, `made`, which sees each lambda of its top level, and `direct`, which gives
what the top level calls in place of a function. An extension serves
the first namespace that asks; where it can't be loaded nothing is bound, and Python code runs.
"""

from __future__ import annotations

import _frozen_importlib_external as bootstrap  # what importlib.machinery wraps; loaded in every process
import _imp
import os
import sys
from _frozen_importlib import ModuleSpec
from itertools import chain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import CodeType, FrameType
    from typing import Any

    Call = tuple[CodeType, dict[str, Any], int, int | None]  # code, globals, instruction, line
    Bind = Callable[[int], None]
    Made = Callable[[int, Any], Any]
    # Of a function: its index, its name, the statement that binds it (-1: of a lambda), the globals that it needs, the
    # code objects inside of its own, by where they go; the place of the function itself, whether it has an entry; its
    # line and the digest of its bytecode.
    Needs = tuple[tuple[int, str], ...]
    Codes = tuple[tuple[int, tuple[int, ...]], ...]
    Row = tuple[int, str, int, Needs, Codes, int, bool, int, bytes]

FAILED: Any = type("Failed", (), {"__slots__": ()})()  # what a native function answers for: Python code is to run
PREFIX = "__sema_native_"
FUNCTION = type(lambda: None)
KNOWN = (  # what the C of extensions knows of the runtime (semac/native/c/more.h has the same order)
    ("values.lists", "List"), ("values.maps", "Map"), ("values.maps", "HashMap"), ("values.mutable", "MutableArray"),
    ("values.atoms", "Keyword"), ("values.atoms", "Symbol"), ("values.atoms", "Char"), ("values.maps", "MovedDict"),
    ("lib.language.multimethods", "MultiMethod"), ("values.lists", "EMPTY"), ("values.atoms", "CHARS"),
    ("values.atoms", "KEYWORDS"), ("values.lazy_dicts", "take"), ("values.lazy_dicts", "let_go"),
    ("values.maps", "stored"), ("values.errors", "ThrownMap"), ("conditions.caught", "TYPE"),
    ("conditions.caught", "VALUE"), ("conditions.caught", "USER"),
)  # fmt: skip

_shared: Any = None  # what all extensions share
_linked: set[str] = set()  # the names of the extensions in use
_calls: Callable[[FrameType], Sequence[Call]] | None = None


def wanted() -> bool:
    """Whether native functions may run: not where a debugger or coverage follows lines of Python."""
    return os.environ.get("SEMA_NATIVE") != "0" and sys.gettrace() is None


def load(name: str, path: str) -> Any:
    """The module of an extension; None where it can't be used."""
    module = sys.modules.get(name)
    if module is not None or not wanted():
        return module
    try:
        loader = bootstrap.ExtensionFileLoader(name, path)
        module = loader.create_module(ModuleSpec(name, loader, origin=path))
        loader.exec_module(module)
    except Exception:
        return None
    sys.modules[name] = module
    return module


def link(namespace: dict[str, Any], name: str, path: str, entries: tuple[str, ...]) -> tuple[Bind, Made, Made]:
    """Loads an extension for a module; gives `bind`, `made` and `direct`.

    path: of the extension; a relative one starts in the folder of the module. entries: the functions that begin with a
    call of their native twins.
    """
    for entry in entries:
        namespace[PREFIX + entry] = never
    place = os.path.join(os.path.dirname(str(namespace.get("__file__", ""))), path)
    extension = load(name, place) if name not in _linked else None
    if extension is None:
        return nothing, unchanged, unchanged
    _linked.add(name)
    from marshal import loads

    *facts, rows = loads(extension.sema_plan())
    begin(extension, namespace, *facts)
    places: dict[int, list[Row]] = {}
    for row in rows:
        places.setdefault(row[2], []).append(row)
    lambdas = {row[0]: row for row in places.pop(-1, ())}

    bound: dict[int, Any] = {}

    def bind(place: int) -> None:
        for row in places.get(place, ()):
            function = namespace.get(row[1])
            if type(function) is FUNCTION and filled(extension, namespace, row, function):
                bound[row[0]] = function
                if row[6]:
                    namespace[PREFIX + row[1]] = getattr(extension, f"e_{row[0]}")

    def direct(index: int, function: Any) -> Any:
        return getattr(extension, f"c_{index}") if bound.get(index) is function else function

    def made(index: int, function: Any) -> Any:
        if index in lambdas and type(function) is FUNCTION:
            filled(extension, namespace, lambdas[index], function)
        return function

    return bind, made, direct


def begin(extension: Any, namespace: dict[str, Any], values: Any, names: Any, builtins: Any, objects: Any) -> None:
    """Gives an extension what it is built on."""
    global _shared, _calls
    import builtins as python

    known = tuple(getattr(sys.modules.get(f"sema_runtime.{module}"), attribute, None) for module, attribute in KNOWN)
    from importlib import import_module

    trampolines = import_module("sema_runtime.values.functions").TRAMPOLINES
    missing = import_module("sema_runtime.values.equality").MISSING
    found = tuple(getattr(python, each) for each in builtins)
    ours = tuple(getattr(import_module(module), name) for module, name in objects)
    interned = tuple(map(sys.intern, names))
    _shared = extension.sema_begin(
        _shared, namespace, values, interned, found, ours, known, (FAILED, breathe, trampolines, missing)
    )
    _calls = extension.sema_calls


def filled(extension: Any, namespace: dict[str, Any], row: Row, function: Any) -> bool:
    """Binds a function; false where a global that it needs isn't there."""
    index, _, _, needs, codes, slot, _, line, digest = row
    code = function.__code__
    if code.co_firstlineno != line or code_digest(code.co_code) != digest:  # another text than was compiled
        return False
    if any(name not in namespace for _, name in needs):
        return False
    for at, name in needs:
        extension.sema_fill(at, namespace[name])
    for at, path in codes:
        extension.sema_fill(at, code_at(code, path))
    extension.sema_fill(slot, function)
    extension.sema_take(index, function)
    return True


def code_digest(code: bytes) -> bytes:
    return bytes(_imp.source_hash(0, code))


def code_at(code: CodeType, path: tuple[int, ...]) -> CodeType:
    """The code object inside another, by the indexes of constants."""
    for index in path:
        code = code.co_consts[index]
    return code


def never(*_: Any) -> Any:
    """Stands for a native function that isn't bound."""
    return FAILED


def nothing(_: int) -> None:
    """Stands for `bind` without an extension."""


def unchanged(_: int, function: Any) -> Any:
    """Stands for `made` without an extension."""
    return function


def breathe() -> None:
    """A call of Python code, which lets signals and other threads have their turn."""


def enters_natively(frame: FrameType) -> bool:
    """Whether what runs was not called by a frame of Python itself, but by native functions that it has called."""
    return _calls is not None and bool(_calls(frame))


def calls_around(frame: FrameType) -> Iterator[Call]:
    """The calls around a frame that runs, innermost first, with those of native functions. Lines follow from the
    instructions."""
    outer = frame.f_back
    while outer is not None:
        if _calls is not None:
            yield from _calls(outer)
        yield outer.f_code, outer.f_globals, outer.f_lasti, None
        outer = outer.f_back


def callers_of(frame: FrameType) -> Iterator[Call]:
    """The calls around a frame, innermost first. A frame that stands for a native function in a traceback has no
    callers of its own: they are those of the native function, while it runs."""
    if frame.f_back is not None or _calls is None:
        return calls_around(frame)
    code = frame.f_code
    entered: FrameType | None = sys._getframe(1)  # this function's own would be part of what refers to it: a cycle
    while entered is not None:
        if calls := _calls(entered):
            for at, call in enumerate(calls):
                if call[0] is code:
                    entry = entered.f_code, entered.f_globals, entered.f_lasti, None
                    return chain(calls[at + 1 :], (entry,), calls_around(entered))
        entered = entered.f_back
    return iter(())
