"""Sema equality: deep, structural, without coercion (`1`, `1.0` and `#t` are three values).

Python's `==` is coarser: values that it calls different are different here too, so it is the fast first test.
Lists, dicts and bytearrays of Python equal the Sema values that they stand for.
"""

from __future__ import annotations

from sema_runtime.values.typenames import ATOMIC, NAMES, NEAR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

FOREIGN = frozenset((list, dict, bytearray))
CONFUSED = frozenset((bool, float, complex))  # types of keys that Python's dict would confuse with others
SCALARS = frozenset((str, int, bool, float, type(None), bytes))
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "<missing>"})()


def equal(a: Any, b: Any) -> bool:
    """`equal?` / `eq?` of two values."""
    if a is b:
        return type(a) is not float or a == a  # a container is equal to itself even when a NaN is in it
    kind = type(a)
    if kind is not type(b):
        return (kind in FOREIGN or type(b) in FOREIGN) and _equal_foreign(a, b)
    if kind in FOREIGN:
        return _equal_foreign(a, b)
    try:
        return same_items(a, b) if kind is tuple else bool(a == b)
    except RecursionError:
        return equal_deep(a, b)


def position_of(value: Any, items: Sequence[Any]) -> int:
    """The index of the first item that equals value; -1 when none does.

    Python searches for atoms; what it takes for one and isn't (`#t` for 1), or cannot compare, is looked at here.
    """
    start = 0
    if type(value) in ATOMIC:
        try:
            start = items.index(value)
        except ValueError:
            return -1
        except Exception:  # an item whose comparison fails, an array of numpy
            start = 0
        if type(items[start]) is type(value):
            return start
    for index in range(start, len(items)):
        if equal(items[index], value):
            return index
    return -1


def holds(value: Any, items: Sequence[Any]) -> bool:
    """Whether an item equals value."""
    kind = type(value)
    if kind in ATOMIC:
        try:
            if value not in items:
                return False
        except Exception:  # an item whose comparison fails
            return position_of(value, items) >= 0
        if kind is str or type(items[items.index(value)]) is kind:
            return True
    return position_of(value, items) >= 0


