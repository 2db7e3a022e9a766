"""Reads the collection arguments of builtins, and raises the errors for other values.

Builtins test the common case inline (`x.flat or x.items if type(x) is List else elements(x, "take")`).
"""

from __future__ import annotations

from _collections_abc import Mapping
from _operator import countOf  # without what `operator` is in Python: 0.2 ms of an import

from sema_runtime.values.atoms import KEYWORDS, Keyword, foreign_entry, keyword
from sema_runtime.values.errors import SemaError, SemaTypeError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import ATOMIC, HashMap, Map
from sema_runtime.values.mutable import MutableArray
from sema_runtime.values.typenames import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, NoReturn

INT_LIMIT = 1 << 63
TEXTS = (str, bytes, bytearray, memoryview)  # sequences to Python only


def seq(value: Any, hint: str | None = None) -> Sequence[Any]:
    """The items of a list or vector. Raises `expected list or vector`."""
    if type(value) is List:
        return value.flat or value.items
    if type(value) is list or isinstance(value, (tuple, list)):
        return value
    items = foreign_items(value)
    if items is None:
        type_error("list or vector", value, hint)
    return items


def after_first(collection: Any) -> Sequence[Any]:
    """The items of `(cdr collection)`, for loops, which need no list of them."""
    kind = type(collection)
    if kind is List:
        return (collection.flat or collection.items)[1:]  # type: ignore[no-any-return]
    return (collection if kind is tuple or kind is list else seq(collection))[1:]


def foreign_items(value: Any) -> list[Any] | None:
    """The items of anything of Python that iterates: a range, a set, a generator, a file, an array, a row of a table.

    None for values of Sema, mappings, texts and classes, and for what doesn't iterate. An iterator is used up.
    """
    kind = type(value)
    if not hasattr(kind, "__iter__") or is_sema(kind) or isinstance(value, (Mapping, *TEXTS)):
        return None
    return list(value)


def is_sema(kind: type) -> bool:
    """Whether values of a type are Sema's own, or stand for such."""
    return kind in NAMES or hasattr(kind, "type_name") or issubclass(kind, type)


def foreign_lookup(value: Any, key: Any, default: Any = None) -> Any:
    """The value of a Python mapping under key. A keyword also finds the string of its name, the usual kind of key."""
    if type(key) in ATOMIC:
        return value.get(key, default) if type(key) is not Keyword else foreign_entry(value, key, default)
    if type(key) is tuple and isinstance(value, dict) and all(type(item) in ATOMIC for item in key):
        return value.get(key, default)
    return mapping(value).lookup(key, default)


def foreign_size(value: Any) -> int | None:
    """The length of anything of Python that has one or iterates; None for anything else."""
    kind = type(value)
    if is_sema(kind) or isinstance(value, TEXTS):
        return None
    if hasattr(kind, "__len__"):
        return len(value)
    items = foreign_items(value)
    return None if items is None else len(items)


def elements(value: Any, function: str) -> Sequence[Any]:
    """The items of a list, vector or mutable array (those it has now), for a function that iterates over them."""
    if type(value) is List:
        return value.flat or value.items
    if type(value) is list or isinstance(value, (tuple, list)):
        return value
    if type(value) is MutableArray:
        return list(value.items)
    items = foreign_items(value)
    if items is not None:
        return items
    from sema_runtime.values.typenames import type_name

    raise SemaTypeError(
        "list, vector, or mutable-array",
        f"{type_name(value)} in {function}",
        f"{function}: expected a list, vector, or mutable-array to iterate over",
    )


def mapping(value: Any, hint: str | None = None) -> Map:
    """A map or hashmap; a mapping of Python becomes a map. Raises `expected map or hashmap`."""
    kind = type(value)
    if kind is Map or kind is HashMap:
        return value  # type: ignore[no-any-return]
    if kind is dict and ATOMIC.issuperset(map(type, value)):
        return Map(value.copy())
    if isinstance(value, Map):
        return value
    if isinstance(value, Mapping):
        return Map.of(value.items())
    type_error("map or hashmap", value, hint)


def changing(value: Any, key: Any, hint: str | None = None) -> Map:
    """The map in which the value of a key is to be replaced. A keyword finds the string of its name in a mapping of
    Python, so one that is changed under a keyword has keywords in place of its strings."""
    kind = type(value)
    if kind is Map or kind is HashMap or type(key) is not Keyword:
        return mapping(value, hint)
    if kind is dict:
        try:
            named: dict[Any, Any] = {}
            for each in value:  # a comprehension is a call, which takes longer than most dicts have entries
                named[KEYWORDS[each]] = value[each]
            return Map(named)
        except (KeyError, TypeError):  # no strings, or no names that a program has
            pass
    if isinstance(value, Map) or not isinstance(value, Mapping):
        return mapping(value, hint)
    keyed = Map.of((keyword(each) if type(each) is str else each, item) for each, item in value.items())
    return keyed.merged(Map.of((each, item) for each, item in value.items() if type(each) is Keyword))


def first_keyword(keys: Iterable[Any]) -> Any:
    """The first of some keys that is a keyword; None where none is."""
    return next((key for key in keys if type(key) is Keyword), None)


def in_text_order(value: Any) -> list[str] | None:
    """The sorted keys of a dict of Python whose keys are strings; None for any other value."""
    return sorted(value) if type(value) is dict and countOf(map(type, value), str) == len(value) else None


def size(value: Any, function: str) -> int:
    """A count or an index: an int of at most 64 bits that isn't negative."""
    count = whole(value, f"{function}: argument must be an integer")
    if count < 0:
        raise SemaError(f"{function}: expected a non-negative integer, got {count}", "pass 0 or a positive integer")
    return count


def whole(value: Any, hint: str | None = None) -> int:
    """An int of at most 64 bits. Raises `expected int`."""
    if type(value) is not int or not -INT_LIMIT <= value < INT_LIMIT:
        type_error("int", value, hint)
    return value


def not_callable(function: Any) -> NoReturn:
    """Raises `expected callable, got X`."""
    type_error("callable", function)


def items_for(function: Any, collection: Any, name: str) -> Sequence[Any]:
    """The items of a collection for a builtin that calls function on each. Without items, function isn't checked."""
    items = collection.flat or collection.items if type(collection) is List else elements(collection, name)
    if not callable(function) and items:
        not_callable(function)
    return items
