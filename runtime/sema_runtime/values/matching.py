"""Functions of emitted code for destructuring, `match`, and iteration in inlined `map` and similar builtins."""

from __future__ import annotations

from _collections_abc import Mapping

from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError, SemaTypeError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import HashMap, Map, stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def truthy(value: Any) -> bool:
    """Whether a value counts as true: all but None and False do. For Python that people read."""
    return value is not None and value is not False


def sequence_items(value: Any) -> Any:
    """The items of a list or vector, None for anything else."""
    if type(value) is tuple:
        return value
    if type(value) is List:
        return value.flat or value.items
    return value if isinstance(value, (list, tuple)) else None


def map_entries(value: Any) -> Any:
    """The dict of stored keys of a map, None for anything else."""
    if type(value) is Map or type(value) is HashMap:
        return value.pinned()
    return _python_entries(value) if isinstance(value, dict) else None


def _python_entries(value: Mapping[Any, Any]) -> dict[Any, Any]:
    """The entries of a mapping of Python. A pattern's keyword also finds the string of its name."""
    entries = {keyword(key): item for key, item in value.items() if isinstance(key, str)}
    entries.update((stored(key), item) for key, item in value.items())
    return entries


def destructure(value: Any, count: int) -> Any:
    """Exactly count items of a list or vector."""
    items = value if type(value) is tuple else sequence_items(value)
    if items is None:
        items = _items_or_error(value)
    if len(items) != count:
        raise SemaError(f"destructure: expected {count} elements, got {len(items)}")
    return items


def destructure_rest(value: Any, count: int) -> Any:
    """At least count items of a list or vector."""
    items = value if type(value) is tuple else sequence_items(value)
    if items is None:
        items = _items_or_error(value)
    if len(items) < count:
        raise SemaError(f"destructure: expected at least {count} elements before `&`, got {len(items)}")
    return items


def destructure_map(value: Any) -> Any:
    """The dict of stored keys of a map."""
    entries = map_entries(value)
    if entries is None:
        if not isinstance(value, Mapping):
            type_error("map or hashmap", value)
        entries = _python_entries(value)
    return entries


def _items_or_error(value: Any) -> Any:
    """The items of another sequence of Python. Raises `expected list or vector` for anything else."""
    from sema_runtime.values.sequences import seq

    return seq(value)


def malformed(message: str, hint: str | None = None) -> NoReturn:
    """Raises the error of a malformed pattern; called when a value reaches its malformed part."""
    raise SemaError(message, hint)


def no_match(value: Any, advice: str = "") -> SemaError:
    """The error of a `match` without a matching clause. advice: what the compiler found wrong with its patterns."""
    from sema_runtime.values.printer import to_text

    hint = "add a catch-all `(_ ...)` clause, or use `match*` to return nil on no match"
    return SemaError(f"match: no clause matched value: {to_text(value)}", f"{hint}; {advice}" if advice else hint)


def iterate(value: Any, who: str) -> Any:
    """The items of a list, vector or mutable array, to loop over. who: the builtin that loops."""
    if type(value) is List:
        return value.flat or value.items
    if type(value) is tuple or type(value) is list:
        return value
    return _other_items(value, who)


def _other_items(value: Any, who: str) -> Any:
    from sema_runtime.values.typenames import type_name

    got = type_name(value)
    if got == "mutable-array":
        return list(value.items)
    from sema_runtime.values.sequences import foreign_items

    items = value if isinstance(value, (list, tuple)) else foreign_items(value)
    if items is not None:
        return items
    not_iterable(got, who)


def not_iterable(got: str, who: str) -> NoReturn:
    hint = f"{who}: expected a list, vector, or mutable-array to iterate over"
    raise SemaTypeError("list, vector, or mutable-array", f"{got} in {who}", hint)
