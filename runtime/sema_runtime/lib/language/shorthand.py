"""Short names that programs written from memory use. All are extensions: the reference lacks these names, and a
program's own definition of one of them wins.

Where the reference has the same function under another name, the short one stands as an alias in its declaration.
"""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.lib.collections.list_sets import counted
from sema_runtime.lib.numbers.arithmetic import add, div, lt
from sema_runtime.support.text_arguments import strings
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map, stored
from sema_runtime.values.numbers import NUMBERS
from sema_runtime.values.sequences import elements, items_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


# Text


@builtin("split", type="str, str? -> flat str fresh", pure=True, total=True)
def split(text: Any, separator: Any = None) -> List:
    """Splits a string at each occurrence of a separator; without one, into its words.

    (split "a,b,,c" ",") => ("a" "b" "" "c")
    (split "  two  words ") => ("two" "words")
    """
    from sema_runtime.lib.text.strings import string_split

    if separator is not None:
        return string_split(text, separator)
    strings(text)
    return List(text.split())


@builtin("join", type="str|seq, str|seq? -> str", pure=True)
def join(items: Any, separator: Any = "") -> str:
    """Joins the items of a list or vector into one string, with separator between them. The separator may come first.

    (join '("a" "b") ", ") => "a, b"
    (join ", " '("a" "b")) => "a, b"
    (join '(1 2)) => "12"
    """
    from sema_runtime.lib.text.strings import string_join

    return string_join(separator, items) if isinstance(items, str) else string_join(items, separator)


@builtin("blank?", type="str|nil -> bool", pure=True, total=True)
def is_blank(text: Any) -> bool:
    """Whether a string is empty or only white space; #t for nil.

    (map blank? (list "" " \\n" "a" nil)) => (#t #t #f #t)
    """
    if text is None:
        return True
    strings(text)
    return not text.strip()


@builtin("index-of", type="str|seq|array, any -> int|nil", pure=True)
def index_of(collection: Any, value: Any) -> int | None:
    """The index of the first occurrence of value: a substring of a string, or an item of a list or vector; nil when
    there is none.

    (index-of "hello" "l") => 2
    (index-of '(10 20) 20) => 1
    """
    if isinstance(collection, str):
        from sema_runtime.lib.text.search import string_index_of

        return string_index_of(collection, value)
    from sema_runtime.lib.collections.list_sets import list_index_of

    return list_index_of(collection, value)


# Data. The function comes first and the list last, so that they work in `->>`.


@builtin("sum", type="seq (number)|array (number) -> number", pure=True, total=True)
def sum_(items: Any) -> Any:
    """The sum of a list or vector of numbers; 0 when it is empty.

    (sum '(1 2 1/2)) => 7/2
    """
    return _total(elements(items, "sum"))


@builtin("sum-by", type="now (a -> number), seq a|array a -> number")
def sum_by(function: Any, items: Any) -> Any:
    """The sum of the results of calling function with each item of a list or vector.

    (sum-by :price (list {:price 2} {:price 3})) => 5
    """
    return _total([function(item) for item in items_for(function, items, "sum-by")])


@builtin("avg-by", type="now (a -> number), seq a|array a -> number")
def avg_by(function: Any, items: Any) -> Any:
    """The average of the results of calling function with each item of a list or vector.

    (avg-by :price (list {:price 2} {:price 3})) => 2.5
    """
    values = [function(item) for item in items_for(function, items, "avg-by")]
    if not values:
        raise SemaError("avg-by: empty list")
    total = _total(values)
    return div(float(total) if type(total) is int else total, len(values))


@builtin("max-by", type="now (a -> any), seq a|array a -> a|nil")
def max_by(function: Any, items: Any) -> Any:
    """The item for which function returns the largest number or string, the first of equals; nil without items.

    (max-by :price (list {:price 2} {:price 3})) => {:price 3}
    """
    return _extreme(items_for(function, items, "max-by"), function, largest=True)


@builtin("min-by", type="now (a -> any), seq a|array a -> a|nil")
def min_by(function: Any, items: Any) -> Any:
    """The item for which function returns the smallest number or string, the first of equals; nil without items.

    (min-by string/length '("ccc" "a" "bb")) => "a"
    """
    return _extreme(items_for(function, items, "min-by"), function, largest=False)


@builtin("count-by", type="now (a -> b), seq a|array a -> map b int fresh")
def count_by(function: Any, items: Any) -> Map:
    """A map from each result of calling function with an item to the number of items with that result.

    (count-by even? '(1 2 3)) => {#f 2 #t 1}
    """
    return Map(counted([function(item) for item in items_for(function, items, "count-by")]))


@builtin("distinct-by", type="now (a -> any), seq a|array a -> flat a fresh")
def distinct_by(function: Any, items: Any) -> List:
    """The items without those for which function returns a value that it returned for an earlier item.

    (distinct-by abs '(1 -1 2)) => (1 2)
    """
    kept: dict[Any, Any] = {}
    for item in items_for(function, items, "distinct-by"):
        kept.setdefault(stored(function(item)), item)
    return List(list(kept.values()))


@builtin("keep", type="now (a -> b), seq a|array a -> flat b fresh")
def keep(function: Any, items: Any) -> List:
    """The results of calling function with each item, without the nils.

    (keep :a (list {:a 1} {:b 2} {:a #f})) => (1 #f)
    """
    values = [function(item) for item in items_for(function, items, "keep")]
    return List([value for value in values if value is not None])


def _total(values: Iterable[Any]) -> Any:
    total: Any = 0
    for value in values:
        if not NUMBERS[type(value)]:
            type_error("number", value)
        total = add(total, value)
    return total


def _extreme(items: Iterable[Any], function: Any, *, largest: bool) -> Any:
    best: Any = None
    best_key: Any = None
    for index, item in enumerate(items):
        key = function(item)
        if index == 0 or (lt(best_key, key) if largest else lt(key, best_key)):
            best, best_key = item, key
    return best
