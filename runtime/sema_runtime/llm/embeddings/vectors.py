"""Vectors as bytes: little-endian doubles, packed.

Sums run from left to right and are rounded at each step, so that results are the same to the last bit on every machine,
and as in the reference. A plain loop is the fastest way to do that in the standard library.
"""

from __future__ import annotations

import sys
from array import array
from math import sqrt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SIZE = 8  # bytes of one number
_SWAPPED = sys.byteorder == "big"


def unpacked(data: bytes | bytearray) -> array[float]:
    """Returns the numbers of an embedding, whose length is a multiple of SIZE."""
    numbers = array("d")
    numbers.frombytes(data)
    if _SWAPPED:
        numbers.byteswap()
    return numbers


def packed(numbers: Iterable[float]) -> bytes:
    """Returns the embedding of numbers. Raises TypeError for other values, OverflowError for too large an int."""
    doubles = array("d", numbers)
    if _SWAPPED:
        doubles.byteswap()
    return doubles.tobytes()


def dot(a: Iterable[float], b: Iterable[float]) -> float:
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total


def magnitude(a: Iterable[float]) -> float:
    total = 0.0
    for x in a:
        total += x * x
    return sqrt(total)


def cosine(a: Iterable[float], b: Iterable[float]) -> float:
    """Returns the cosine of the angle between vectors of one length, 0.0 when one of them is zero."""
    return cosine_of(dot(a, b), magnitude(a), magnitude(b))


def cosine_of(product: float, length: float, other: float) -> float:
    """As `cosine`, from the dot product and both magnitudes."""
    return 0.0 if length == 0.0 or other == 0.0 else product / (length * other)


def distance(a: Iterable[float], b: Iterable[float]) -> float:
    """Returns the Euclidean distance."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += (x - y) * (x - y)
    return sqrt(total)


def normalized(a: Iterable[float]) -> bytes:
    """Returns the embedding of length 1 in the same direction; zeros stay zeros."""
    numbers = list(a)
    length = magnitude(numbers)
    return packed([x / length for x in numbers] if length else [0.0] * len(numbers))
