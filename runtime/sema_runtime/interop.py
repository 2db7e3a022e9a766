"""The API for Python code that works with Sema programs: value types, errors, and conversions both ways.

    from sema_runtime.interop import keyword, to_python, to_sema

    shop.total(to_sema({"items": [{"price": 3}]}))
    json.dumps(to_python(shop.report()))
    await run(shop.ask, "price?")                # the function's waits don't block the asyncio loop

Functions of Sema modules take Python lists, tuples and dicts as they are; conversion is for data whose keys or types
should be Sema's own. docs/reference/python-interop.md has the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence, Set
from fractions import Fraction
from typing import Any, ParamSpec, TypeVar

from sema_runtime.values.atoms import Char, Keyword, Symbol, char, keyword, symbol
from sema_runtime.values.errors import SemaError, Thrown
from sema_runtime.values.lists import List, cons
from sema_runtime.values.maps import HashMap, Map
from sema_runtime.values.mutable import MutableArray, MutableCell
from sema_runtime.values.numbers import Complex, rational
from sema_runtime.values.records import Record, Values
from sema_runtime.values.typed_arrays import TypedArray

__all__ = [
    "Char", "HashMap", "Keyword", "List", "Map", "Record", "SemaError", "Symbol", "Thrown",
    "asynchronous", "char", "cons", "keyword", "run", "symbol", "to_python", "to_sema",
]  # fmt: skip

P = ParamSpec("P")
T = TypeVar("T")

SAME = frozenset((type(None), bool, int, float, str, bytes))  # one type for both languages
LISTS = (List, tuple, list, MutableArray, TypedArray)


# Coroutines


async def run(function: Callable[P, T], /, *args: P.args, **keywords: P.kwargs) -> T:
    """The result of a Sema function, run as a task of the asyncio loop that awaits it.

    While the function waits (for models, HTTP, timers, channels, other tasks) the loop is free; no thread is used. It
    sees and sets the context variables of the coroutine. Cancelling the coroutine raises a :cancelled condition where
    the function waits; its errors are raised as by a plain call.
    """
    from sema_runtime.tasks import call

    return await call(function, *args, **keywords)  # type: ignore[no-any-return]


def asynchronous(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The coroutine function of a Sema function: `ask = asynchronous(shop.ask)`, then `await ask("price?")`."""
    from functools import wraps

    @wraps(function)
    async def coroutine(*args: P.args, **keywords: P.kwargs) -> T:
        return await run(function, *args, **keywords)

    return coroutine


# Sema → Python


def to_python(value: Any) -> Any:
    """Plain Python data for a Sema value, all the way down: what `json.dumps` takes, where JSON has a word for it.

    list, vector, array → list; map, record → dict; keyword, symbol, char → str; rational → float; mutable cell → what
    it holds. Names lose their colon; keys of other types than str, int, float, bool, None become tuples or stay. bytes,
    complex, functions and objects of Python come back as they are. Raises SemaError when two keys of a map become one
    (`:a` beside `"a"`).
    """
    kind = type(value)
    if kind in SAME:
        return value
    if kind is Keyword or kind is Symbol:
        return value.name
    if kind is Char:
        return value.value
    if kind is Fraction:
        return float(value)
    if isinstance(value, LISTS):
        return [to_python(item) for item in value]
    if kind is Values:
        return [to_python(item) for item in value.items]
    if isinstance(value, Map | dict):
        return _python_dict(_entries(value))
    if isinstance(value, Record):
        return _python_dict(list(zip(value.sema_fields, value.sema_members(), strict=True)))
    if kind is MutableCell:
        return to_python(value.value)
    return complex(value) if kind is Complex else value


def _python_dict(entries: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    converted = {python_key(key): to_python(item) for key, item in entries}
    if len(converted) == len(entries):
        return converted
    seen: dict[Any, Any] = {}
    for key, _ in entries:
        other = seen.setdefault(python_key(key), key)
        if other is not key:
            raise SemaError(f"to Python: the keys {other!r} and {key!r} of a map would become one")
    raise AssertionError("two equal keys in a map")


def python_key(key: Any) -> Any:
    """The dict key for a key of a map."""
    if isinstance(key, List | tuple):
        return tuple(python_key(item) for item in key)
    return tuple(to_python(key).items()) if isinstance(key, Map) else to_python(key)


# Python → Sema


def to_sema(value: Any, keywords: bool = True) -> Any:
    """Sema data for a Python value, all the way down.

    list, other sequence, set, iterator → list (an iterator is used up, a set comes sorted where that is possible);
    tuple → vector; dict, other mapping, instance of a dataclass → map; array and matrix (`tolist`) → lists; bytes-likes
    → bytevector; numbers of whatever library → int, float, rational, complex. keywords: whether keys that are strings
    become keywords, as they do in `json/decode`. Other objects come back as they are, Sema values too.
    """
    kind = type(value)
    if kind in SAME or isinstance(value, Keyword | Symbol | Char):
        return value
    if kind is dict or isinstance(value, Mapping):
        return _sema_map(value, keywords)
    if isinstance(value, tuple):
        return tuple([to_sema(item, keywords) for item in value])
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, Sequence | Iterator) and not hasattr(value, "tolist"):
        return List([to_sema(item, keywords) for item in value])
    if isinstance(value, Set):
        return List([to_sema(item, keywords) for item in _ordered(value)])
    return _sema_object(value, keywords)


def _sema_map(value: Mapping[Any, Any], keywords: bool) -> Map:
    kind = HashMap if isinstance(value, HashMap) else Map
    return kind.of((_sema_key(key, keywords), to_sema(item, keywords)) for key, item in _entries(value))


def _entries(value: Map | Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    return value.pairs() if isinstance(value, Map) else list(value.items())


def _sema_key(key: Any, keywords: bool) -> Any:
    return keyword(key) if keywords and isinstance(key, str) else to_sema(key, keywords)


def _ordered(values: Set[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return list(values)


def _sema_object(value: Any, keywords: bool) -> Any:
    """A number of some library, an array, an instance of a dataclass; anything else stays."""
    from dataclasses import fields, is_dataclass
    from numbers import Complex as AnyComplex
    from numbers import Integral, Rational, Real

    if isinstance(value, type) or type(value) is Complex:
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Rational):
        return rational(Fraction(int(value.numerator), int(value.denominator)))
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, AnyComplex):
        number = complex(value)
        return Complex(number.real, number.imag)
    if hasattr(value, "tolist"):
        return to_sema(value.tolist(), keywords)
    if is_dataclass(value):
        return _sema_map({field.name: getattr(value, field.name) for field in fields(value)}, keywords)
    return value
