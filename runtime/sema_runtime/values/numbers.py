"""Numbers beyond int and float: ratios in lowest terms, complex numbers with exact parts, safe conversions.

A ratio is a `Fraction` that is no integer; a complex number is a `Complex` whose imaginary part isn't the exact 0.
`rational` and `rectangular` keep it so. `fractions` is slow to load, so it is loaded with the first ratio.
"""

from __future__ import annotations

import math

from sema_runtime.values.typenames import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fractions import Fraction
    from typing import Any, NoReturn

    Real = int | float | Fraction

INFINITY = math.inf
NAN = math.nan
INT_LIMIT = 1 << 63
DIVISION_HINT = "/: guard with (if (zero? d) ... (/ n d))"


class Complex:
    """A complex number; re and im are int, float or Fraction. Made with `rectangular(re, im)`."""

    __slots__ = ("im", "re")
    type_name = "complex"

    def __init__(self, re: Real, im: Real) -> None:
        self.re = re
        self.im = im

    @property
    def real(self) -> Real:
        return self.re

    @property
    def imag(self) -> Real:
        return self.im

    def __add__(self, other: Any) -> Any:
        if type(other) is Complex:
            return rectangular(self.re + other.re, self.im + other.im)
        re, im = parts(other)
        return rectangular(self.re + re, self.im + im)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if type(other) is Complex:
            return rectangular(self.re - other.re, self.im - other.im)
        re, im = parts(other)
        return rectangular(self.re - re, self.im - im)

    def __rsub__(self, other: Any) -> Any:
        re, im = parts(other)
        return rectangular(re - self.re, im - self.im)

    def __mul__(self, other: Any) -> Any:
        a, b = self.re, self.im
        c, d = (other.re, other.im) if type(other) is Complex else parts(other)
        return rectangular(a * c - b * d, a * d + b * c)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        a, b = self.re, self.im
        c, d = parts(other)
        size = c * c + d * d
        return rectangular(divide(a * c + b * d, size), divide(b * c - a * d, size))

    def __rtruediv__(self, other: Any) -> Any:
        return Complex(*parts(other)) / self

    def __neg__(self) -> Any:
        return Complex(-self.re, -self.im)

    def __abs__(self) -> float:
        re, im = self.re, self.im
        return math.hypot(re, im) if type(re) is float is type(im) else math.hypot(to_float(re), to_float(im))

    def __complex__(self) -> complex:
        return complex(to_float(self.re), to_float(self.im))

    def __eq__(self, other: object) -> bool:
        """Strict, as `equal?`: parts of different exactness differ."""
        return (
            type(other) is Complex
            and type(self.re) is type(other.re)
            and type(self.im) is type(other.im)
            and self.re == other.re
            and self.im == other.im
        )

    def __hash__(self) -> int:
        return hash((self.re, self.im))

    def __reduce__(self) -> tuple[Any, ...]:
        return Complex, (self.re, self.im)

    def __repr__(self) -> str:
        return self.sema_text()

    def sema_text(self) -> str:
        from sema_runtime.values.printer import to_text

        text = to_text(self.im)
        if self.im != self.im and math.copysign(1.0, self.im) < 0:
            text = "-" + text
        return f"{to_text(self.re)}{'' if text[0] == '-' else '+'}{text}i"


NAMES[Complex] = "complex"


class Kinds(dict[type, bool]):
    """A set of number types, asked as `kinds[type(x)]`. Always includes ratios; other types only if listed."""

    def __missing__(self, kind: type) -> bool:
        is_ratio = kind.__module__ == "fractions" and kind.__name__ == "Fraction"
        self[kind] = is_ratio
        return is_ratio


NUMBERS = Kinds({int: True, float: True, Complex: True, complex: True})
REALS = Kinds({int: True, float: True})
COMPLEX = frozenset((Complex, complex))


def parts(value: Any) -> tuple[Any, Any]:
    """The real and the imaginary part of a number. Raises TypeError, as an operator does, for anything else."""
    kind = type(value)
    if kind is Complex:
        return value.re, value.im
    if REALS[kind]:
        return value, 0
    if kind is complex:
        return value.real, value.imag
    raise TypeError(f"unsupported operand type(s) for +: 'Complex' and '{kind.__name__}'")


def rectangular(re: Any, im: Any) -> Any:
    """re + im·i: a plain real number when the imaginary part is an exact zero."""
    if type(re) is float is type(im):
        return Complex(re, im)
    re, im = rational(re), rational(im)
    return re if type(im) is int and im == 0 else Complex(re, im)


def rational(value: Any) -> Any:
    """A Fraction as the language has it: an int when it is whole. Other values stay as they are."""
    kind = type(value)
    if kind is int or kind is float or kind is Complex or kind is complex:
        return value
    return value.numerator if value.denominator == 1 else value


_fraction: Any = None  # the class, once it is loaded


def _fraction_loaded() -> Any:
    global _fraction
    from fractions import Fraction

    _fraction = Fraction
    return Fraction


def exact_quotient(over: int, under: int) -> Any:
    """over / under of ints, of which under is not 0: an int or a ratio.

    `Fraction` checks what it is given, which takes longer than the division.
    """
    divisor = math.gcd(over, under)
    if under < 0:
        divisor = -divisor
    under //= divisor
    if under == 1:
        return over // divisor
    made: Any = object.__new__(_fraction or _fraction_loaded())
    made._numerator = over // divisor
    made._denominator = under
    return made


def ratio(over: Any, under: Any = 1) -> Fraction:
    """over / under of exact numbers, or over itself, exactly. Not brought to an int: that is what `rational` does."""
    kind: type[Fraction] = _fraction or _fraction_loaded()
    return kind(over, under) if under != 1 else kind(over)


def to_float(value: Any) -> float:
    """The nearest float of a real number, infinite when it is too large; NaN for a complex number."""
    kind = type(value)
    if kind is float:
        return float(value)
    if kind in COMPLEX:
        return NAN
    try:
        return float(value)
    except OverflowError:
        return INFINITY if value > 0 else -INFINITY


def divide(a: Any, b: Any) -> Any:
    """a / b of numbers: exact on exact ones, IEEE on floats. Raises SemaError for an exact number over an exact 0."""
    if type(a) is int and type(b) is int and b:
        return exact_quotient(a, b)
    if type(a) in COMPLEX or type(b) in COMPLEX:
        if type(b) is int and b == 0:
            division_by_zero()
        return Complex(*parts(a)) / b
    if type(a) is float or type(b) is float:
        return divide_floats(to_float(a), to_float(b))
    if b == 0:
        division_by_zero()
    return rational(ratio(a, b))


def divide_floats(a: float, b: float) -> float:
    """a / b by IEEE 754: x/0 is infinite, 0/0 the NaN that processors make (its sign shows in complex numbers)."""
    if b:
        return a / b
    if a == 0 or a != a:
        return -NAN
    return math.copysign(INFINITY, a) * math.copysign(1.0, b)


def division_by_zero() -> NoReturn:
    from sema_runtime.values.errors import SemaError

    raise SemaError("/: division by zero", DIVISION_HINT)


def is_int64(value: Any) -> bool:
    """Whether value is an int of at most 64 bits, which is what sizes, indexes and typed arrays take."""
    return type(value) is int and -INT_LIMIT <= value < INT_LIMIT


def shortest_text(value: float) -> str:
    """The shortest digits that read back as value, without exponent, whole numbers without a point: `1e21` in full."""
    text = repr(value)
    if text == "nan":
        return "NaN"
    if "e" in text:
        from decimal import Decimal

        text = format(Decimal(text), "f")
    return text.removesuffix(".0")
