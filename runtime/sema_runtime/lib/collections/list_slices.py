"""Parts of lists, and lists put together from parts: take, drop, chunks, windows, zips, flattening."""

from __future__ import annotations

from itertools import chain

from sema_runtime.catalogue import builtin
from sema_runtime.lib.collections.lists import cons, nth
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List, first_items, tail_of
from sema_runtime.values.maps import MISSING
from sema_runtime.values.printer import to_text
from sema_runtime.values.sequences import INT_LIMIT, elements, size, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def _count(value: Any, function: str) -> int:
    """The count of take and drop. A collection in its place gets a hint about the order of the arguments."""
    if type(value) in (List, tuple, list):
        hint = f"{function}: argument order is ({function} count collection) — looks like the arguments are swapped"
        type_error("int", value, hint)
    return size(value, function)


@builtin("take", type="int, seq a|array a -> flat a fresh", pure=True)
def take(count: Any, collection: Any) -> List:
    """Takes the first count elements of a list or vector, or all when there are fewer.

    (take 2 '(1 2 3)) => (1 2)
    (take 9 '(1 2)) => (1 2)
    """
    if type(count) is not int or not 0 <= count < INT_LIMIT:
        count = _count(count, "take")
    if type(collection) is List:
        flat = collection.flat
        if flat is not None:
            return List(flat[:count])
        rest = collection.next
        if count and rest is not None and rest.flat is not None:  # as in `(take 5 (cons x log))`
            return List([collection.car, *rest.flat[: count - 1]])
        return List(first_items(collection, count))
    return List(elements(collection, "take")[:count])


def take_consed(count: int, head: Any, tail: Any) -> List:
    """`(take count (cons head tail))` of a positive count, without the cell."""
    if type(tail) is not List:
        return take(count, cons(head, tail))
    flat = tail.flat
    return List([head, *(flat[: count - 1] if flat is not None else first_items(tail, count - 1))])


@builtin("drop", type="int, seq a|array a -> flat a fresh", pure=True)
def drop(count: Any, collection: Any) -> List:
    """Drops the first count elements of a list or vector and returns the list of the others.

    (drop 1 '(1 2 3)) => (2 3)
    (drop 9 '(1 2)) => ()
    """
    if type(count) is not int or not 0 <= count < INT_LIMIT:
        count = _count(count, "drop")
    items = collection.flat or collection.items if type(collection) is List else elements(collection, "drop")
    return List(items[count:])


@builtin("list/take-last", type="int, seq a|array a -> flat a fresh", pure=True)
def list_take_last(count: Any, collection: Any) -> List:
    """Takes the last count elements of a list or vector, or all when there are fewer.

    (list/take-last 2 '(1 2 3)) => (2 3)
    """
    if type(count) is not int or not 0 <= count < INT_LIMIT:
        count = size(count, "list/take-last")
    items = collection.flat or collection.items if type(collection) is List else elements(collection, "list/take-last")
    return List(items[max(0, len(items) - count) :])


@builtin("list/drop-last", type="int, seq a|array a -> flat a fresh", pure=True)
def list_drop_last(count: Any, collection: Any) -> List:
    """Drops the last count elements and returns the list of the others.

    (list/drop-last 2 '(1 2 3)) => (1)
    """
    count = size(count, "list/drop-last")
    items = elements(collection, "list/drop-last")
    return List(items[: max(0, len(items) - count)])


@builtin("list/split-at", type="seq a|array a, int -> flat flat a fresh", pure=True)
def list_split_at(collection: Any, index: Any) -> List:
    """Splits a list or vector into its first index elements and the others.

    (list/split-at '(1 2 3) 1) => ((1) (2 3))
    """
    items = elements(collection, "list/split-at")
    index = size(index, "list/split-at")
    return List((List(items[:index]), List(items[index:])))


@builtin("list/chunk", type="int, seq a|array a -> flat flat a fresh", pure=True)
def list_chunk(count: Any, collection: Any) -> List:
    """Splits a list or vector into lists of count elements each; the last may have fewer.

    (list/chunk 2 '(1 2 3)) => ((1 2) (3))
    """
    count = size(count, "list/chunk")
    if count == 0:
        raise SemaError("list/chunk: chunk size must be positive")
    items = elements(collection, "list/chunk")
    return List([List(items[start : start + count]) for start in range(0, len(items), count)])


@builtin("list/sliding", type="seq a|array a, int, int? -> flat flat a fresh", pure=True)
def list_sliding(collection: Any, width: Any, step: Any = 1) -> List:
    """Lists of width neighbouring elements, each starting step (default 1) elements after the one before.

    (list/sliding '(1 2 3) 2) => ((1 2) (2 3))
    (list/sliding (range 6) 2 3) => ((0 1) (3 4))
    """
    items = elements(collection, "list/sliding")
    if not type(width) is type(step) is int or not (0 < width < INT_LIMIT and 0 < step < INT_LIMIT):
        width = size(width, "list/sliding")
        step = size(step, "list/sliding")
        if width == 0:
            raise SemaError("list/sliding: size must be positive")
        if step == 0:
            raise SemaError("list/sliding: step must be positive")
    return List([List(items[start : start + width]) for start in range(0, len(items) - width + 1, step)])


@builtin("list/page", type="seq a|array a, int, int -> flat a fresh", pure=True)
def list_page(collection: Any, page: Any, per_page: Any) -> List:
    """One page of a list, counted from 1, of per-page elements each.

    (list/page (range 12) 3 5) => (10 11)
    """
    items = elements(collection, "list/page")
    whole(page)
    count = size(per_page, "list/page")
    if page < 1:
        raise SemaError("list/page: page must be >= 1")
    return List(items[(page - 1) * count : page * count])


