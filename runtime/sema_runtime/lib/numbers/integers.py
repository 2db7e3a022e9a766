"""Functions of integers of any size: common divisors and multiples, bits."""

from __future__ import annotations

import math

from sema_runtime.catalogue import builtin
from sema_runtime.support.text_arguments import count
from sema_runtime.values.errors import type_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@builtin("gcd", "math/gcd", type="int... -> int", pure=True, total=True)
def gcd(*numbers: Any) -> int:
    """The greatest common divisor; 0 of no numbers.

    (gcd 12 18) => 6
    """
    _check_ints("integer", numbers)
    return math.gcd(*numbers)


@builtin("lcm", "math/lcm", type="int... -> int", pure=True, total=True)
def lcm(*numbers: Any) -> int:
    """The least common multiple; 1 of no numbers.

    (lcm 4 6) => 12
    """
    _check_ints("integer", numbers)
    return math.lcm(*numbers)


def _check_ints(expected: str, numbers: tuple[Any, ...], hint: str | None = None) -> None:
    for number in numbers:
        if type(number) is not int:
            type_error(expected, number, hint)


@builtin("bit/and", type="int, int -> int", pure=True, total=True)
def bit_and(a: Any, b: Any) -> int:
    """Bitwise and of two ints of any size.

    (bit/and 12 10) => 8
    """
    _check_ints("int", (a, b), "bit/and")
    return int(a & b)


@builtin("bit/or", type="int, int -> int", pure=True, total=True)
def bit_or(a: Any, b: Any) -> int:
    """Bitwise or of two ints of any size.

    (bit/or 12 10) => 14
    """
    _check_ints("int", (a, b), "bit/or")
    return int(a | b)


@builtin("bit/xor", type="int, int -> int", pure=True, total=True)
def bit_xor(a: Any, b: Any) -> int:
    """Bitwise exclusive or of two ints of any size.

    (bit/xor 12 10) => 6
    """
    _check_ints("int", (a, b), "bit/xor")
    return int(a ^ b)


@builtin("bit/not", type="int -> int", pure=True, total=True)
def bit_not(number: Any) -> int:
    """All bits flipped: -n - 1.

    (bit/not 5) => -6
    """
    _check_ints("int", (number,), "bit/not")
    return int(~number)


@builtin("bit/shift-left", type="int, int -> int", pure=True)
def bit_shift_left(number: Any, places: Any) -> int:
    """number times 2 to the power of places; nothing is cut off.

    (bit/shift-left 1 10) => 1024
    """
    _check_ints("int", (number,), "bit/shift-left")
    return int(number << count("bit/shift-left", places))


@builtin("bit/shift-right", type="int, int -> int", pure=True)
def bit_shift_right(number: Any, places: Any) -> int:
    """number divided by 2 to the power of places, rounded down.

    (bit/shift-right 1024 3) => 128
    """
    _check_ints("int", (number,), "bit/shift-right")
    return int(number >> count("bit/shift-right", places))
