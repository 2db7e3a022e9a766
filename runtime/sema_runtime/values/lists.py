"""The list: immutable to the program, flat when built in bulk, linked when walked or consed.

One class with two faces. A list made from a sequence holds `items`; a list made by `cons` holds `car` and `cdr`.
An unset slot is filled when it is read (`__getattr__` runs only for unset slots), so a walk reads slots at full speed,
and `map`, `nth` and `length` work on a Python sequence. `items` is never mutated once set. The `car` of the empty list
is nil and its `cdr` the empty list, as in the language.

Walking: the first few `cdr`s of a flat list are slices (one copy each, as `xs[1:]` would be); then the rest of the
chain is linked at once. So a single `rest` stays cheap and a walk over n elements costs O(n).

The items of a consed list are a cache, kept by the newest cell that was asked for them. Building them takes over the
cache of the cell it grew from, so a program that alternates cons and length needs memory for one copy, not for one a
step.
"""

from __future__ import annotations

import gc
import sys
from _collections_abc import Sequence as AbstractSequence

from sema_runtime.values.equality import same_items, strict_hash
from sema_runtime.values.typenames import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

FEW = 10_000  # more cells than these are made with the collector off, which would visit them again and again
SLICES_BEFORE_LINKING = 3
CACHED = -1  # `steps` of a consed cell whose items are a cache


class List:
    """A Sema list. `List(sequence)` adopts the sequence: the caller must not change it afterwards."""

    __slots__ = ("car", "cdr", "empty", "items", "span", "steps")
    items: Sequence[Any]
    car: Any  # nil for the empty list
    cdr: List  # the empty list for the empty list
    empty: bool  # emitted code reads car, cdr and empty directly where it knows that a value is a list
    span: Any  # where the reader found this list; unset on run-time values
    steps: int  # how many slices led here from a flat list, or CACHED; unset means 0

    def __init__(self, items: Sequence[Any] = ()) -> None:
        self.items = items

    def __getattr__(self, name: str) -> Any:
        if name == "items":
            return _flatten(self)
        if name == "car":
            items = self.items
            self.car = first = items[0] if items else None
            return first
        if name == "cdr":
            return _link(self)
        if name == "empty":
            self.empty = empty = not self.items
            return empty
        if name == "steps":
            return 0
        if name == "span":
            return None
        raise AttributeError(f"'List' object has no attribute '{name}'")

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __bool__(self) -> bool:
        return not self.empty

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return List(self.items[index])
        return self.items[index]

    def __contains__(self, value: Any) -> bool:
        return value in self.items

    def index(self, value: Any, start: int = 0, stop: int = sys.maxsize) -> int:
        """The index of the first item that equals value. Raises ValueError when there is none."""
        return self.items.index(value, start, stop)

    def count(self, value: Any) -> int:
        """How many items equal value."""
        return self.items.count(value)

    def __eq__(self, other: object) -> bool:
        """Equal to a list, of Sema or of Python, with equal items (`values/equality.py`: 1 is not 1.0)."""
        if self is other:
            return True
        if type(other) is not List:
            return same_items(self.items, other) if type(other) is list else NotImplemented
        return same_items(self.items, other.items)

    def __hash__(self) -> int:
        return strict_hash(self.items)

    def __repr__(self) -> str:
        from sema_runtime.values.printer import to_text

        return to_text(self)

    def __reduce__(self) -> tuple[type[List], tuple[list[Any]]]:
        return List, (list(self.items),)


NAMES[List] = "list"
AbstractSequence.register(List)  # isinstance, and `match` with [a, *rest]
EMPTY = List(())
_new = List.__new__
_items_of = List.items.__get__  # type: ignore[attr-defined, misc]


def cons(head: Any, tail: List) -> List:
    """A list of head followed by tail, sharing tail. O(1)."""
    cell = _new(List)
    cell.car = head
    cell.cdr = tail
    cell.empty = False
    return cell


def delayed_list(make: Callable[[], Sequence[Any]]) -> List:
    """A list whose items make() returns when they are read first: for stack traces, which few programs read."""
    cell = _new(List)
    cell.steps = make  # type: ignore[assignment]
    return cell


def make_list(*values: Any) -> List:
    """A list of the arguments."""
    return List(values)


def _flatten(cell: List) -> Sequence[Any]:
    """The items of a consed or delayed list, kept in its first cell. Raises AttributeError on a half-made list."""
    make: Any = cell.steps
    if type(make) is not int:
        cell.steps = 0
        cell.items = items = make()
        return items  # type: ignore[no-any-return]
    collected: list[Any] = []
    push = collected.append
    items_of = _items_of
    current = cell
    while True:
        try:
            collected += items_of(current)
            break
        except AttributeError:
            push(current.car)
            current = current.cdr
    if current.steps == CACHED:
        current.steps = 0
        try:  # noqa: SIM105  (contextlib would be slow to load)
            del current.items
        except AttributeError:  # another thread was here
            pass
    cell.items = collected
    cell.steps = CACHED
    return collected


def _link(cell: List) -> List:
    items = cell.items
    if not items:
        return EMPTY
    steps = cell.steps
    if steps < SLICES_BEFORE_LINKING or len(items) < 8:
        rest = List(items[1:]) if len(items) > 1 else EMPTY
        if rest is not EMPTY:
            rest.steps = steps + 1
        cell.cdr = rest
        return rest
    collecting = len(items) > FEW and gc.isenabled()
    if collecting:
        gc.disable()
    try:
        rest = EMPTY
        for value in items[:0:-1]:
            linked = _new(List)
            linked.car = value
            linked.cdr = rest
            linked.empty = False
            rest = linked
    finally:
        if collecting:
            gc.enable()
    cell.cdr = rest
    return rest
