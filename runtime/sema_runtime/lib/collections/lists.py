"""Lists: making, reading and joining them. Most functions take vectors too."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.conditions.call_form import used_as_value
from sema_runtime.values.equality import equal, position_of
from sema_runtime.values.errors import OutOfBounds, SemaError, type_error
from sema_runtime.values.lists import EMPTY, List, link
from sema_runtime.values.maps import MISSING, Map
from sema_runtime.values.mutable import MutableArray
from sema_runtime.values.sequences import elements, foreign_items, foreign_size, seq, size, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_new: Any = List.__new__
COUNTED = frozenset((str, tuple, list, dict))
SIZED = (str, tuple, list, Map, dict, bytes, bytearray, MutableArray)
SEQUENCES = (List, tuple, list)  # asking how a builtin was called takes microseconds: not for these
FIRST = "first: argument 1 must be a list or vector"
REST = "rest: argument 1 must be a list or vector"
APPEND = "append: every argument must be a list or vector"


@builtin("list", type="keep a... -> flat a fresh", pure=True, total=True)
def list_(*values: Any) -> List:
    """A list of the arguments.

    (list 1 (+ 1 1)) => (1 2)
    (list) => ()
    """
    return List(values)


@builtin("cons", type="keep a, keep list b|nil|b -> list (a|b)", pure=True, total=True)
def cons(head: Any, tail: Any) -> List:
    """Adds head in front of the list tail. A tail that isn't a list becomes the second element; nil counts as empty.

    (cons 1 '(2 3)) => (1 2 3)
    (cons 1 2) => (1 2)
    """
    if type(tail) is List:
        cell: List = _new(List)
        cell.car = head
        cell.next = tail
        cell.empty = False
        cell.flat = None
        return cell
    if type(tail) is list:
        return List([head, *tail])
    return List((head,)) if tail is None else List((head, tail))


@builtin("car", type="seq a -> a|nil", pure=True, total=True)
def car(collection: Any) -> Any:
    """The first element of a list or vector; nil when there is none.

    (car '(1 2)) => 1
    (car '()) => nil
    (car nil) ! expected list or vector, got nil
    """
    if type(collection) is List:
        return collection.car
    if type(collection) is tuple or type(collection) is list:
        return collection[0] if collection else None
    items = seq(collection, FIRST if not isinstance(collection, SEQUENCES) and used_as_value() else None)
    return items[0] if items else None


@builtin("first", type="seq a -> a|nil", pure=True, total=True)
def first(collection: Any) -> Any:
    """The first element of a list or vector; nil when it is empty.

    (first [1 2]) => 1
    (first []) => nil
    """
    if type(collection) is List:
        return collection.car
    if type(collection) is tuple or type(collection) is list:
        return collection[0] if collection else None
    items = seq(collection, FIRST if not isinstance(collection, SEQUENCES) and used_as_value() else None)
    return items[0] if items else None


@builtin("cdr", type="keep list a|vector b -> list a|vector b", pure=True, total=True)
def cdr(collection: Any) -> Any:
    """All elements but the first of a list or vector; the rest of a vector is a vector.

    (cdr '(1 2)) => (2)
    (cdr '()) => ()
    """
    if type(collection) is List:
        following = collection.next
        return following if following is not None else link(collection)
    if type(collection) is tuple:
        return collection[1:]
    if type(collection) is list:
        return List(collection[1:])
    items = seq(collection, REST if not isinstance(collection, SEQUENCES) and used_as_value() else None)
    return items[1:] if type(items) is tuple else List(items[1:])


@builtin("rest", type="keep list a|vector b -> list a|vector b", pure=True, total=True)
def rest(collection: Any) -> Any:
    """All elements but the first of a list or vector; the rest of a vector is a vector.

    (rest '(1 2)) => (2)
    (rest [1 2]) => [2]
    """
    if type(collection) is List:
        following = collection.next
        return following if following is not None else link(collection)
    if type(collection) is tuple:
        return collection[1:]
    if type(collection) is list:
        return List(collection[1:])
    items = seq(collection, REST if not isinstance(collection, SEQUENCES) and used_as_value() else None)
    return items[1:] if type(items) is tuple else List(items[1:])


def _nested(value: Any, path: str) -> Any:
    """The result of car (`a`) and cdr (`d`) along path, the innermost step last."""
    for step in reversed(path):
        if type(value) is List:
            value = value.car if step == "a" else value.next if value.next is not None else link(value)
        elif step == "a":
            items = seq(value, FIRST)
            value = items[0] if items else None
        else:
            items = seq(value, REST)
            value = items[1:] if type(items) is tuple else List(items[1:])
    return value


def _at(value: Any, index: int) -> Any:
    """The element at a small index, without cutting a flat list up; nil when there is none."""
    if type(value) is List:
        if value.next is not None:
            return value.next.car if index == 1 else value.next.cdr.car
        items = value.flat
        if items is None:
            for _ in range(index):
                value = value.next if value.next is not None else link(value)
            return value.car
    else:
        items = value if type(value) is list else seq(value, REST)
    return items[index] if index < len(items) else None


@builtin("cadr", type="seq a -> a|nil", pure=True, total=True)
def cadr(collection: Any) -> Any:
    """The second element of a list or vector; nil when there is none.

    (cadr '(1 2 3)) => 2
    (cadr '(1)) => nil
    """
    if type(collection) is List and collection.next is None and (items := collection.flat) is not None:
        return items[1] if len(items) > 1 else None
    if type(collection) is list:
        return collection[1] if len(collection) > 1 else None
    return _at(collection, 1)


@builtin("caddr", type="seq a -> a|nil", pure=True, total=True)
def caddr(collection: Any) -> Any:
    """The third element of a list or vector; nil when there is none.

    (caddr '(1 2 3)) => 3
    """
    return _at(collection, 2)


@builtin("caar", type="seq (seq a|b) -> a|nil", pure=True)
def caar(collection: Any) -> Any:
    """(car (car x)): the first element of the first element.

    (caar '((1 2) 3)) => 1
    """
    return _nested(collection, "aa")


@builtin("cdar", type="keep seq (list a|vector b|c) -> list a|vector b", pure=True)
def cdar(collection: Any) -> Any:
    """(cdr (car x)): the first element without its first element.

    (cdar '((1 2) 3)) => (2)
    """
    return _nested(collection, "da")


@builtin("cddr", type="keep list a|vector b -> list a|vector b", pure=True, total=True)
def cddr(collection: Any) -> Any:
    """(cdr (cdr x)): everything but the first two elements.

    (cddr '(1 2 3)) => (3)
    """
    if type(collection) is List:
        following = collection.next
        if following is None:
            following = link(collection)
        return following.next if following.next is not None else link(following)
    if type(collection) is list:
        return List(collection[2:])
    return _nested(collection, "dd")


@builtin("caaar", type="seq (seq (seq a|b)|c) -> a|nil", pure=True)
def caaar(collection: Any) -> Any:
    """(car (car (car x))).

    (caaar '(((1) 2) 3)) => 1
    """
    return _nested(collection, "aaa")


@builtin("caadr", type="seq (seq a|b) -> a|nil", pure=True)
def caadr(collection: Any) -> Any:
    """(car (car (cdr x))).

    (caadr '(1 (2 3) 4)) => 2
    """
    return _nested(collection, "aad")


@builtin("cadar", type="seq (seq a|b) -> a|nil", pure=True)
def cadar(collection: Any) -> Any:
    """(car (cdr (car x))).

    (cadar '((1 2) 3)) => 2
    """
    return _nested(collection, "ada")


@builtin("cdaar", type="keep seq (seq (list a|vector b|c)|d) -> list a|vector b", pure=True)
def cdaar(collection: Any) -> Any:
    """(cdr (car (car x))).

    (cdaar '(((1 2) 3) 4)) => (2)
    """
    return _nested(collection, "daa")


@builtin("cdadr", type="keep seq (list a|vector b|c) -> list a|vector b", pure=True)
def cdadr(collection: Any) -> Any:
    """(cdr (car (cdr x))).

    (cdadr '(1 (2 3) 4)) => (3)
    """
    return _nested(collection, "dad")


@builtin("cddar", type="keep seq (list a|vector b|c) -> list a|vector b", pure=True)
def cddar(collection: Any) -> Any:
    """(cdr (cdr (car x))).

    (cddar '((1 2 3) 4)) => (3)
    """
    return _nested(collection, "dda")


@builtin("cdddr", type="keep list a|vector b -> list a|vector b", pure=True, total=True)
def cdddr(collection: Any) -> Any:
    """(cdr (cdr (cdr x))): everything but the first three elements.

    (cdddr '(1 2 3 4)) => (4)
    """
    return _nested(collection, "ddd")


@builtin("last", type="seq a|array a -> a|nil", pure=True, total=True)
def last(collection: Any) -> Any:
    """The last element of a list, vector or mutable array; nil when there is none.

    (last '(1 2 3)) => 3
    (last '()) => nil
    """
    items = collection.flat or collection.items if type(collection) is List else elements(collection, "last")
    return items[-1] if items else None


@builtin("nth", type="seq a|array a, int -> a", pure=True)
def nth(collection: Any, index: Any) -> Any:
    """The element at index, counted from 0. Raises an error for an index outside.

    (nth '(10 20 30) 1) => 20
    (nth '(10 20) 5) ! index 5 out of bounds (length 2)
    """
    if type(index) is int and index >= 0:
        try:
            if type(collection) is tuple:
                return collection[index]
            if type(collection) is List:
                return (collection.flat or collection.items)[index]
            if type(collection) is MutableArray:
                return collection.items[index]
            if isinstance(collection, (list, tuple)):
                return collection[index]
        except IndexError:
            pass
    return _nth_checked(collection, index, used_as_value())


def _nth_checked(collection: Any, index: Any, as_value: bool) -> Any:
    from sema_runtime.support.text_arguments import argument_error

    hint = "nth: argument order is (nth collection index); the index must be an integer"
    if isinstance(index, SEQUENCES):
        hint = "nth: argument order is (nth collection index) — looks like the arguments are swapped"
    try:
        whole(index, hint)
    except SemaError:
        if as_value:
            argument_error("nth", 2, "int", index, hint)
        raise
    if index < 0:
        hint = "indices are 0-based; use (last xs) for the last element"
        raise SemaError(f"nth: index must be non-negative, got {index}", hint if as_value else None)
    if type(collection) is MutableArray:
        items: Sequence[Any] = collection.items
    else:
        if as_value and not isinstance(collection, SEQUENCES) and foreign_items(collection) is None:
            expected = "list, vector, or mutable-array"
            argument_error("nth", 1, expected, collection, f"nth: argument 1 must be a {expected}")
        items = seq(collection)
    if index >= len(items):
        raise OutOfBounds(f"index {index} out of bounds (length {len(items)})")
    return items[index]


@builtin("length", type="seq|str|dict|bytevector|array|other -> nat", pure=True)
def length(collection: Any) -> int:
    """The length of a list, vector, string, map or other collection: its elements, characters, entries or bytes.

    (length '(1 2 3)) => 3
    (length "abc") => 3
    (length nil) ! expected list, vector, string, map, hashmap, bytevector, typed array, or mutable-array, got nil
    """
    if type(collection) is List:
        return len(collection.flat or collection.items)
    if type(collection) in COUNTED:
        return len(collection)
    if isinstance(collection, SIZED) or getattr(type(collection), "type_name", "") in ("f64-array", "i64-array"):
        return len(collection)
    size = foreign_size(collection)
    if size is not None:
        return size
    type_error(
        "list, vector, string, map, hashmap, bytevector, typed array, or mutable-array",
        collection,
        "length: expected a sequence or collection" if used_as_value() else None,
    )


@builtin("append", type="seq a... -> flat a fresh", pure=True, total=True)
def append(*collections: Any) -> List:
    """Concatenates lists and vectors into one list.

    (append '(1) [2 3] '(4)) => (1 2 3 4)
    (append [1]) => (1)
    (append '(1) 2) ! expected list or vector, got int
    """
    if len(collections) == 2:
        a, b = collections
        if type(a) is List and type(b) is List:
            return List([*(a.flat or a.items), *(b.flat or b.items)])
        if type(a) is list and type(b) is list:
            return List(a + b)
        known = isinstance(a, SEQUENCES) and isinstance(b, SEQUENCES)
        hint = APPEND if not known and used_as_value() else None
        return List([*seq(a, hint), *seq(b, hint)])
    joined: list[Any] = []
    for collection in collections:
        joined += seq(collection, APPEND)
    return List(joined)


def push_all(stack: list[Any], items: Any) -> None:
    """`append` of items and a stack, whose last item is the first of the list that it stands for."""
    stack += (items.flat or items.items if type(items) is List else seq(items))[::-1]


def spliced(*parts: Any) -> List:
    """The list for a quasiquote template with splices."""
    joined: list[Any] = []
    for part in parts:
        joined += part.flat or part.items if type(part) is List else seq(part, APPEND)
    return List(joined)


@builtin("reverse", type="list a|vector b -> flat a|vector b fresh", pure=True, total=True)
def reverse(collection: Any) -> Any:
    """The elements of a list or vector in reverse order; of a vector, a vector.

    (reverse '(1 2 3)) => (3 2 1)
    """
    if type(collection) is List:
        return List((collection.flat or collection.items)[::-1])
    items = seq(collection, "reverse: argument 1 must be a list or vector")
    return items[::-1] if type(items) is tuple else List(items[::-1])


@builtin("range", type="int, int?, int? -> flat int fresh", pure=True)
def range_(start: Any, end: Any = MISSING, step: Any = 1) -> List:
    """A list of the integers from start (default 0) up to, not including, end, by step (default 1).

    (range 3) => (0 1 2)
    (range 1 4) => (1 2 3)
    (range 10 0 -3) => (10 7 4 1)
    """
    whole(start)
    if end is MISSING:
        return List(range(start))
    whole(end)
    if whole(step) == 0:
        raise SemaError("range: step cannot be 0")
    return List(range(start, end, step))


@builtin("iota", type="int, int?, int? -> flat int", pure=True)
def iota(count: Any, start: Any = 0, step: Any = 1) -> List:
    """A list of count integers from start (default 0), each step (default 1) more than the one before.

    (iota 3) => (0 1 2)
    (iota 3 5) => (5 6 7)
    (iota 3 0 10) => (0 10 20)
    """
    whole(count)
    whole(start)
    whole(step)
    if step == 0:
        return List([start] * count)
    return List(range(start, start + count * step, step)) if count > 0 else EMPTY


@builtin("list/repeat", type="int, keep a -> flat a fresh", pure=True)
def list_repeat(count: Any, value: Any) -> List:
    """A list that holds value count times.

    (list/repeat 3 "x") => ("x" "x" "x")
    """
    return List([value] * size(count, "list/repeat"))


@builtin("make-list", type="int, keep a -> flat a fresh", pure=True)
def make_list(count: Any, value: Any) -> List:
    """A list that holds value count times.

    (make-list 2 0) => (0 0)
    """
    return List([value] * size(count, "list/repeat"))


@builtin("member", type="any, seq a|array a -> flat a|bool fresh", pure=True)
def member(value: Any, collection: Any) -> Any:
    """The part of a list from the first element that equals value on; #f when none does.

    (member 2 '(1 2 3)) => (2 3)
    (member 9 '(1 2 3)) => #f
    """
    items = collection.flat or collection.items if type(collection) is List else elements(collection, "member")
    index = position_of(value, items)
    return List(items[index:]) if index >= 0 else False


def assoc_entry(key: Any, entries: Sequence[Any]) -> Any:
    """The first entry that is a list starting with key; #f when there is none."""
    for entry in entries:
        if type(entry) is List and not entry.empty and equal(entry.car, key):
            return entry
    return False


@builtin("assq", type="any, keep seq (list a|b)|array (list a|b) -> list a|bool", pure=True)
def assq(key: Any, alist: Any) -> Any:
    """The first list in alist that starts with key; #f when there is none.

    (assq 'b '((a 1) (b 2))) => (b 2)
    """
    return assoc_entry(key, alist.flat or alist.items if type(alist) is List else elements(alist, "assq"))


@builtin("assv", type="any, keep seq (list a|b)|array (list a|b) -> list a|bool", pure=True)
def assv(key: Any, alist: Any) -> Any:
    """The first list in alist that starts with key; #f when there is none.

    (assv 2 '((1 "one") (2 "two"))) => (2 "two")
    """
    return assoc_entry(key, alist.flat or alist.items if type(alist) is List else elements(alist, "assv"))


# The reference makes these of car, cdr and list/repeat, which is what their arity errors name.
for function in (first, caar, cdar, cadar, cddar, caaar, cdaar):
    setattr(function, "arity_name", "car")  # noqa: B010
for function in (rest, cadr, cddr, caadr, cdadr, caddr, cdddr):
    setattr(function, "arity_name", "cdr")  # noqa: B010
setattr(make_list, "arity_name", "list/repeat")  # noqa: B010
