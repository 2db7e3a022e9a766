"""Converts decimal digits from outside to integers, and refuses those whose conversion would take long.

The time grows with the square of the number of digits: one integer of a megabyte stops a server for many seconds.
Python's own limit (`sys.set_int_max_str_digits`) bounds printing too, which Sema doesn't want.
"""

from __future__ import annotations

from sema_runtime.values.errors import SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_DIGITS = 20_000  # 1.5 ms; a megabyte of such integers takes 70 ms
DIGITS_AT_ONCE = 4000  # Python may refuse to convert longer texts at once
SHOWN = 20
HINT = "send such a number as a string, or to the base 16, which (string->number text 16) reads whatever its length"
_STRIDE = MOST_DIGITS // 2  # of two samples as far apart, a longer run of digits has both


class TooManyDigits(SemaError, ValueError):
    """A decimal integer with more than MOST_DIGITS digits."""

    def __init__(self, digits: str) -> None:
        bare = digits.lstrip("+-")
        super().__init__(f"the integer {bare[:SHOWN]}... has {len(bare)} digits; at most {MOST_DIGITS} are read", HINT)


def whole(digits: str) -> int:
    """The value of decimal digits with an optional sign. Raises TooManyDigits in a time linear in their number."""
    if len(digits) <= DIGITS_AT_ONCE:
        return int(digits)
    if len(digits) > MOST_DIGITS and len(digits.lstrip("+-")) > MOST_DIGITS:
        raise TooManyDigits(digits)
    return _in_halves(digits)


def _in_halves(digits: str) -> int:
    if len(digits) <= DIGITS_AT_ONCE:
        return int(digits)
    if digits[0] in "+-":
        return -_in_halves(digits[1:]) if digits[0] == "-" else _in_halves(digits[1:])
    half = len(digits) // 2
    shift: int = 10 ** (len(digits) - half)
    return _in_halves(digits[:half]) * shift + _in_halves(digits[half:])


def may_exceed(text: str | bytes) -> bool:
    """Whether a text may hold a run of more than MOST_DIGITS digits. Reads a character in _STRIDE."""
    if len(text) <= MOST_DIGITS:
        return False
    samples = text[::_STRIDE] if isinstance(text, str) else text[::_STRIDE].decode("latin-1")
    before = False
    for sample in samples:
        is_digit = sample in "0123456789"
        if is_digit and before:
            return True
        before = is_digit
    return False


def small(digits: Any, most: int) -> int:
    """The value of decimal digits, at most `most`, for any number of digits."""
    bare = digits.lstrip("0")
    return min(int(bare or "0"), most) if len(bare) <= SHOWN else most
