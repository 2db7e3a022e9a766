"""Elementary functions of real numbers, helpers on ints and floats (`math/clamp`, `math/lerp` ...), random numbers."""

from __future__ import annotations

import math

from sema_runtime.catalogue import builtin
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.numbers import COMPLEX, INFINITY, NAN, NUMBERS, divide_floats, is_int64, to_float

MOST_DECIMALS = 65_535  # of a formatted number: the reference ends there, too
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _real(function: str, number: Any) -> float:
    """The float nearest to a real number. Raises a type error for other values."""
    if type(number) is float:
        return number
    if not NUMBERS[type(number)]:
        type_error("number", number)
    if type(number) in COMPLEX:
        type_error("real number", number, f"{function}: complex has no real projection")
    return to_float(number)


def _applied(function: str, operation: Callable[[float], float], number: Any) -> float:
    """operation on a number; NaN outside its domain, infinity beyond the largest float."""
    if type(number) is not float:
        number = _real(function, number)
    try:
        return operation(number)
    except ValueError:
        return NAN
    except OverflowError:
        return INFINITY


@builtin("sin", type="int|float|rational -> float", pure=True, total=True)
def sin(angle: Any) -> float:
    """The sine of an angle in radians.

    (sin 0) => 0.0
    """
    return _applied("sin", math.sin, angle)


@builtin("cos", type="int|float|rational -> float", pure=True, total=True)
def cos(angle: Any) -> float:
    """The cosine of an angle in radians.

    (cos 0) => 1.0
    """
    return _applied("cos", math.cos, angle)


@builtin("math/tan", type="int|float|rational -> float", pure=True, total=True)
def math_tan(angle: Any) -> float:
    """The tangent of an angle in radians.

    (math/tan 0) => 0.0
    """
    return _applied("math/tan", math.tan, angle)


@builtin("math/asin", type="int|float|rational -> float", pure=True, total=True)
def math_asin(number: Any) -> float:
    """The angle in radians whose sine is number; NaN outside -1 to 1.

    (math/asin 0) => 0.0
    """
    return _applied("math/asin", math.asin, number)


@builtin("math/acos", type="int|float|rational -> float", pure=True, total=True)
def math_acos(number: Any) -> float:
    """The angle in radians whose cosine is number; NaN outside -1 to 1.

    (math/acos 1) => 0.0
    (math/acos 2) => NaN
    """
    return _applied("math/acos", math.acos, number)


@builtin("math/atan", type="int|float|rational -> float", pure=True, total=True)
def math_atan(number: Any) -> float:
    """The angle in radians whose tangent is number.

    (math/atan 0) => 0.0
    """
    return _applied("math/atan", math.atan, number)


@builtin("math/atan2", type="int|float|rational, int|float|rational -> float", pure=True, total=True)
def math_atan2(y: Any, x: Any) -> float:
    """The angle of the point (x, y), in radians, from -π to π.

    (math/atan2 1 1) => 0.7853981633974483
    """
    y = _real("math/atan2", y)
    return math.atan2(y, _real("math/atan2", x))


@builtin("math/sinh", type="int|float|rational -> float", pure=True, total=True)
def math_sinh(number: Any) -> float:
    """The hyperbolic sine.

    (math/sinh 0) => 0.0
    """
    number = _real("math/sinh", number)
    try:
        return math.sinh(number)
    except OverflowError:
        return math.copysign(INFINITY, number)


@builtin("math/cosh", type="int|float|rational -> float", pure=True, total=True)
def math_cosh(number: Any) -> float:
    """The hyperbolic cosine.

    (math/cosh 0) => 1.0
    """
    return _applied("math/cosh", math.cosh, number)


@builtin("math/tanh", type="int|float|rational -> float", pure=True, total=True)
def math_tanh(number: Any) -> float:
    """The hyperbolic tangent.

    (math/tanh 0) => 0.0
    """
    return math.tanh(_real("math/tanh", number))


@builtin("math/exp", type="int|float|rational -> float", pure=True, total=True)
def math_exp(number: Any) -> float:
    """e to the power of number.

    (math/exp 0) => 1.0
    """
    return _applied("math/exp", math.exp, number)


def _logarithm(function: str, operation: Callable[[float], float], number: Any) -> float:
    number = _real(function, number)
    if number > 0:
        return operation(number)
    return -INFINITY if number == 0 else NAN


@builtin("log", type="int|float|rational -> float", pure=True, total=True)
def log(number: Any) -> float:
    """The natural logarithm of a number: -inf of 0, NaN below. Other bases: math/log2, math/log10.

    (log e) => 1.0
    (log 0) => -inf
    """
    return _logarithm("log", math.log, number)


@builtin("math/log2", type="int|float|rational -> float", pure=True, total=True)
def math_log2(number: Any) -> float:
    """The logarithm to base 2.

    (math/log2 8) => 3.0
    """
    return _logarithm("math/log2", math.log2, number)


@builtin("math/log10", type="int|float|rational -> float", pure=True, total=True)
def math_log10(number: Any) -> float:
    """The logarithm to base 10.

    (math/log10 1000) => 3.0
    """
    return _logarithm("math/log10", math.log10, number)


