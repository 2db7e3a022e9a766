"""Functions that take functions: map, filter, folds, and grouping and searching by a function.

Each takes a list, vector or mutable array and reads the elements it had at the call. A value that can't be called
raises an error only when there is an element to call it with, as in the reference.
"""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.values.atoms import Keyword
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.lookup import keyword_get, keyword_reader
from sema_runtime.values.maps import Map, stored
from sema_runtime.values.sequences import elements, items_for, not_callable, size
from sema_runtime.values.typenames import INTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@builtin(
    "map",
    "mapcar",
    type=(
        "now (a -> b), seq a|array a -> flat b fresh",
        "now (a, b -> c), seq a|array a, seq b|array b -> flat c fresh",
        "now (a, b, c -> d), seq a|array a, seq b|array b, seq c|array c -> flat d fresh",
        "now fn, keep seq|array, keep seq|array... -> flat fresh",
    ),
)
def map_(function: Any, collection: Any, *more: Any) -> List:
    """Returns the list of the results of calling function with each element of a list or vector. With several
    collections, function takes one element of each; the shortest decides the length.

    (map abs '(-1 2)) => (1 2)
    (map + '(1 2) [10 20 30]) => (11 22)
    (map :name (list {:name "ann"} {:name "bob"})) => ("ann" "bob")
    """
    items = collection.flat or collection.items if type(collection) is List else elements(collection, "map")
    if more:
        rows = [items, *[elements(other, "map") for other in more]]
        if not callable(function) and all(rows):
            not_callable(function)
        return List([function(*row) for row in zip(*rows, strict=False)])
    if type(function) is Keyword:
        return List([keyword_get(item, function) for item in items])
    if not callable(function) and items:
        not_callable(function)
    return List([function(item) for item in items])


@builtin("map-indexed", type="now (int, a -> b), seq a|array a -> flat b fresh")
def map_indexed(function: Any, collection: Any) -> List:
    """Returns the list of the results of calling function with the index and value of each element.

    (map-indexed list '(a b)) => ((0 a) (1 b))
    """
    items = items_for(function, collection, "map-indexed")
    return List([function(index, item) for index, item in enumerate(items)])


@builtin("for-each", type="now (a -> any), seq a|array a -> nil")
def for_each(function: Any, collection: Any) -> None:
    """Calls function with each element of a list or vector, for its effect.

    (for-each println '(1 2)) prints 1\\n2
    """
    items = items_for(function, collection, "for-each")
    for item in items:
        function(item)


@builtin("filter", type="now (a -> any), seq a|array a -> flat a fresh")
def filter_(predicate: Any, collection: Any) -> List:
    """Keeps the elements of a list or vector for which predicate holds.

    (filter even? '(1 2 3 4)) => (2 4)
    (filter :ok (list {:ok #t :n 1} {:ok #f :n 2})) => ({:n 1 :ok #t})
    """
    items = items_for(predicate, collection, "filter")
    if type(predicate) is Keyword:
        predicate = keyword_reader(predicate)
    return List([item for item in items if (verdict := predicate(item)) is not None and verdict is not False])


@builtin("list/reject", type="now (a -> any), seq a|array a -> flat a fresh")
def list_reject(predicate: Any, collection: Any) -> List:
    """Removes the elements for which predicate holds.

    (list/reject even? '(1 2 3)) => (1 3)
    """
    items = items_for(predicate, collection, "list/reject")
    return List([item for item in items if (verdict := predicate(item)) is None or verdict is False])


@builtin("partition", type="now (a -> any), seq a|array a -> flat flat a fresh")
def partition(predicate: Any, collection: Any) -> List:
    """Splits a list by a predicate into the elements for which it holds and the others. For equal parts see list/chunk.

    (partition even? '(1 2 3)) => ((2) (1 3))
    """
    items = items_for(predicate, collection, "partition")
    held: list[Any] = []
    others: list[Any] = []
    for item in items:
        verdict = predicate(item)
        (others if verdict is None or verdict is False else held).append(item)
    return List((List(held), List(others)))


@builtin("foldl", "fold", type="now (b, a -> b), keep b, seq a|array a -> b")
def foldl(function: Any, initial: Any, collection: Any) -> Any:
    """Folds a list or vector from the left: calls (function acc element), where acc is initial at first and then the
    last result.

    (foldl + 0 '(1 2 3)) => 6
    (foldl list 0 '(1 2)) => ((0 1) 2)
    """
    items = items_for(function, collection, "foldl")
    many = len(items) > 16 and type(initial) is int
    if many and getattr(function, "__sema_name__", "") == "+" and INTS.issuperset(map(type, items)):
        return sum(items, initial)
    acc = initial
    for item in items:
        acc = function(acc, item)
    return acc


