"""The list: immutable to the program, flat when built in bulk, linked when walked or consed.

One class with two faces. A list made from a sequence has it in `flat`; a list made by `cons` has the rest in `next`.
The face that a list doesn't have is None until somebody asks for it: `items` and `cdr` always work, and code that has
to be fast reads `flat` or `next` first. `car` and `empty` are always set: nil and true for the empty list, whose `cdr`
is the empty list, as in the language. No attribute is computed by `__getattr__`: in CPython 3.11 its presence makes
every read of a slot eight times slower. A sequence is never mutated once a list has it.

Walking: the first `cdr` of a flat list links its first few items; the last of these cells knows where the sequence
goes on, and links twice as many when its turn comes. So a single `rest` stays cheap and a walk over n items costs O(n).

The items of a consed list are a cache, kept by the newest cell that was asked for them. Building them takes over the
cache of the cell it grew from, so a program that alternates cons and length needs memory for one copy, not for one a
step.
"""

from __future__ import annotations

import gc
import sys
from _collections_abc import Sequence as AbstractSequence

from sema_runtime.collector import relax
from sema_runtime.values.equality import same_as_python, same_items, strict_hash
from sema_runtime.values.typenames import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, NoReturn

FEW = 10_000  # more cells than these are made with the collector off, which would visit them again and again
FIRST = 8  # cells that the first `cdr` of a flat list links
CACHED: Any = -1  # `note` of a consed cell whose items are a cache


class List:
    """A Sema list. `List(sequence)` adopts the sequence: the caller must not change it afterwards."""

    __slots__ = ("car", "empty", "flat", "next", "note", "place")
    car: Any  # nil for the empty list
    empty: bool
    flat: Sequence[Any] | None  # the items, once they are known as a sequence
    next: List | None  # the rest, once it is linked
    note: Any  # unset, CACHED, or where `next` will start: a sequence, an index, and how many cells to link
    place: Any  # the span, where the reader or the expander has set it

    def __init__(self, items: Sequence[Any] = ()) -> None:
        self.flat = items
        self.next = None
        if items:
            try:
                self.car = items[0]
            except TypeError:  # `type(xs)(item for ...)`, as Python code copies lists
                self.__init__(list(items))  # type: ignore[misc]
                return
            self.empty = False
        else:
            self.car = None
            self.empty = True

    @property
    def items(self) -> Sequence[Any]:
        """The items as a Python sequence, which nobody may change."""
        flat = self.flat
        return flat if flat is not None else flatten(self)

    @property
    def cdr(self) -> List:
        """The list without its first item; the empty list for the empty list."""
        rest = self.next
        return rest if rest is not None else link(self)

    @property
    def span(self) -> Any:
        """Where the reader found this list; None for values of the program."""
        try:
            return self.place
        except AttributeError:
            return None

    @span.setter
    def span(self, place: Any) -> None:
        self.place = place

    def __iter__(self) -> Iterator[Any]:
        flat = self.flat
        return iter(flat if flat is not None else flatten(self))

    def __len__(self) -> int:
        return len(self.flat or self.items)

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
            if type(other) is not list:
                return NotImplemented
            return same_as_python(self, other)
        return same_items(self.flat or self.items, other.flat or other.items)

    def __hash__(self) -> int:
        return strict_hash(self.flat or self.items)

    def __repr__(self) -> str:
        from sema_runtime.values.printer import to_text

        return to_text(self)

    def __reduce__(self) -> tuple[type[List], tuple[list[Any]]]:
        return List, (list(self.items),)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:  # that of `object` trusts `__class__`
        return self.__reduce__()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What `isinstance` asks besides the type: libraries take a list for a sequence, and few other types."""
        return list

    def copy(self) -> list[Any]:
        """A list of Python of the same items."""
        return list(self.items)

    def __add__(self, other: Any) -> Any:
        return [*self.items, *other] if isinstance(other, list) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return [*other, *self.items] if isinstance(other, list) else NotImplemented

    def __reversed__(self) -> Iterator[Any]:
        return iter(self.items[::-1])

    def __setitem__(self, *change: Any, **more: Any) -> NoReturn:
        raise TypeError("a list of Sema can't be changed: xs.copy() is a list of Python")

    __delitem__ = append = clear = extend = insert = pop = remove = reverse = sort = __setitem__


NAMES[List] = "list"
AbstractSequence.register(List)  # isinstance, and `match` with [a, *rest]
EMPTY = List(())
EMPTY.next = EMPTY
_new: Any = List.__new__


def cons(head: Any, tail: List) -> List:
    """A list of head followed by tail, sharing tail. O(1)."""
    cell: List = _new(List)
    cell.car = head
    cell.next = tail
    cell.empty = False
    cell.flat = None
    return cell


def same_plain(a: List, b: List) -> bool:
    """Whether two lists of what Python compares as the language does are equal."""
    items, others = a.flat or a.items, b.flat or b.items
    if len(items) != len(others):
        return False
    return items == others if type(items) is type(others) else list(items) == list(others)


def walk(cell: List) -> Iterable[Any]:
    """The items of a list for a loop that may not get to its end: no sequence is made of linked cells."""
    flat = cell.flat
    return flat if flat is not None else _items_of_cells(cell)


def _items_of_cells(cell: List) -> Iterator[Any]:
    while not cell.empty:
        yield cell.car
        rest = cell.next
        cell = rest if rest is not None else cell.cdr


def make_list(*values: Any) -> List:
    """A list of the arguments."""
    return List(values)


def tail_of(items: Sequence[Any], start: int) -> List:
    """The list of the items of a sequence from an index on; the empty list behind its end. O(1)."""
    if start >= len(items):
        return EMPTY
    cell: List = _new(List)
    cell.car = items[start]
    cell.next = cell.flat = None
    cell.empty = False
    cell.note = (items, start + 1, FIRST)
    return cell


def first_items(cell: List, count: int) -> Sequence[Any]:
    """The first items of a list, as many as there are: those behind them aren't looked at."""
    if cell.flat is not None:
        return cell.flat[:count]
    collected: list[Any] = []
    current: Any = cell
    while (left := count - len(collected)) > 0:
        flat = current.flat
        if flat is not None:
            collected += flat[:left]
            break
        rest = current.next
        if rest is None:
            note = current.note
            if note is None:  # another thread has linked it just now
                continue
            sequence, index, _ = note
            collected += sequence[index - 1 : index - 1 + left]
            break
        collected.append(current.car)
        current = rest
    return collected