@builtin("math/nan?", type="any -> bool", pure=True, total=True)
def math_is_nan(value: Any) -> bool:
    """Whether value is NaN, the float that is not a number; #f for anything that isn't a float.

    (math/nan? (- inf inf)) => #t
    """
    return type(value) is float and value != value


@builtin("math/infinite?", type="any -> bool", pure=True, total=True)
def math_is_infinite(value: Any) -> bool:
    """Whether value is inf or -inf; #f for anything that isn't a float.

    (math/infinite? (/ 1 0.0)) => #t
    """
    return type(value) is float and value in (INFINITY, -INFINITY)


# Helpers that take ints of at most 64 bits and floats, nothing else


def _floats(*numbers: Any) -> list[float]:
    for number in numbers:
        if type(number) is not float and not is_int64(number):
            type_error("number", number)
    return [float(number) for number in numbers]


@builtin("math/degrees->radians", type="int|float -> float", pure=True)
def math_degrees_to_radians(degrees: Any) -> float:
    """Converts an angle from degrees to radians.

    (math/degrees->radians 180) => 3.141592653589793
    """
    return math.radians(_floats(degrees)[0])


@builtin("math/radians->degrees", type="int|float -> float", pure=True)
def math_radians_to_degrees(radians: Any) -> float:
    """Converts an angle from radians to degrees.

    (math/radians->degrees pi) => 180.0
    """
    return math.degrees(_floats(radians)[0])


@builtin("math/clamp", type="int|float, int|float, int|float -> int|float", pure=True)
def math_clamp(number: Any, low: Any, high: Any) -> Any:
    """Limits number to the range from low to high; a float when any argument is one.

    (math/clamp 15 0 10) => 10
    (math/clamp 5 0 10) => 5
    """
    floats = _floats(number, low, high)
    if type(number) is not int or type(low) is not int or type(high) is not int:
        number, low, high = floats
    if number < low:
        number = low
    return high if number > high else number


@builtin("math/lerp", type="int|float, int|float, int|float -> float", pure=True)
def math_lerp(start: Any, end: Any, part: Any) -> float:
    """The value at part (0 to 1) of the way from start to end.

    (math/lerp 0 100 0.5) => 50.0
    """
    start, end, part = _floats(start, end, part)
    return float(start + (end - start) * part)


@builtin("math/map-range", type="int|float, int|float, int|float, int|float, int|float -> float", pure=True)
def math_map_range(number: Any, from_low: Any, from_high: Any, to_low: Any, to_high: Any) -> float:
    """Maps a number from one range to another.

    (math/map-range 5 0 10 0 100) => 50.0
    """
    number, from_low, from_high, to_low, to_high = _floats(number, from_low, from_high, to_low, to_high)
    return float(to_low + divide_floats(number - from_low, from_high - from_low) * (to_high - to_low))


def _digits(value: Any) -> int:
    if is_int64(value):
        return int(value)
    type_error("integer", value)


@builtin("math/round-to", type="int|float, int -> float", pure=True)
def math_round_to(number: Any, digits: Any) -> float:
    """Rounds number to a count of decimals, halves away from zero; a negative count rounds before the point.

    (math/round-to 3.14159 2) => 3.14
    (math/round-to 1234 -2) => 1200.0
    (math/round-to 2.5 0) => 3.0
    """
    (value,) = _floats(number)
    places = _digits(digits)
    if value - value != 0 or places > 308:
        return value
    if places < -308:
        return math.copysign(0.0, value)
    unit = 10.0 ** abs(places)
    scaled = value * unit if places >= 0 else value / unit
    if scaled - scaled != 0:
        return value
    whole = float(math.trunc(scaled))
    if abs(scaled - whole) >= 0.5:
        whole += math.copysign(1.0, scaled)
    whole = math.copysign(whole, value)
    return whole / unit if places >= 0 else whole * unit


@builtin("math/format-fixed", type="int|float, int -> str", pure=True)
def math_format_fixed(number: Any, digits: Any) -> str:
    """Formats number with exactly that many decimals.

    (math/format-fixed 3.14159 2) => "3.14"
    (math/format-fixed 2 2) => "2.00"
    (math/format-fixed 2.5 0) => "2"
    (math/format-fixed 1.5 70000) ! math/format-fixed: at most 65535 decimals, got 70000
    """
    if type(number) is float and type(digits) is int and 0 <= digits < 100 and number == number:
        return "%.*f" % (digits, number)  # noqa: UP031  (half the time of a nested format)
    (value,) = _floats(number)
    places = max(0, _digits(digits))
    if places > MOST_DECIMALS:
        raise SemaError(f"math/format-fixed: at most {MOST_DECIMALS} decimals, got {places}")
    return "NaN" if value != value else f"{value:.{places}f}"


# Random numbers


@builtin("math/random", type="-> float", total=True)
def math_random() -> float:
    """A random number: a float from 0 up to, not including, 1.

    (< -1 (math/random) 1) => #t
    """
    from random import random

    return random()


@builtin("math/random-int", type="int, int -> int")
def math_random_int(low: Any, high: Any) -> int:
    """A random number: an int from low to high, both included.

    (<= 1 (math/random-int 1 6) 6) => #t
    """
    for bound in (low, high):
        if not is_int64(bound):
            type_error("int", bound)
    if low > high:
        raise SemaError(f"math/random-int: lo ({low}) must be <= hi ({high})")
    from random import randint

    return randint(low, high)