@builtin("foldr", type="now (a, b -> b), keep b, seq a|array a -> b")
def foldr(function: Any, initial: Any, collection: Any) -> Any:
    """Folds a list or vector from the right: calls (function element acc), where acc is initial at first and then the
    last result.

    (foldr cons '() '(1 2)) => (1 2)
    (foldr list 0 '(1 2)) => (1 (2 0))
    """
    items = items_for(function, collection, "foldr")
    acc = initial
    for item in reversed(items):
        acc = function(item, acc)
    return acc


@builtin("reduce", type="now (a|b, a -> b), seq a|array a -> a|b")
def reduce(function: Any, collection: Any) -> Any:
    """Folds a list or vector from the left, starting with the first element. An empty one raises an error.

    (reduce + '(1 2 3)) => 6
    (reduce + '()) ! reduce: empty list
    """
    items = collection.flat or collection.items if type(collection) is List else elements(collection, "reduce")
    if not callable(function) and len(items) > 1:
        not_callable(function)
    rest = first_and_rest(items)
    acc = next(rest)
    for item in rest:
        acc = function(acc, item)
    return acc


def first_and_rest(items: Any) -> Iterator[Any]:
    """An iterator over the items for `reduce`, of which there must be one. Emitted loops begin with it."""
    if not items:
        raise SemaError("reduce: empty list")
    return iter(items)


@builtin("apply", type=("now fn, keep seq|array -> any", "now fn, keep any, keep any... -> any"))
def apply(function: Any, first: Any, *more: Any) -> Any:
    """Calls function with the elements of a list as its arguments; arguments before the list come first.

    (apply max '(3 1 2)) => 3
    (apply + 1 2 '(3 4)) => 10
    """
    last = more[-1] if more else first
    items = last.flat or last.items if type(last) is List else elements(last, "apply")
    if not callable(function):
        not_callable(function)
    return function(first, *more[:-1], *items) if more else function(*items)


@builtin("any", "any?", "some?", type="now (a -> any), seq a|array a -> bool")
def any_(predicate: Any, collection: Any) -> bool:
    """Whether predicate holds for some element of a list or vector. Returns #t or #f, not the value that predicate
    returned.

    (any even? '(1 2)) => #t
    (any even? '()) => #f
    """
    items = items_for(predicate, collection, "any")
    for item in items:
        verdict = predicate(item)
        if verdict is not None and verdict is not False:
            return True
    return False


@builtin("every", "every?", type="now (a -> any), seq a|array a -> bool")
def every(predicate: Any, collection: Any) -> bool:
    """Whether predicate holds for all elements of a list or vector.

    (every even? '(2 4)) => #t
    (every even? '()) => #t
    """
    items = items_for(predicate, collection, "every")
    for item in items:
        verdict = predicate(item)
        if verdict is None or verdict is False:
            return False
    return True


@builtin("list/find", type="now (a -> any), seq a|array a -> a|nil")
def list_find(predicate: Any, collection: Any) -> Any:
    """Finds the first element for which predicate holds; nil when there is none.

    (list/find even? '(1 2 3)) => 2
    (list/find even? '(1 3)) => nil
    """
    items = items_for(predicate, collection, "list/find")
    for item in items:
        verdict = predicate(item)
        if verdict is not None and verdict is not False:
            return item
    return None


@builtin("list/sole", type="now (a -> any), seq a|array a -> a")
def list_sole(predicate: Any, collection: Any) -> Any:
    """The only element for which predicate holds. Raises an error when there is none or more than one.

    (list/sole even? '(1 2 3)) => 2
    (list/sole even? '(2 4)) ! list/sole: more than one matching item
    """
    items = items_for(predicate, collection, "list/sole")
    matching: list[Any] = []
    for item in items:
        verdict = predicate(item)
        if verdict is not None and verdict is not False:
            matching.append(item)
            if len(matching) > 1:
                raise SemaError("list/sole: more than one matching item")
    if not matching:
        raise SemaError("list/sole: no matching item")
    return matching[0]


def _prefix_length(predicate: Any, items: Any) -> int:
    """How many elements from the start satisfy predicate."""
    if not callable(predicate) and items:
        not_callable(predicate)
    for index, item in enumerate(items):
        verdict = predicate(item)
        if verdict is None or verdict is False:
            return index
    return len(items)


@builtin("take-while", type="now (a -> any), seq a|array a -> flat a fresh")
def take_while(predicate: Any, collection: Any) -> List:
    """Takes elements from the start as long as predicate holds.

    (take-while even? '(2 4 5 6)) => (2 4)
    """
    items = elements(collection, "take-while")
    return List(items[: _prefix_length(predicate, items)])


