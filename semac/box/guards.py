"""Questions that come before the work: how large an integer would be, how long a pattern is, how deep a text."""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from sema_runtime.lib.numbers import arithmetic, integers, math
from sema_runtime.lib.numbers.arithmetic import times
from sema_runtime.lib.numbers.integers import lcm
from sema_runtime.lib.text import regex
from sema_runtime.support.regex.compiled import compiled
from sema_runtime.values.errors import SemaError
from sema_runtime.values.maps import MISSING
from sema_runtime.values.numbers import rational
from semac.syntax import reader


class Most:
    """What the program that runs may have: bits of an integer, characters of a pattern."""

    bits = 1_000_000
    pattern = 10_000


def apply_limits(limits: dict[str, int]) -> None:
    """Sets what the next program may have."""
    Most.bits, Most.pattern = limits["integer_bits"], limits["regex_chars"]
    reader.DEPTH_LIMIT = limits["nesting"]


def bounded(function: Callable[..., Any], bits_of: Callable[[int, int], int], name: str) -> Callable[..., Any]:
    """A builtin of a number and an int that refuses those of which the result would have too many bits."""

    @functools.wraps(function)
    def asked(first: Any, second: Any) -> Any:
        if type(second) is int and (type(first) is int or type(first) is Fraction):
            bits = max(bits_of(first.numerator, second), bits_of(first.denominator, second))
            if bits > Most.bits:
                raise too_large(name, bits)
        return function(first, second)

    return asked


def product(value: Any) -> Any:
    """A product as it is. Raises SemaError where it has too many bits."""
    if type(value) is int and value.bit_length() > Most.bits:
        raise too_large("*", value.bit_length())
    return value


def too_large(name: str, bits: int) -> SemaError:
    return SemaError(
        f"{name}: the result would have {bits:,} bits, limit integer_bits is {Most.bits:,}",
        "work with a float, or modulo something; the host can raise integer_bits",
    )


def bounded_times(first: Any = 1, second: Any = MISSING, *rest: Any) -> Any:
    total = product(times(first) if second is MISSING else times(first, second))
    for number in rest:
        total = product(times(total, number))
    return total


def bounded_lcm(*numbers: Any) -> int:
    total: int = lcm(*numbers[:2])
    for number in numbers[2:]:
        total = product(lcm(total, number))
    return product(total)  # type: ignore[no-any-return]


def bounded_rational(value: Any) -> Any:
    """What arithmetic with ratios makes of its results: their sums have products below the line."""
    simplest = rational(value)
    if type(simplest) is Fraction:
        product(simplest.numerator)
        product(simplest.denominator)
    return product(simplest)


def guard_integers() -> None:
    """Puts the questions in front of powers and shifts and behind products, before any program is compiled, which finds
    these by name."""
    arithmetic.times = functools.wraps(times)(bounded_times)
    integers.lcm = functools.wraps(lcm)(bounded_lcm)
    vars(arithmetic)["rational"] = vars(math)["rational"] = bounded_rational
    math.pow_ = bounded(math.pow_, lambda base, exponent: (base.bit_length() - 1) * abs(exponent), "pow")
    integers.bit_shift_left = bounded(
        integers.bit_shift_left, lambda number, places: number.bit_length() + places, "bit/shift-left"
    )


def guard_patterns() -> None:
    """Puts the question in front of the compiler of regular expressions."""

    def bounded_pattern(pattern: str, ascii_text: bool) -> Any:
        if len(pattern) > Most.pattern:
            raise SemaError(
                f"a regular expression of {len(pattern):,} characters, limit regex_chars is {Most.pattern:,}",
                "use string functions, or several patterns; the host can raise regex_chars",
            )
        return compiled(pattern, ascii_text)

    vars(regex)["compiled"] = bounded_pattern  # where its builtins look it up
