"""Builtins that could make huge integers in one step ask first how large the result would be."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from sema_runtime.lib.numbers import integers, math
from sema_runtime.values.errors import SemaError


class Bits:
    """How many bits an integer may have. most: of the program that runs."""

    most = 1_000_000


def bounded(function: Callable[..., Any], bits_of: Callable[[int, int], int], name: str) -> Callable[..., Any]:
    """A builtin of two numbers that refuses ints of which the result would have too many bits."""

    @functools.wraps(function)
    def asked(first: Any, second: Any) -> Any:
        if type(first) is int and type(second) is int and second > 0:
            bits = bits_of(first, second)
            if bits > Bits.most:
                raise SemaError(
                    f"{name}: the result would have {bits:,} bits, limit integer_bits is {Bits.most:,}",
                    "work with a float, or modulo something; the host can raise integer_bits",
                )
        return function(first, second)

    return asked


def guard_integers() -> None:
    """Puts the questions in front of powers and shifts, before any program is compiled, which finds them by name."""
    math.pow_ = bounded(math.pow_, lambda base, exponent: (abs(base).bit_length() - 1) * exponent, "pow")
    integers.bit_shift_left = bounded(
        integers.bit_shift_left, lambda number, places: number.bit_length() + places, "bit/shift-left"
    )
