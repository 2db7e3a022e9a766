"""The signs of ints: what arithmetic does with them, and what comparisons say of them.

A set of signs is a union of the tags NEGATIVE, ZERO and POSITIVE. Each rule is exact for sets: a result has the signs
that some pair of operands with signs of the sets gives. An int that isn't negative needs no test against 0 where it
is an index, a dividend, or the start of a range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, reduce

from semac.types.lattice import COUNT, HUGE, INT, NEGATIVE, POSITIVE, ZERO, Type, atom, join

SIGNS = (NEGATIVE, ZERO, POSITIVE)  # in the order of the numbers
OPPOSITE = {NEGATIVE: POSITIVE, ZERO: ZERO, POSITIVE: NEGATIVE}
Pair = Callable[[int, int], int]


def of_any_sign(type_: Type) -> Type:
    """The type where ints may be negative, whatever is known of them."""
    return join(type_, atom(INT)) if type_.tags & INT else type_


def signs_in(tags: int) -> list[int]:
    return [sign for sign in SIGNS if tags & sign]


def of_pairs(pair: Pair, a: int, b: int) -> int:
    """The signs of a function of two ints, of which pair says it for two signs."""
    return reduce(int.__or__, (pair(x, y) for x in signs_in(a) for y in signs_in(b)), 0)


def negated(tags: int) -> int:
    return reduce(int.__or__, (OPPOSITE[sign] for sign in signs_in(tags)), 0)


def _sum(a: int, b: int) -> int:
    if a in (ZERO, b):
        return b
    return a if b == ZERO else INT


def _product(a: int, b: int) -> int:
    if ZERO in (a, b):
        return ZERO
    return POSITIVE if a == b else NEGATIVE


def _quotient(a: int, b: int) -> int:
    return 0 if b == ZERO else ZERO | _product(a, b)


def _remainder(a: int, b: int) -> int:
    return 0 if b == ZERO else ZERO | a


def _modulo(a: int, b: int) -> int:
    return 0 if b == ZERO else ZERO | (0 if a == ZERO else b)


def added(a: int, b: int) -> int:
    return of_pairs(_sum, a, b)


def of_call(name: str, operands: Iterable[int]) -> int:
    """The signs of a call of an arithmetic builtin whose operands are ints with these signs; 0 where it raises."""
    return _of_call(name, tuple([tags & (NEGATIVE | COUNT) for tags in operands]))


@cache
def _of_call(name: str, operands: tuple[int, ...]) -> int:
    if not operands:
        return POSITIVE if name == "*" else ZERO if name == "+" else 0
    if name == "-":
        if len(operands) == 1:
            return negated(operands[0])
        operands = (operands[0], *map(negated, operands[1:]))
    pair = PAIRS[name]
    return reduce(lambda a, b: of_pairs(pair, a, b), operands)


PAIRS: dict[str, Pair] = {
    "+": _sum, "-": _sum, "*": _product, "min": min, "max": max, "mod": _modulo, "modulo": _modulo,
    "quotient": _quotient, "remainder": _remainder,
}  # fmt: skip


def magnitude(tags: int) -> int:
    return reduce(int.__or__, (POSITIVE if sign != ZERO else ZERO for sign in signs_in(tags)), 0)


def upwards(tags: int) -> int:
    """The signs of a number of these signs, and of all that are greater."""
    lowest = signs_in(tags)[0] if tags & INT else POSITIVE
    return reduce(int.__or__, (sign for sign in SIGNS if sign >= lowest))


def less_one(tags: int) -> int:
    """The signs of an int of these signs minus 1."""
    return COUNT if tags & ~HUGE == POSITIVE else of_call("-", [tags, POSITIVE])


# Comparisons


def _may_be(test: str, a: int, b: int) -> bool:
    """Whether a comparison can hold for ints of two signs."""
    if test == "=":
        return a == b
    if test == "!=":
        return not a == b == ZERO
    if test in (">", ">="):
        a, b = b, a
    return a < b or (a == b and (a != ZERO or test in ("<=", ">=")))


FAILED = {"=": "!=", "<": ">=", ">": "<=", "<=": ">", ">=": "<"}  # what is true of ints where a test isn't
MIRRORED = {"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


def kept(test: str, holds: bool, subject: int, other: int) -> int:
    """The signs that are left of an int where its comparison with one of other signs holds, or doesn't."""
    return _kept(test if holds else FAILED[test], subject & (NEGATIVE | COUNT), other & (NEGATIVE | COUNT))


@cache
def _kept(test: str, subject: int, other: int) -> int:
    others = signs_in(other)
    return reduce(int.__or__, (a for a in signs_in(subject) if any(_may_be(test, a, b) for b in others)), 0)