def same_items(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two sequences hold equal items in the same order."""
    if len(a) != len(b):
        return False
    for left, right in zip(a, b):  # noqa: B905  (equally long, and `strict` takes longer)
        if left is not right or type(left) is float:
            if type(left) is type(right) and type(left) in SCALARS:
                if left != right:
                    return False
            elif not equal(left, right):
                return False
    return True


def same_entries(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    """Whether two dicts of stored keys hold equal values under the same keys."""
    if len(a) != len(b):
        return False
    for key, left in a.items():
        right = b.get(key, MISSING)
        if left is not right or type(left) is float:
            if type(left) is type(right) and type(left) in SCALARS:
                if left != right:
                    return False
            elif not equal(left, right):
                return False
    return True


def _equal_foreign(a: Any, b: Any) -> bool:
    """`equal` of two values of which one or both are a list, a dict or a bytearray of Python."""
    name = NAMES.get(type(a))
    if name != NAMES.get(type(b)):
        return False
    try:
        if name == "list":
            return same_items(a, b)
        return same_entries(stored_entries(a), stored_entries(b)) if name == "map" else bool(a == b)
    except RecursionError:
        return equal_deep(a, b)


def same_as_python(ours: Any, theirs: Any) -> bool:
    """Whether Python finds in a value of ours what it finds in theirs: a keyword key is the string of its name.

    Numbers compare as in Sema: `1`, `1.0` and `True` are three values.
    """
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return len(ours) == len(theirs) and all(_has(ours, key, value) for key, value in theirs.items())
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same_as_python, ours, theirs))
    if type(ours) is tuple is type(theirs):
        return len(ours) == len(theirs) and all(map(same_as_python, ours, theirs))
    return equal(ours, theirs)


def _has(ours: dict[Any, Any], key: Any, value: Any) -> bool:
    own = ours.get(key, MISSING)
    if own is MISSING or (type(key) is not str and type(ours) is not dict and not ours.has(key)):  # type: ignore[attr-defined]
        return False
    return same_as_python(own, value)


def strict_hash(values: Any) -> int:
    """A hash that agrees with `equal` for a sequence of values."""
    if ATOMIC.issuperset(map(type, values)):
        return hash((len(values), *values))
    return hash((len(values), *map(_hashable, values)))


def _hashable(value: Any) -> Any:
    """What stands for a value in the hash of a sequence: an atom for itself, as where there are only atoms, and an int
    for anything else."""
    kind = type(value)
    if kind in ATOMIC:
        return value
    if kind is tuple or kind is list:
        return strict_hash(value)
    if kind is dict:
        return entries_hash("map", stored_entries(value))
    return bytes(value) if kind is bytearray else hash(value)


def entries_hash(type_name: str, d: dict[Any, Any]) -> int:
    """A hash that agrees with `equal` for maps, of their stored keys and what lies near in their values."""
    return hash((type_name, frozenset([(key, near(value)) for key, value in d.items()])))


def near(value: Any) -> Any:
    """What stands for a value in the hash of a map: a number or an atom for itself, the hash of a list or vector of
    such, and nothing of other values, so that no hash goes deep. Bytes may equal a bytearray, which has none."""
    kind = type(value)
    if kind in NEAR:
        return value
    if kind is not tuple and NAMES.get(kind) != "list":
        return 0
    items = value if kind is tuple or kind is list else value.items
    return hash((len(items), *items)) if NEAR.issuperset(map(type, items)) else 0


# Keys of dicts


def is_plain(vector: tuple[Any, ...]) -> bool:
    """Whether a vector holds only atoms, and vectors of such: Python then compares it as Sema does."""
    for item in vector:
        kind = type(item)
        if kind not in ATOMIC and not (kind is tuple and is_plain(item)):
            return False
    return True


def is_confused(key: Any) -> bool:
    """Whether Python's dict would confuse a key with one that Sema tells apart from it."""
    return type(key) in CONFUSED or (isinstance(key, tuple) and not (type(key) is tuple and is_plain(key)))


class StoredKey:
    """A key that Python's dict would confuse with another one."""

    __slots__ = ("code", "key")

    def __init__(self, key: Any) -> None:
        self.key = key
        self.code = hash((type(key).__name__, strict_hash(key) if type(key) is tuple else 0 if key != key else key))

    def __eq__(self, other: object) -> bool:
        return type(other) is StoredKey and (
            equal(self.key, other.key) or (self.key != self.key and other.key != other.key)
        )

    def __hash__(self) -> int:
        return self.code

    def __reduce__(self) -> tuple[type[StoredKey], tuple[Any]]:  # hashes of texts differ between processes
        return StoredKey, (self.key,)


def stored_entries(value: Any) -> dict[Any, Any]:
    """The entries of a map, or of a dict of Python, by stored key."""
    if type(value) is dict:
        return {StoredKey(key) if is_confused(key) else key: item for key, item in value.items()}
    entries: dict[Any, Any] = value.stable()
    return entries


# Without recursion: for mutable containers, which can hold themselves, and for values nested very deeply


def equal_deep(a: Any, b: Any) -> bool:
    """`equal` with a list of what is left to compare in place of Python's stack.

    Two containers that meet a second time in one comparison count as equal: any other difference ends the comparison
    anyway. So cycles end, and containers that share their parts are compared once.
    """
    todo = [(a, b)]
    met: set[tuple[int, int]] = set()
    while todo:
        a, b = todo.pop()
        if type(a) in SCALARS:
            if not equal(a, b):
                return False
            continue
        if a is b or (id(a), id(b)) in met:
            continue
        met.add((id(a), id(b)))
        kind = NAMES.get(type(a), type(a))
        if kind != NAMES.get(type(b), type(b)):
            return False
        pairs = _pairs(kind, a, b)
        if pairs is not None:
            todo += pairs
        elif a != b:
            return False
    return True


def _pairs(kind: Any, a: Any, b: Any) -> Iterable[tuple[Any, Any]] | None:
    """The parts of two values of one kind that must be equal for the values to be; None when they have no parts.

    A difference that shows already is a pair of parts that differ. kind: the name of the type, or the type.
    """
    if kind == "map" or kind == "hashmap":
        mine, theirs = stored_entries(a), stored_entries(b)
        if len(mine) != len(theirs):
            return [(True, False)]
        return [(value, theirs.get(key, MISSING)) for key, value in mine.items()]
    if kind == "list" or kind == "vector":
        left, right = a, b
    else:
        members = getattr(type(a), "sema_members", None)
        if members is None:
            return None
        left, right = members(a), members(b)
    return zip(left, right, strict=True) if len(left) == len(right) else [(True, False)]
