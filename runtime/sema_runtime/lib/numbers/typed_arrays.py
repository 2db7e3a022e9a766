"""f64-array and i64-array: numbers of one type in machine words. Functions that change one return a changed copy."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.values.errors import OutOfBounds, SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.numbers import INT_LIMIT, is_int64
from sema_runtime.values.typed_arrays import FloatArray, IntArray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    from sema_runtime.values.typed_arrays import TypedArray

    A = TypeVar("A", bound=TypedArray)

LONGEST = 1 << 32
EMPTY_SUM = -0.0  # the sum of no floats, so that adding it to anything changes nothing


def _float(value: Any, expected: str = "number") -> float:
    if type(value) is float or is_int64(value):
        return float(value)
    type_error(expected, value)


def _int(value: Any, expected: str = "integer") -> int:
    if is_int64(value):
        return int(value)
    type_error(expected, value)


def _floats(value: Any) -> FloatArray:
    if type(value) is FloatArray:
        return value
    type_error("f64-array", value)


def _ints(value: Any) -> IntArray:
    if type(value) is IntArray:
        return value
    type_error("i64-array", value)


def _items(values: Any) -> Any:
    if isinstance(values, List | list):
        return values
    type_error("list", values)


def _length(function: str, length: Any) -> int:
    if _int(length) < 0:
        raise SemaError(f"{function}: length must be non-negative, got {length}")
    _check_length(function, length)
    return int(length)


def _check_length(function: str, length: float) -> None:
    if length > LONGEST:
        raise SemaError(f"{function}: length {length} exceeds maximum {LONGEST}")


def _index(array: TypedArray, index: Any) -> int:
    """The index as an int. Raises SemaError unless it is one of the array's."""
    if not 0 <= _int(index) < len(array):
        raise OutOfBounds(f"index {index} out of bounds (len {len(array)})")
    return int(index)


def _changed(array: A, index: Any, number: Any, convert: Callable[[Any], Any]) -> A:
    """A copy of an array with a number at index."""
    _int(index)
    number = convert(number)
    return array.changed(_index(array, index), number)


def _mapped(function: Any, array: A, convert: Callable[[Any, str], Any], expected: str) -> A:
    """An array of the results of a function. expected: what the message for a wrong result asks for."""
    return type(array)(convert(function(item), expected) for item in _for_calls(function, array))


def _for_calls(function: Any, array: TypedArray) -> Iterable[Any]:
    """The items of an array. Raises SemaError when there are any and function can't be called with them."""
    if len(array) and not callable(function):
        type_error("callable", function)
    return array  # as it is now: the function may change it


def _folded(function: Callable[[Any, Any], Any], initial: Any, array: TypedArray) -> Any:
    result = initial
    for item in _for_calls(function, array):
        result = function(result, item)
    return result


# f64-array


@builtin("f64-array", type="int|float... -> other fresh", pure=True)
def f64_array(*numbers: Any) -> FloatArray:
    """A packed array of floats, for arithmetic on many numbers.

    (f64-array 1 2.5) => #f64(1 2.5)
    """
    return FloatArray(map(_float, numbers))


@builtin("f64-array/make", type="int, int|float? -> other fresh", pure=True)
def f64_array_make(length: Any, fill: Any = 0.0) -> FloatArray:
    """An array of length floats, all of them fill.

    (f64-array/make 2 1.5) => #f64(1.5 1.5)
    """
    length = _length("f64-array/make", length)
    return FloatArray([_float(fill)] * length)


@builtin("f64-array/from-list", type="list (int|float) -> other fresh", pure=True)
def f64_array_from_list(numbers: Any) -> FloatArray:
    """An array of the numbers of a list.

    (f64-array/from-list '(1 2)) => #f64(1 2)
    """
    return FloatArray(map(_float, _items(numbers)))


