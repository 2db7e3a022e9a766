"""Mutable arrays and cells."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.values.errors import OutOfBounds, type_error
from sema_runtime.values.maps import MISSING
from sema_runtime.values.mutable import MutableArray, MutableCell
from sema_runtime.values.sequences import size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@builtin("mutable-array/new", type="int?, keep a? -> array a fresh")
def mutable_array_new(count: Any = 0, fill: Any = MISSING) -> MutableArray:
    """A mutable array that holds fill count times; without fill it is empty and may grow to count elements.

    (mutable-array/->vector (mutable-array/new 2 0)) => [0 0]
    (mutable-array/length (mutable-array/new 2)) => 0
    """
    count = size(count, "mutable-array/new")
    return MutableArray([] if fill is MISSING else [fill] * count)


def _array(value: Any, function: str) -> list[Any]:
    if type(value) is not MutableArray:
        type_error("mutable-array", value, f"{function}: create one with (mutable-array/new)")
    return value.items


@builtin("mutable-array/get", type="array a, int, keep b? -> a|b")
def mutable_array_get(array: Any, index: Any, default: Any = MISSING) -> Any:
    """The element at index; default when there are too few, or an error without a default.

    (mutable-array/get (mutable-array/new 2 :x) 1) => :x
    (mutable-array/get (mutable-array/new 2 :x) 5) ! mutable-array/get: index 5 out of bounds (length 2)
    """
    if type(array) is MutableArray and type(index) is int and index >= 0:
        try:
            return array.items[index]
        except IndexError:
            pass
    items = _array(array, "mutable-array/get")
    index = size(index, "mutable-array/get")
    if default is not MISSING:
        return default
    raise OutOfBounds(f"mutable-array/get: index {index} out of bounds (length {len(items)})")


@builtin("mutable-array/set!", type="keep array a, int, keep b -> array (a|b)")
def mutable_array_set_mut(array: Any, index: Any, value: Any) -> Any:
    """Replaces the element at index, which must exist, and returns the array.

    (mutable-array/->vector (mutable-array/set! (mutable-array/new 2 0) 1 :y)) => [0 :y]
    """
    if type(array) is MutableArray and type(index) is int and index >= 0:
        try:
            array.items[index] = value
            return array
        except IndexError:
            pass
    items = _array(array, "mutable-array/set!")
    index = size(index, "mutable-array/set!")
    raise OutOfBounds(
        f"mutable-array/set!: index {index} out of bounds (length {len(items)})",
        "set! writes to an existing slot; use mutable-array/push! to grow",
    )


@builtin("mutable-array/push!", type="keep array a, keep b -> array (a|b)", total=True)
def mutable_array_push_mut(array: Any, value: Any) -> Any:
    """Appends value to a mutable array and returns the array.

    (define a (mutable-array/new))
    (mutable-array/length (mutable-array/push! a 1)) => 1
    """
    items = array.items if type(array) is MutableArray else _array(array, "mutable-array/push!")
    items.append(value)
    return array


@builtin("mutable-array/length", type="array -> nat", total=True)
def mutable_array_length(array: Any) -> int:
    """The number of elements.

    (mutable-array/length (mutable-array/new 3 0)) => 3
    """
    return len(array.items if type(array) is MutableArray else _array(array, "mutable-array/length"))


@builtin("mutable-array/->vector", type="array a -> vector a", total=True)
def mutable_array_to_vector(array: Any) -> tuple[Any, ...]:
    """A vector of the current elements of a mutable array.

    (mutable-array/->vector (mutable-array/new 1 :a)) => [:a]
    """
    return tuple(_array(array, "mutable-array/->vector"))


@builtin("mutable-cell/new", type="keep any -> other fresh", total=True)
def mutable_cell_new(value: Any) -> MutableCell:
    """A mutable cell that holds value, for state that functions share.

    (define counter (mutable-cell/new 0))
    (mutable-cell/set! counter 5)
    (mutable-cell/get counter) => 5
    """
    return MutableCell(value)


@builtin("mutable-cell/get", type="keep other -> any")
def mutable_cell_get(cell: Any) -> Any:
    """The current value of a cell.

    (mutable-cell/get (mutable-cell/new 1)) => 1
    """
    if type(cell) is not MutableCell:
        type_error("mutable-cell", cell, "mutable-cell/get: create one with (mutable-cell/new v)")
    return cell.value


@builtin("mutable-cell/set!", type="keep other, keep any -> other")
def mutable_cell_set_mut(cell: Any, value: Any) -> Any:
    """Sets the value of a cell and returns the cell.

    (mutable-cell/get (mutable-cell/set! (mutable-cell/new 1) 2)) => 2
    """
    if type(cell) is not MutableCell:
        type_error("mutable-cell", cell, "mutable-cell/set!: create one with (mutable-cell/new v)")
    cell.value = value
    return cell
