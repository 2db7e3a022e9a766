"""What a signature says of one call: whether values have the declared types, and who holds which container.

For scripts/check_signatures.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.lists import CACHED, EMPTY, List
from sema_runtime.values.maps import HashMap, Map
from sema_runtime.values.mutable import MutableArray, MutableCell
from sema_runtime.values.numbers import COMPLEX
from sema_runtime.values.records import Record
from semac.types.signatures import Function, Name, TypeExpr, Union, Variable, variables

KINDS: dict[type, str] = {
    type(None): "nil", bool: "bool", int: "int", float: "float", Fraction: "rational", str: "str", Keyword: "keyword",
    Symbol: "symbol", Char: "char", List: "list", tuple: "vector", Map: "map", HashMap: "hashmap",
    MutableArray: "array", bytes: "bytevector", bytearray: "bytevector", list: "python list", dict: "python dict",
    **dict.fromkeys(COMPLEX, "complex"),
}  # fmt: skip
MEMBERS = {
    "number": {"int", "float", "rational", "complex"}, "seq": {"list", "vector"}, "dict": {"map", "hashmap"},
}  # fmt: skip
CONTAINERS = {"list", "map", "hashmap", "array", "other"}  # those that may be fresh or not; vectors never change
FOREIGN = {"python list": {"list", "seq"}, "python dict": {"map", "dict"}}
CONVERTED = {"python list": "list", "python dict": "map"}  # as keys of maps
SAMPLE = 1000  # elements that are read of a list, which may be an endless range
Bindings = dict[str, list[Any]]


def kind(value: Any) -> str:
    """The name of the type of a value; "other" where the language of signatures has none."""
    return KINDS.get(type(value)) or ("fn" if callable(value) else "other")


def elements(value: Any) -> tuple[list[Any], ...]:
    """What a container holds, for each argument of its type: elements, or keys and values."""
    if isinstance(value, Map | dict):
        pairs = value.pairs() if isinstance(value, Map) else list(value.items())
        return [key for key, _ in pairs], [held for _, held in pairs]
    if type(value) is List:
        return (items_of(value),)
    if isinstance(value, tuple | list):
        return (list(value[:SAMPLE]),)
    return (value.items,) if type(value) is MutableArray else ()


def is_named(value: Any, name: str) -> bool:
    """Whether a value is of the type with this name, its elements aside."""
    found = kind(value)
    if name == "nat":
        return found == "int" and 0 <= value < 1 << 64
    if name == "flat":
        return found == "list" and value.flat is not None and getattr(value, "note", None) is not CACHED
    return (
        name == "any" or found == name or found in MEMBERS.get(name, ()) or (name == "fn" and callable(value))
    )  # fmt: skip


def items_of(value: List) -> list[Any]:
    """The first items of a list, read without leaving anything in its cells."""
    items: list[Any] = []
    while len(items) < SAMPLE:
        try:
            return items + list(_items_of(value)[: SAMPLE - len(items)])
        except AttributeError:
            items.append(value.car)
            value = value.cdr
    return items


_items_of: Callable[[List], Any] = List.items.__get__  # type: ignore[attr-defined]
_cdr_of: Callable[[List], Any] = List.cdr.__get__  # type: ignore[attr-defined]


# Types of arguments: variables are bound


def bind(value: Any, expr: TypeExpr, bindings: Bindings) -> bool:
    """Whether an argument has a type. Adds what its variables stand for.

    A function type says how the argument is called, not that it is one: `map` accepts any value for no elements.
    """
    if not isinstance(expr, Union):
        for letter in variables(expr):
            bindings.setdefault(letter, [])
    if isinstance(expr, Variable):
        bindings.setdefault(expr.letter, []).append(value)
        return True
    if isinstance(expr, Function):
        return True
    if isinstance(expr, Name):
        if expr.name in ("any", "fn"):
            return True
        if not is_named(value, expr.name) and expr.name not in FOREIGN.get(kind(value), ()):
            return False
        held = elements(value)
        return all(bind(item, inner, bindings) for inner, items in zip(expr.args, held, strict=False) for item in items)
    for part in sorted(expr.parts, key=_looseness):
        if isinstance(part, Function) and not callable(value):
            continue
        found: Bindings = {}
        if bind(value, part, found):
            for letter, values in found.items():
                bindings.setdefault(letter, []).extend(values)
            for other in expr.parts:
                if isinstance(part, Variable) and isinstance(other, Variable) and other != part:
                    bindings.setdefault(other.letter, []).append(value)
            return True
    return any(isinstance(part, Function) for part in expr.parts)


def bound_inside(value: Any, expr: TypeExpr) -> Bindings:
    """What the variables of a type stand for inside a container; a variable for the argument itself counts nothing."""
    found: Bindings = {}
    if isinstance(expr, Name):
        bind(value, expr, found)
    elif isinstance(expr, Union):
        for part in sorted(expr.parts, key=_looseness):
            if isinstance(part, Name) and bind(value, part, {}):
                bind(value, part, found)
                break
    return found


def _looseness(part: TypeExpr) -> int:
    return 2 if isinstance(part, Variable) else 1 if isinstance(part, Function) else 0


# Types of results: variables are bound already


def fits(value: Any, expr: TypeExpr, bindings: Bindings, unknown: set[str]) -> bool:
    """Whether a value has a type. unknown: variables of which nothing is known.

    An alternative of a union with a variable that no argument binds doesn't occur.
    """
    if isinstance(expr, Variable):
        return expr.letter in unknown or within(value, bindings.get(expr.letter, []))
    if isinstance(expr, Function):
        return callable(value)
    if isinstance(expr, Union):
        possible = [part for part in expr.parts if variables(part) <= bindings.keys()]
        return any(fits(value, part, bindings, unknown) for part in possible)
    if expr.name == "any" or not is_named(value, expr.name):
        return expr.name == "any"
    held = zip(expr.args, elements(value), strict=False)
    return all(fits(item, inner, bindings, unknown) for inner, items in held for item in items)


def within(value: Any, samples: list[Any]) -> bool:
    """Whether the type of a value is part of the join of the types of others."""
    found = CONVERTED.get(kind(value), kind(value))
    alike = [sample for sample in samples if CONVERTED.get(kind(sample), kind(sample)) == found]
    if not alike:
        return False
    if any(sample is value for sample in alike):
        return True
    for position, items in enumerate(elements(value)):
        joined = [inner for sample in alike for inner in elements(sample)[position]]
        if not all(within(item, joined) for item in items):
            return False
    return True


# Containers: which ones a value holds


def linked(value: List) -> list[Any]:
    """The cells of a list that are linked to its first one."""
    cells = []
    while True:
        try:
            value = _cdr_of(value)
        except AttributeError:
            return cells
        if value is EMPTY:
            return cells
        cells.append(value)


ATOMS = frozenset((*(cls for cls, name in KINDS.items() if name in {
    "nil", "bool", "int", "float", "rational", "str", "keyword", "symbol", "char", "complex"}), bytes))  # fmt: skip


def containers(values: Iterable[Any]) -> dict[int, Any]:
    """The containers, functions and other objects that values are or hold, by identity."""
    found: dict[int, Any] = {}
    todo = list(values)
    while todo:
        value = todo.pop()
        if type(value) in ATOMS or value is EMPTY or value == () or id(value) in found or _is_shared(value):
            continue
        found[id(value)] = value
        for items in elements(value):
            todo += items
        todo += _inside(value)
        for cell in (value, *linked(value)) if type(value) is List else (value,):
            storage = storage_of(cell)
            found[id(cell)] = cell
            if type(storage) in (list, dict):
                found[id(storage)] = storage
    return found


def _is_shared(value: Any) -> bool:
    """Functions and classes of a module, which anyone may hold."""
    if isinstance(value, type | BuiltinFunctionType):
        return True
    return isinstance(value, FunctionType) and value.__closure__ is None


def _inside(value: Any) -> list[Any]:
    """What an object that isn't a container of the language holds: the variables of a closure, attributes."""
    if type(value) in KINDS:
        return []
    if isinstance(value, FunctionType):
        if not value.__module__.startswith("sema_runtime."):
            return []  # of a program, or of these scripts
        return [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
    if isinstance(value, MethodType):
        return [value.__self__]
    slots = [name for cls in type(value).__mro__ for name in _slots(cls)]
    held = [getattr(value, name, None) for name in slots if not name.startswith("__")]
    return held + list(getattr(value, "__dict__", {}).values())


def _slots(cls: type) -> Iterable[str]:
    slots = cls.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else slots


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def frozen(value: Any, seen: frozenset[int] = frozenset()) -> Any:
    """What a value holds now, for comparing it with what it holds later."""
    if type(value) in ATOMS or id(value) in seen:
        return id(value)
    seen |= {id(value)}
    if type(value) is bytearray:
        return bytes(value)
    if type(value) is MutableCell:
        return id(value), frozen(value.value, seen)
    held = (value.sema_members(),) if isinstance(value, Record) else elements(value)
    return id(value), tuple(tuple(frozen(item, seen) for item in items) for items in held)


def storage_of(value: Any) -> Any:
    """The Python container in which a container has its contents; None for a linked list and for what has none.

    A list over a tuple or a range shares nothing that changes.
    """
    if type(value) is List:
        try:
            return _items_of(value)
        except AttributeError:
            return None
    if isinstance(value, Map):
        return value.d
    return value.items if type(value) is MutableArray else None


def is_fresh(result: Any) -> bool:
    """Whether nobody but the caller, in one variable, holds a container or its storage. Vectors never change."""
    if result is EMPTY or (sys.getrefcount(result) > OWN_REFERENCES and type(result) is not tuple):
        return False
    storage = storage_of(result)
    if storage is None and type(result) is List:
        return all(sys.getrefcount(cell) <= CELL_REFERENCES for cell in linked(result))
    return type(storage) not in (list, dict) or sys.getrefcount(storage) <= STORAGE_REFERENCES


OWN_REFERENCES = 3  # the caller's variable, the parameter, the argument of getrefcount
STORAGE_REFERENCES = 3  # the container, the variable, the argument of getrefcount
CELL_REFERENCES = 4  # the cell before it, the list of cells, the loop's variable, the argument of getrefcount