@builtin("f64-array/range", type="int|float, int|float, int|float? -> other fresh", pure=True)
def f64_array_range(start: Any, end: Any, step: Any = 1.0) -> FloatArray:
    """The floats from start up to, not including, end, each step more than the one before.

    (f64-array/range 0 1 0.25) => #f64(0 0.25 0.5 0.75)
    """
    start, end, step = _float(start), _float(end), _float(step)
    if step == 0:
        raise SemaError("f64-array/range: step cannot be zero")
    _check_length("f64-array/range", (end - start) / step)
    items = []
    item = start
    while item < end if step > 0 else item > end:
        items.append(item)
        item += step
    return FloatArray(items)


@builtin("f64-array/length", type="other -> nat", pure=True)
def f64_array_length(array: Any) -> int:
    """The number of items of an array of floats.

    (f64-array/length (f64-array 1 2)) => 2
    """
    return len(array.items if type(array) is FloatArray else _floats(array))


@builtin("f64-array/ref", type="other, int -> float", pure=True)
def f64_array_ref(array: Any, index: Any) -> float:
    """The item at index, counted from 0.

    (f64-array/ref (f64-array 1 2) 1) => 2.0
    """
    if type(array) is FloatArray and type(index) is int and index >= 0:
        items = array.own
        if items is not None and index < len(items):
            return items[index]
    array = _floats(array)
    return array.items[_index(array, index)]  # type: ignore[no-any-return]


@builtin("f64-array/set!", type="other, int, int|float -> other fresh", pure=True)
def f64_array_set_mut(array: Any, index: Any, number: Any) -> FloatArray:
    """A copy of an array with another number at index; the array itself stays as it is.

    (f64-array/set! (f64-array 1 2) 0 9) => #f64(9 2)
    """
    if type(number) is float and type(array) is FloatArray and type(index) is int and 0 <= index < len(array.items):
        return array.changed(index, number)
    return _changed(_floats(array), index, number, _float)


@builtin("f64-array/map", type="now (float -> int|float), other -> other fresh")
def f64_array_map(function: Any, array: Any) -> FloatArray:
    """An array of the results of calling a function with each item.

    (f64-array/map (fn (x) (* x 2)) (f64-array 1 2)) => #f64(2 4)
    """
    return _mapped(function, _floats(array), _float, "number (f64-array/map callback must return number)")


@builtin("f64-array/fold", type="now (a, float -> a), keep a, other -> a")
def f64_array_fold(function: Any, initial: Any, array: Any) -> Any:
    """Folds an array: calls a function with the result so far (at first initial) and each item, and returns the last
    result.

    (f64-array/fold + 0 (f64-array 1 2)) => 3.0
    """
    return _folded(function, initial, _floats(array))


@builtin("f64-array/sum", type="other -> float", pure=True)
def f64_array_sum(array: Any) -> float:
    """The sum of the items of an array of floats.

    (f64-array/sum (f64-array 1 2.5)) => 3.5
    """
    return _total(_floats(array).items)


@builtin("f64-array/dot", type="other, other -> float", pure=True)
def f64_array_dot(a: Any, b: Any) -> float:
    """The dot product of two arrays: the sum of the products of items at the same index.

    (f64-array/dot (f64-array 1 2) (f64-array 3 4)) => 11.0
    """
    left, right = _floats(a).items, _floats(b).items
    if len(left) != len(right):
        raise SemaError(f"f64-array/dot: length mismatch ({len(left)} vs {len(right)})")
    return _total(x * y for x, y in zip(left, right, strict=True))


def _total(numbers: Iterable[float]) -> float:
    """The sum from left to right, each step rounded. Python's own `sum` corrects its rounding since 3.12."""
    total = EMPTY_SUM
    for number in numbers:
        total += number
    return total


@builtin("f64-array?", type="any -> bool", pure=True, total=True)
def is_f64_array(value: Any) -> bool:
    """Whether value is an array of floats.

    (f64-array? (f64-array 1)) => #t
    (f64-array? [1.0]) => #f
    """
    return type(value) is FloatArray


# i64-array


@builtin("i64-array", type="int... -> other fresh", pure=True)
def i64_array(*numbers: Any) -> IntArray:
    """A packed array of 64-bit ints, for arithmetic on many numbers.

    (i64-array 1 2) => #i64(1 2)
    """
    return IntArray(map(_int, numbers))


