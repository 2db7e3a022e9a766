"""Checks keys of maps: a key must not be a mutable container or hold one."""

from __future__ import annotations

from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.errors import type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import ATOMIC, Map, stored
from sema_runtime.values.mutable import MutableArray, MutableCell
from sema_runtime.values.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KEYS = frozenset((str, int, Keyword, Symbol, Char, bool, float, type(None), bytes))  # surely immutable


def map_literal(pairs: list[tuple[Any, Any]]) -> Map:
    """The map of `{...}` with computed keys and values."""
    return Map({key if type(key) in ATOMIC else assoc_key(key, ""): value for key, value in pairs})


def check_key(key: Any, function: str = "") -> None:
    """Raises `expected immutable map key` for a mutable container and for a value that holds one."""
    if type(key) in KEYS:
        return
    if type(key) is tuple:
        for item in key:
            if type(item) not in KEYS:
                break
        else:
            return
    elif type(key) is List and KEYS.issuperset(map(type, key.items)):
        return
    if _is_mutable(key):
        who = f"{function}: " if function else ""
        type_error("immutable map key", key, f"{who}freeze the key first (mutable-array/->vector or mutable-cell/get)")


def assoc_key(key: Any, function: str = "assoc") -> Any:
    """The dict key under which `assoc` stores something in a raw dict. Raises as `check_key` does."""
    if type(key) in ATOMIC:
        return key
    if type(key) is tuple:
        for item in key:
            if type(item) not in ATOMIC:
                break
        else:
            return key
    elif type(key) is List and ATOMIC.issuperset(map(type, key.items)):
        return key
    check_key(key, function)
    return stored(key)


def _is_mutable(value: Any) -> bool:
    todo = [value]
    while todo:
        value = todo.pop()
        kind = type(value)
        if kind in KEYS:
            continue
        if kind is MutableArray or kind is MutableCell:
            return True
        if kind is List or kind is tuple:
            todo += value
        elif isinstance(value, Map):
            for pair in value.pairs():
                todo += pair
        elif isinstance(value, Record):
            todo += value.sema_members()
    return False
