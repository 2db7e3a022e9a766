"""Questions that come before the work: how large an integer would be, how long a pattern is, how deep a text."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from sema_runtime.lib.numbers import integers, math
from sema_runtime.lib.text import regex
from sema_runtime.support.regex.compiled import compiled
from sema_runtime.values.errors import SemaError
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
    """A builtin of two numbers that refuses ints of which the result would have too many bits."""

    @functools.wraps(function)
    def asked(first: Any, second: Any) -> Any:
        if type(first) is int and type(second) is int and second > 0:
            bits = bits_of(first, second)
            if bits > Most.bits:
                raise SemaError(
                    f"{name}: the result would have {bits:,} bits, limit integer_bits is {Most.bits:,}",
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
