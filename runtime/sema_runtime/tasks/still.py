"""Values that nothing can change, functions without effects among them: what a pulled task may read and call whenever
it runs (`tasks/pulled.py`).

The compiler marks functions that are silent by themselves (`semac/optimize/steps/silent.py`): their code has a constant
with the names of the globals that they read, which must be such values, too, as must what they have of the variables
around them.
"""

from __future__ import annotations

import sys

from sema_runtime.tasks.channels import TAKEN, Channel
from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.naming import SILENT
from sema_runtime.values.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

FEW = 200
ATOMS = frozenset((int, float, complex, bool, type(None), str, bytes, Char, Keyword, Symbol))


def function() -> None:
    """A function, for its type."""


CONTAINERS = frozenset((tuple, List, Map, type(function)))
UNKNOWN = object()  # in place of what makes a value one that can change


def is_still(value: Any) -> bool:
    """Whether a value is an atom or a silent function, or a list, vector, map or record of such values only."""
    if type(value) in ATOMS:
        return True
    stack: list[Iterable[Any]] = [(value,)]
    seen: set[Any] = set()
    while stack:
        items = stack.pop()
        if not set(map(type, items)) - ATOMS:
            continue
        for item in items:
            kind = type(item)
            if kind in ATOMS or (kind is type(function) and item in seen):
                continue
            if kind not in CONTAINERS and not issubclass(kind, (Record, *ratio())):
                return False
            if kind is type(function):
                seen.add(item)
            stack.append(parts(item))
    return True


def are_still_and_few(values: Sequence[Any]) -> bool:
    """Whether values consist of few parts: atoms, silent functions, channels with pulled senders, and lists, vectors,
    maps and records of them."""
    stack = list(values)
    left = FEW
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind in ATOMS:
            continue
        left -= 1
        if left < 0:
            return False
        if kind is Channel:
            if item.source is None or item.source is TAKEN:
                return False
        elif kind is List and item.next is not None:  # a linked list isn't made flat for this
            stack += (item.car, item.next)
        elif (kind not in CONTAINERS and not issubclass(kind, (Record, *ratio()))) or (
            hasattr(kind, "__len__") and len(item) > FEW
        ):
            return False
        else:
            stack += parts(item)
    return True


def ratio() -> tuple[type, ...]:
    """The class of ratios, once there are any: nothing else needs the module that has it."""
    module = sys.modules.get("fractions")
    return () if module is None else (module.Fraction,)


def parts(value: Any) -> Iterable[Any]:
    """What a value holds, or reads."""
    if type(value) is List:
        return value.items
    if type(value) is Map:
        return [part for pair in value.pairs() for part in pair]
    if type(value) is tuple:
        return value
    if type(value) is type(function):
        return read_by(value)
    return value.sema_members() if isinstance(value, Record) else ()


def read_by(function: Any) -> list[Any]:
    """The values of the variables that a function reads."""
    marks = [mark for mark in function.__code__.co_consts if type(mark) is tuple and mark[:1] == (SILENT,)]
    if not marks or function.__defaults__ or function.__kwdefaults__:
        return [UNKNOWN]
    read = [function.__globals__.get(name, UNKNOWN) for name in marks[-1][1:]]
    for cell in function.__closure__ or ():
        try:
            read.append(cell.cell_contents)
        except ValueError:  # it has no value yet
            read.append(UNKNOWN)
    return read