@builtin("i64-array/make", type="int, int? -> other fresh", pure=True)
def i64_array_make(length: Any, fill: Any = 0) -> IntArray:
    """An array of length ints, all of them fill.

    (i64-array/make 2 7) => #i64(7 7)
    """
    length = _length("i64-array/make", length)
    return IntArray([_int(fill)] * length)


@builtin("i64-array/from-list", type="list int -> other fresh", pure=True)
def i64_array_from_list(numbers: Any) -> IntArray:
    """An array of the ints of a list.

    (i64-array/from-list '(1 2)) => #i64(1 2)
    """
    return IntArray(map(_int, _items(numbers)))


@builtin("i64-array/range", type="int, int, int? -> other fresh", pure=True)
def i64_array_range(start: Any, end: Any, step: Any = 1) -> IntArray:
    """The ints from start up to, not including, end, each step more than the one before.

    (i64-array/range 0 5 2) => #i64(0 2 4)
    """
    start, end, step = _int(start), _int(end), _int(step)
    if step == 0:
        raise SemaError("i64-array/range: step cannot be zero")
    _check_length("i64-array/range", (end - start) // step)
    return IntArray(range(start, end, step))


@builtin("i64-array/length", type="other -> nat", pure=True)
def i64_array_length(array: Any) -> int:
    """The number of items of an array of ints.

    (i64-array/length (i64-array 1 2)) => 2
    """
    return len(array.items if type(array) is IntArray else _ints(array))


@builtin("i64-array/ref", type="other, int -> int", pure=True)
def i64_array_ref(array: Any, index: Any) -> int:
    """The item at index, counted from 0.

    (i64-array/ref (i64-array 1 2) 1) => 2
    """
    if type(array) is IntArray and type(index) is int and index >= 0:
        items = array.own
        if items is not None and index < len(items):
            return items[index]  # type: ignore[return-value]
    array = _ints(array)
    return array.items[_index(array, index)]  # type: ignore[no-any-return]


@builtin("i64-array/set!", type="other, int, int -> other fresh", pure=True)
def i64_array_set_mut(array: Any, index: Any, number: Any) -> IntArray:
    """A copy of an array with another int at index; the array itself stays as it is.

    (i64-array/set! (i64-array 1 2) 0 9) => #i64(9 2)
    """
    if is_int64(number) and type(array) is IntArray and type(index) is int and 0 <= index < len(array.items):
        return array.changed(index, number)
    return _changed(_ints(array), index, number, _int)


@builtin("i64-array/map", type="now (int -> int), other -> other fresh")
def i64_array_map(function: Any, array: Any) -> IntArray:
    """An array of the results of calling a function with each item.

    (i64-array/map (fn (x) (* x 2)) (i64-array 1 2)) => #i64(2 4)
    """
    return _mapped(function, _ints(array), _int, "integer (i64-array/map callback must return integer)")


@builtin("i64-array/fold", type="now (a, int -> a), keep a, other -> a")
def i64_array_fold(function: Any, initial: Any, array: Any) -> Any:
    """Folds an array: calls a function with the result so far (at first initial) and each item, and returns the last
    result.

    (i64-array/fold * 1 (i64-array 3 4)) => 12
    """
    return _folded(function, initial, _ints(array))


@builtin("i64-array/sum", type="other -> int", pure=True)
def i64_array_sum(array: Any) -> int:
    """The sum of the items of an array of ints; beyond 64 bits it wraps around.

    (i64-array/sum (i64-array 1 2)) => 3
    (i64-array/sum (i64-array 9223372036854775807 1)) => -9223372036854775808
    """
    total = int(sum(_ints(array).items))
    return (total + INT_LIMIT) % (2 * INT_LIMIT) - INT_LIMIT


@builtin("i64-array?", type="any -> bool", pure=True, total=True)
def is_i64_array(value: Any) -> bool:
    """Whether value is an array of 64-bit ints.

    (i64-array? (i64-array 1)) => #t
    """
    return type(value) is IntArray