@builtin("drop-while", type="now (a -> any), seq a|array a -> flat a fresh")
def drop_while(predicate: Any, collection: Any) -> List:
    """Drops elements from the start as long as predicate holds and returns the list of the others.

    (drop-while even? '(2 4 5 6)) => (5 6)
    """
    items = elements(collection, "drop-while")
    return List(items[_prefix_length(predicate, items) :])


@builtin("list/take-while", type="now (a -> any), seq a|array a -> flat a fresh")
def list_take_while(predicate: Any, collection: Any) -> List:
    """Takes elements from the start as long as predicate holds.

    (list/take-while even? '(2 4 5 6)) => (2 4)
    """
    items = elements(collection, "list/take-while")
    return List(items[: _prefix_length(predicate, items)])


@builtin("list/drop-while", type="now (a -> any), seq a|array a -> flat a fresh")
def list_drop_while(predicate: Any, collection: Any) -> List:
    """Drops elements from the start as long as predicate holds and returns the list of the others.

    (list/drop-while even? '(2 4 5 6)) => (5 6)
    """
    items = elements(collection, "list/drop-while")
    return List(items[_prefix_length(predicate, items) :])


@builtin("flat-map", "mapcat", type="now (a -> seq b|b), seq a|array a -> flat b fresh")
def flat_map(function: Any, collection: Any) -> List:
    """Calls function with each element and joins the lists and vectors it returns into one list.

    (flat-map (fn (x) (list x x)) '(1 2)) => (1 1 2 2)
    (flat-map (fn (x) (if (even? x) (list x) '())) '(1 2 3 4)) => (2 4)
    """
    items = items_for(function, collection, "flat-map")
    joined: list[Any] = []
    for item in items:
        joined += spread(function(item))
    return List(joined)


def spread(result: Any) -> Any:
    """What `flat-map` adds for a result: the items of a list or vector, or the value alone. Emitted loops call it."""
    return result if isinstance(result, List | tuple | list) else (result,)


@builtin("list/times", type="int, now (int -> a) -> flat a fresh")
def list_times(count: Any, function: Any) -> List:
    """Returns the list of the results of calling function with 0, 1, ... count - 1.

    (list/times 3 (fn (i) (* i i))) => (0 1 4)
    """
    count = size(count, "list/times")
    if not callable(function) and count:
        not_callable(function)
    return List([function(index) for index in range(count)])


@builtin("list/group-by", type="now (a -> b), seq a|array a -> map b flat a fresh")
def list_group_by(function: Any, collection: Any) -> Map:
    """Groups the elements of a list by the result of function: returns a map from each result to the list of its
    elements.

    (list/group-by even? '(1 2 3)) => {#f (1 3) #t (2)}
    (list/group-by :team (list {:n 1 :team "a"} {:n 2 :team "b"})) => {"a" ({:n 1 :team "a"}) "b" ({:n 2 :team "b"})}
    """
    items = items_for(function, collection, "list/group-by")
    if type(function) is Keyword:
        function = keyword_reader(function)
    groups = new_groups()
    for item in items:
        groups[stored(function(item))].append(item)
    return grouped(groups)


def new_groups() -> dict[Any, list[Any]]:
    """The dict in which emitted code collects items by stored key when the function of `list/group-by` is known."""
    from collections import defaultdict

    return defaultdict(list)


def grouped(groups: dict[Any, list[Any]]) -> Map:
    """The map that `list/group-by` returns for the collected items."""
    return Map({key: List(group) for key, group in groups.items()})


@builtin("list/key-by", "index-by", type="now (a -> b), seq a|array a -> map b a fresh")
def list_key_by(function: Any, collection: Any) -> Map:
    """Indexes the elements of a list by the result of function: returns a map from each result to its last element.

    (list/key-by length '("a" "bb")) => {1 "a" 2 "bb"}
    (list/key-by :id (list {:id 1 :n "a"} {:id 1 :n "b"})) => {1 {:id 1 :n "b"}}
    """
    items = items_for(function, collection, "list/key-by")
    if type(function) is Keyword:
        function = keyword_reader(function)
    return Map({stored(function(item)): item for item in items})


@builtin("tap", type="keep a, now (a -> any) -> a")
def tap(value: Any, function: Any) -> Any:
    """Calls function with value for its effect and returns value.

    (tap 42 println) => 42
    (-> 2 (tap println) (+ 1)) => 3
    """
    if not callable(function):
        not_callable(function)
    function(value)
    return value
