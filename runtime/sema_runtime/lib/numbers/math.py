"""Numbers: rounding, roots, powers, exactness, complex parts.

Elementary functions are in `math_functions`, divisors and bits in `integers`.
"""

from __future__ import annotations

import math

from sema_runtime.catalogue import builtin
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import MISSING
from sema_runtime.values.numbers import (
    COMPLEX,
    INFINITY,
    NAN,
    NUMBERS,
    REALS,
    parts,
    ratio,
    rational,
    rectangular,
    to_float,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction
    from typing import Any

ORDER_HINT = "complex numbers (and NaN) have no ordering"
EXACT = 1 << 52  # the root of a smaller int is whole in floats where it is in ints
LARGEST_EXPONENT = 1 << 40  # beyond, a power of an exact number has more digits than a machine can hold


# Size and order


@builtin("abs", type="number -> int|float|rational", pure=True)
def abs_(number: Any) -> Any:
    """The absolute value of a number; of a complex number, its distance from 0.

    (abs -5) => 5
    (abs 3+4i) => 5.0
    """
    if NUMBERS[type(number)]:
        return abs(number)
    type_error("number", number)


@builtin("magnitude", type="number -> int|float|rational", pure=True)
def magnitude(number: Any) -> Any:
    """The distance of a number from 0.

    (magnitude 3+4i) => 5.0
    """
    if NUMBERS[type(number)]:
        return abs(number)
    type_error("number", number)


@builtin(
    "max",
    type=("number -> number", "int|float|rational, int|float|rational, int|float|rational... -> int|float|rational"),
    pure=True,
)
def max_(first: Any, second: Any = MISSING, *rest: Any) -> Any:
    """The greatest of some numbers, as a float when any argument is one.

    (max 3 7 2) => 7
    (max 1 0.5) => 1.0
    """
    kind = type(first)
    if kind is type(second) and not rest and (kind is int or kind is float):
        if first >= second:
            return first
        if second > first:  # neither holds for NaN
            return second
    if kind is int and type(second) is int:
        best = first if first >= second else second
        for number in rest:
            if type(number) is not int:
                break
            if number > best:
                best = number
        else:
            return best
    return _extreme("max", first, rest if second is MISSING else (second, *rest))


@builtin(
    "min",
    type=("number -> number", "int|float|rational, int|float|rational, int|float|rational... -> int|float|rational"),
    pure=True,
)
def min_(first: Any, second: Any = MISSING, *rest: Any) -> Any:
    """The least of some numbers, as a float when any argument is one.

    (min 3 7 2) => 2
    """
    kind = type(first)
    if kind is type(second) and not rest and (kind is int or kind is float):
        if first <= second:
            return first
        if second < first:  # neither holds for NaN
            return second
    if kind is int and type(second) is int:
        best = first if first <= second else second
        for number in rest:
            if type(number) is not int:
                break
            if number < best:
                best = number
        else:
            return best
    return _extreme("min", first, rest if second is MISSING else (second, *rest))


def _extreme(function: str, first: Any, rest: tuple[Any, ...]) -> Any:
    if not NUMBERS[type(first)]:
        type_error("number", first)
    best, inexact = first, type(first) is float
    for number in rest:
        if not NUMBERS[type(number)]:
            type_error("number", number)
        if number != number or best != best or type(number) in COMPLEX or type(best) in COMPLEX:
            raise SemaError(f"{function}: cannot order these numbers", ORDER_HINT)
        inexact = inexact or type(number) is float
        if number > best if function == "max" else number < best:
            best = number
    return to_float(best) if inexact else best


@builtin("math/sign", type="number -> int", pure=True, total=True)
def math_sign(number: Any) -> int:
    """The sign of a number: -1, 0 or 1; 0 also for NaN and complex numbers.

    (math/sign -2.5) => -1
    """
    if not NUMBERS[type(number)]:
        type_error("number", number)
    if type(number) in COMPLEX:
        return 0
    return int(number > 0) - int(number < 0)


# Rounding


def _check_real(number: Any) -> None:
    """Raises the type error of the rounding functions for values that can't be rounded."""
    if not NUMBERS[type(number)]:
        type_error("number", number)
    if type(number) in COMPLEX:
        type_error("real number", number)


def _rounded(number: Any, operation: Callable[[Any], int]) -> Any:
    """A ratio rounded by an operation of Python; infinities and NaN stay as they are.

    The callers round finite floats, which stay floats and keep the sign of a zero, and ints.
    """
    if type(number) is float:
        return number
    _check_real(number)
    return operation(number)


@builtin("floor", type="int|float|rational -> int|float", pure=True, total=True)
def floor(number: Any) -> Any:
    """Rounds down: the greatest integer not above number; a float stays a float.

    (floor -2.5) => -3.0
    (floor 5/2) => 2
    """
    if type(number) is float and number - number == 0:
        return math.copysign(math.floor(number), number)
    return number if type(number) is int else _rounded(number, math.floor)


@builtin("ceil", "ceiling", type="int|float|rational -> int|float", pure=True, total=True)
def ceil(number: Any) -> Any:
    """Rounds up: the least integer not below number; a float stays a float.

    (ceil 2.1) => 3.0
    (ceil 5/2) => 3
    """
    if type(number) is float and number - number == 0:
        return math.copysign(math.ceil(number), number)
    return number if type(number) is int else _rounded(number, math.ceil)


@builtin("round", type="int|float|rational -> int|float", pure=True, total=True)
def round_(number: Any) -> Any:
    """Rounds to the nearest integer, and to the even one when two are equally near; a float stays a float.

    (round 3.7) => 4.0
    (round 2.5) => 2.0
    (round 7/2) => 4
    """
    if type(number) is float and number - number == 0:
        return math.copysign(round(number), number)
    return number if type(number) is int else _rounded(number, round)


@builtin("truncate", type="int|float|rational -> int|float", pure=True, total=True)
def truncate(number: Any) -> Any:
    """Cuts off the fraction of a number; a float stays a float.

    (truncate -2.7) => -2.0
    """
    if type(number) is float and number - number == 0:
        return math.copysign(math.trunc(number), number)
    return number if type(number) is int else _rounded(number, math.trunc)


# Roots and powers


@builtin("sqrt", type="number -> number", pure=True, total=True)
def sqrt(number: Any) -> Any:
    """The square root: exact when it can be, imaginary below zero.

    (sqrt 16) => 4
    (sqrt 2) => 1.4142135623730951
    (sqrt -4) => 0+2i
    """
    kind = type(number)
    if kind is float and number >= 0:
        return math.sqrt(number)
    if kind is int and 0 <= number < EXACT:
        inexact = math.sqrt(number)
        root = int(inexact)
        return root if root * root == number else inexact
    if not NUMBERS[kind]:
        type_error("number", number)
    if kind in COMPLEX:
        return _complex_root(number)
    if kind is float:
        return rectangular(0, math.sqrt(-number)) if number < 0 else math.sqrt(number)
    return rectangular(0, _exact_root(-number)) if number < 0 else _exact_root(number)


def _exact_root(number: Any) -> Any:
    """The root of an int or ratio that isn't negative."""
    if type(number) is int:
        root = math.isqrt(number)
        return root if root * root == number else math.sqrt(to_float(number))
    over, under = math.isqrt(number.numerator), math.isqrt(number.denominator)
    if over * over == number.numerator and under * under == number.denominator:
        return rational(ratio(over, under))
    return math.sqrt(to_float(number))


def _complex_root(number: Any) -> Any:
    re, im = map(to_float, parts(number))
    size, angle = math.sqrt(math.hypot(re, im)), math.atan2(im, re) / 2
    return rectangular(size * math.cos(angle), size * math.sin(angle))


@builtin("exact-integer-sqrt", type="int -> flat int fresh", pure=True)
def exact_integer_sqrt(number: Any) -> List:
    """The integer square root of an int, and the remainder of the int beyond its square.

    (exact-integer-sqrt 17) => (4 1)
    """
    if type(number) is not int:
        type_error("exact integer", number, "exact-integer-sqrt: argument must be an exact integer")
    if number < 0:
        raise SemaError(
            "exact-integer-sqrt: argument must be non-negative",
            "exact-integer-sqrt: √ of a negative integer is not real",
        )
    root = math.isqrt(number)
    return List([root, number - root * root])


@builtin("pow", "expt", "math/pow", type="number, number -> number", pure=True)
def pow_(base: Any, exponent: Any) -> Any:
    """Raises base to the power of exponent: exact for an exact base and an int exponent, else a float.

    (pow 2 10) => 1024
    (pow 2 -1) => 1/2
    (pow 2 0.5) => 1.4142135623730951
    """
    if type(base) is int and type(exponent) is int and 0 <= exponent < LARGEST_EXPONENT:
        return base**exponent
    for number in (base, exponent):
        if not NUMBERS[type(number)]:
            type_error("number", number)
    if type(exponent) is int and not any(type(part) is float for part in parts(base)):
        return _exact_power(base, exponent)
    return _float_power(to_float(base), to_float(exponent))


def _exact_power(base: Any, exponent: int) -> Any:
    if type(base) in COMPLEX:
        power: Any = 1
        for bit in bin(abs(exponent))[2:]:
            power = power * power * base if bit == "1" else power * power
        return power if exponent >= 0 else 1 / power
    if base == 0 and exponent < 0:
        raise SemaError("expt: 0 raised to a negative power")
    if abs(exponent) >= LARGEST_EXPONENT:
        if base in (0, 1, -1):
            return base**2 if exponent % 2 == 0 else base
        raise SemaError("expt: the result is too large")
    return rational(ratio(base) ** exponent)


def _float_power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -INFINITY if base < 0 and exponent % 2 == 1 else INFINITY
    except ValueError:
        if base != 0:
            return NAN
        return math.copysign(INFINITY, base) if exponent % 2 == 1 else INFINITY


# Exactness


@builtin("exact", "inexact->exact", type="number -> number", pure=True, total=True)
def exact(number: Any) -> Any:
    """The exact value of a number; NaN and infinities stay as they are.

    (exact 0.5) => 1/2
    (exact 0.1) => 3602879701896397/36028797018963968
    """
    kind = type(number)
    if not NUMBERS[kind]:
        type_error("number", number)
    if kind is float:
        if number.is_integer():
            return int(number)
        return rational(ratio(number)) if number - number == 0 else number
    if kind in COMPLEX:
        return rectangular(*map(exact, parts(number)))
    return number


@builtin("inexact", "exact->inexact", type="number -> number", pure=True, total=True)
def inexact(number: Any) -> Any:
    """The nearest float; of a complex number, of each part.

    (inexact 1/4) => 0.25
    """
    if not NUMBERS[type(number)]:
        type_error("number", number)
    if type(number) in COMPLEX:
        return rectangular(*map(to_float, parts(number)))
    return to_float(number)


@builtin("numerator", type="int|rational -> int", pure=True, total=True)
def numerator(number: Any) -> int:
    """The numerator of a ratio in lowest terms; of an int, the int itself.

    (numerator 6/4) => 3
    """
    if REALS[type(number)] and type(number) is not float:
        return int(number.numerator)
    type_error("rational", number)


@builtin("denominator", type="int|rational -> int", pure=True, total=True)
def denominator(number: Any) -> int:
    """The denominator of a ratio in lowest terms; 1 for an int.

    (denominator 6/4) => 2
    """
    if REALS[type(number)] and type(number) is not float:
        return int(number.denominator)
    type_error("rational", number)


@builtin("rationalize", type="int|float|rational, int|float|rational -> int|float|rational", pure=True, total=True)
def rationalize(number: Any, tolerance: Any) -> Any:
    """The simplest ratio within tolerance of number; a float when either argument is one.

    (rationalize 3/10 1/10) => 1/3
    """
    for argument in (number, tolerance):
        if not NUMBERS[type(argument)]:
            type_error("real", argument)
    for argument in (number, tolerance):
        if type(argument) in COMPLEX:
            type_error("real", argument, "rationalize: complex numbers have no simplest-rational approximation")
    if number - number != 0 or tolerance != tolerance:
        return number
    if tolerance in (INFINITY, -INFINITY):
        return 0.0
    centre, reach = ratio(number), abs(ratio(tolerance))
    fraction = _simplest(centre - reach, centre + reach)
    return to_float(fraction) if type(number) is float or type(tolerance) is float else rational(fraction)


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of the least denominator between low and high (Stern-Brocot)."""
    if low <= 0 <= high:
        return ratio(0)
    if high < 0:
        return -_simplest(-high, -low)
    whole = []
    while True:
        floor_of_low = math.floor(low)
        if floor_of_low == low or floor_of_low + 1 <= high:
            fraction = ratio(math.ceil(low))
            break
        whole.append(floor_of_low)
        low, high = 1 / (high - floor_of_low), 1 / (low - floor_of_low)
    for part in reversed(whole):
        fraction = part + 1 / fraction
    return fraction


# Complex numbers


@builtin("make-rectangular", type="int|float|rational, int|float|rational -> number", pure=True, total=True)
def make_rectangular(real: Any, imaginary: Any) -> Any:
    """The complex number of two parts; a real number when the imaginary part is an exact 0.

    (make-rectangular 3 4) => 3+4i
    """
    for part in (real, imaginary):
        if not REALS[type(part)]:
            type_error("real", part)
    return rectangular(real, imaginary)


@builtin("make-polar", type="int|float|rational, int|float|rational -> number", pure=True, total=True)
def make_polar(size: Any, angle: Any) -> Any:
    """The complex number of a magnitude and an angle in radians.

    (make-polar 2 0) => 2.0+0.0i
    """
    for part in (size, angle):
        if not REALS[type(part)]:
            type_error("real", part)
    size, angle = to_float(size), to_float(angle)
    if angle - angle != 0:
        return rectangular(NAN, NAN)
    return rectangular(size * math.cos(angle), size * math.sin(angle))


@builtin("real-part", type="number -> int|float|rational", pure=True, total=True)
def real_part(number: Any) -> Any:
    """The real part of a number.

    (real-part 3+4i) => 3
    """
    if NUMBERS[type(number)]:
        return parts(number)[0]
    type_error("number", number)


@builtin("imag-part", type="number -> int|float|rational", pure=True, total=True)
def imag_part(number: Any) -> Any:
    """The imaginary part of a number: 0 for a real one.

    (imag-part 3+4i) => 4
    """
    if NUMBERS[type(number)]:
        return parts(number)[1]
    type_error("number", number)


@builtin("angle", type="number -> float", pure=True, total=True)
def angle(number: Any) -> float:
    """The angle of a number in the complex plane, in radians.

    (angle -1) => 3.141592653589793
    """
    if not NUMBERS[type(number)]:
        type_error("number", number)
    if type(number) in COMPLEX:
        re, im = map(to_float, parts(number))
        return math.atan2(im, re)
    return math.pi if number < 0 else 0.0
