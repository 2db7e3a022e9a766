"""Values that nothing can change: what a pulled task may read whenever it runs (`tasks/pulled.py`)."""

from __future__ import annotations

import sys

from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

ATOMS = frozenset((int, float, complex, bool, type(None), str, bytes, Char, Keyword, Symbol))


def is_still(value: Any) -> bool:
    """Whether a value is an atom, or a list, vector, map or record of such values only."""
    stack: list[Iterable[Any]] = [(value,)]
    while stack:
        items = stack.pop()
        for kind in set(map(type, items)) - ATOMS:
            if kind is not tuple and kind is not List and kind is not Map and not issubclass(kind, (Record, *ratio())):
                return False
        stack += [parts(item) for item in items if type(item) not in ATOMS]
    return True


def ratio() -> tuple[type, ...]:
    """The class of ratios, once there are any: nothing else needs the module that has it."""
    module = sys.modules.get("fractions")
    return () if module is None else (module.Fraction,)


def parts(value: Any) -> Iterable[Any]:
    """What a container of such values holds."""
    if type(value) is List:
        return value.items
    if type(value) is Map:
        return [part for pair in value.pairs() for part in pair]
    if type(value) is tuple:
        return value
    return value.sema_members() if isinstance(value, Record) else ()  # type: ignore[no-any-return]