def flatten(cell: List) -> Sequence[Any]:
    """The items of a list whose `flat` is None, kept in its first cell."""
    collected: list[Any] = []
    push = collected.append
    current: Any = cell
    while True:
        flat = current.flat
        if flat is not None:
            collected += flat
            break
        rest = current.next
        if rest is None:
            note = current.note
            if note is None:  # another thread has linked it just now
                continue
            sequence, index, _ = note
            collected += sequence[index - 1 :]
            break
        push(current.car)
        current = rest
    if current.next is not None and current is not EMPTY:
        try:
            if current.note is CACHED:
                current.note = current.flat = None
        except AttributeError:  # a flat list
            pass
    cell.flat = collected
    if cell.next is not None:
        cell.note = CACHED
    return collected


def link(cell: List) -> List:
    """The rest of a list whose `next` is None, linked as far as the module's text says."""
    sequence = cell.flat
    index, count = 1, FIRST
    if sequence is None:
        note = cell.note
        if note is None:  # another thread was faster
            return cell.cdr
        sequence, index, count = note
    size = len(sequence)
    if size <= index:
        cell.next = EMPTY
        return EMPTY
    end = min(index + count, size)
    collecting = count > FEW and gc.isenabled()
    if collecting:
        gc.disable()
    try:
        rest = EMPTY
        if end < size:
            end -= 1
            rest = _new(List)
            rest.car = sequence[end]
            rest.next = rest.flat = None
            rest.empty = False
            rest.note = (sequence, end + 1, 2 * count)
        for value in sequence[end - 1 : index - 1 : -1]:
            linked = _new(List)
            linked.car = value
            linked.next = rest
            linked.empty = False
            linked.flat = None
            rest = linked
    finally:
        if collecting:
            gc.enable()
    cell.next = rest
    if cell.flat is None:
        cell.note = None
    return rest


relax()  # here, since every module that makes lists imports this one


def as_list(value: Any) -> Any:
    """A list of the items that a list of Python has now; another value as it is."""
    return List(value.copy()) if type(value) is list else value


def at_hand(value: Any) -> Sequence[Any]:
    """The items of a list, which nobody may change; none of another value."""
    return value.flat or value.items if type(value) is List else ()


def held_items(value: Any) -> Sequence[Any]:
    """The items of a list that has them, which nobody may change; none of another value, so this takes no time."""
    return value.flat or () if type(value) is List else ()


def given_back(result: Any, made: Any, original: Any) -> Any:
    """A result; the caller's own list where it is the one that `as_list` made of it."""
    return original if result is made else result