@builtin("list/pad", type="seq a|array a, int, keep b -> flat (a|b) fresh", pure=True)
def list_pad(collection: Any, length: Any, value: Any) -> List:
    """Appends value to a list until it has a length.

    (list/pad '(1) 3 0) => (1 0 0)
    (list/pad '(1 2 3) 2 0) => (1 2 3)
    """
    items = elements(collection, "list/pad")
    length = size(length, "list/pad")
    return List([*items, *[value] * (length - len(items))])


@builtin("list/nth-or", type="seq a|array a, int, keep b -> a|b", pure=True)
def list_nth_or(collection: Any, index: Any, default: Any) -> Any:
    """The element at index, counted from 0, or default when there are too few.

    (list/nth-or '(10 20) 1 :none) => 20
    (list/nth-or '(10 20) 2 :none) => :none
    """
    items = elements(collection, "list/nth-or")
    index = size(index, "list/nth-or")
    return items[index] if index < len(items) else default


@builtin("flatten", type="seq (seq a|b)|array (seq a|b) -> flat (a|b) fresh", pure=True, total=True)
def flatten(collection: Any) -> List:
    """Flattens a list by one level: the elements of inner lists and vectors take their place.

    (flatten '(1 (2 (3)))) => (1 2 (3))
    """
    joined: list[Any] = []
    for item in elements(collection, "flatten"):
        if isinstance(item, (List, tuple, list)):
            joined += item
        else:
            joined.append(item)
    return List(joined)


@builtin("flatten-deep", type="keep any -> flat fresh", pure=True, total=True)
def flatten_deep(value: Any) -> List:
    """Flattens a list completely: returns the elements of all lists and vectors inside it, at any depth.

    (flatten-deep '(1 (2 [3]))) => (1 2 3)
    """
    flat: list[Any] = []
    stack = [iter((value,))]
    while stack:
        for item in stack[-1]:
            if isinstance(item, (List, tuple, list)):
                stack.append(iter(item))
                break
            flat.append(item)
        else:
            stack.pop()
    return List(flat)


@builtin("zip", type="seq a|array a, seq a|array a, seq a|array a... -> flat flat a fresh", pure=True, total=True)
def zip_(first: Any, second: Any, *more: Any) -> List:
    """Combines lists element by element: returns lists of the first, second, ... elements, up to the end of the
    shortest.

    (zip '(1 2) '(a b)) => ((1 a) (2 b))
    (zip '(1 2 3) '(a) '(x y)) => ((1 a x))
    """
    rows = [elements(collection, "zip") for collection in (first, second, *more)]
    return List(list(map(List, zip(*rows, strict=False))))


@builtin(
    "list/interleave", type="seq a|array a, seq a|array a, seq a|array a... -> flat a fresh", pure=True, total=True
)
def list_interleave(first: Any, second: Any, *more: Any) -> List:
    """The first elements of all the collections, then the second ones, ..., up to the end of the shortest.

    (list/interleave '(1 2) '(a b)) => (1 a 2 b)
    (list/interleave '(1 2 3) '(a)) => (1 a)
    """
    rows = [elements(collection, "list/interleave") for collection in (first, second, *more)]
    return List(list(chain.from_iterable(zip(*rows, strict=False))))


@builtin("interpose", type="keep a, seq b|array b -> flat (a|b) fresh", pure=True, total=True)
def interpose(separator: Any, collection: Any) -> List:
    """The elements of a list with separator between them.

    (interpose 0 '(1 2 3)) => (1 0 2 0 3)
    """
    items = elements(collection, "interpose")
    spread: list[Any] = [separator] * max(0, 2 * len(items) - 1)
    spread[::2] = items
    return List(spread)


@builtin("enumerate", type="seq a|array a -> flat flat (int|a) fresh", pure=True, total=True)
def enumerate_(collection: Any) -> List:
    """Pairs each element of a list or vector with its index.

    (enumerate '(a b)) => ((0 a) (1 b))
    """
    return List(list(map(List, enumerate(elements(collection, "enumerate")))))


@builtin("list/cross-join", type="seq a|array a, seq b|array b -> flat flat (a|b) fresh", pure=True, total=True)
def list_cross_join(first: Any, second: Any) -> List:
    """Combines each element of first with each of second.

    (list/cross-join '(1 2) '(a b)) => ((1 a) (1 b) (2 a) (2 b))
    """
    left = elements(first, "list/cross-join")
    right = elements(second, "list/cross-join")
    return List([List((a, b)) for a in left for b in right])


@builtin("list/join", type="seq|array, str, str? -> str", pure=True)
def list_join(collection: Any, separator: Any, last_separator: Any = MISSING) -> str:
    """Joins the printed forms of the elements into a string, with separator between them and last-separator before the
    last one.

    (list/join '(1 2 3) ", " " and ") => "1, 2 and 3"
    (list/join '("a" "b") "-") => "\\"a\\"-\\"b\\""
    """
    texts = list(map(to_text, elements(collection, "list/join")))
    if last_separator is MISSING:
        last_separator = separator
    for text in (separator, last_separator):
        if type(text) is not str:
            type_error("string", text)
    if len(texts) < 2:
        return "".join(texts)
    return separator.join(texts[:-1]) + last_separator + texts[-1]  # type: ignore[no-any-return]


def nth_after(items: Sequence[Any], start: int, index: int) -> Any:
    """`nth` of the list that begins at an index of a sequence."""
    return nth(tail_of(items, start), index)
