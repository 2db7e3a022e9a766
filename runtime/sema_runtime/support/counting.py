"""The values of counters, for emitted loops whose bound may be anything."""

from __future__ import annotations

from operator import eq

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Test = Callable[[Any, Any], Any]

# What comparisons say of a counter that ends the loop → its direction (0: either), and what the last value adds to the
# bound.
ENDS = {"num_eq": (0, 0), "ge": (1, 0), "gt": (1, 1), "le": (-1, 0), "lt": (-1, -1)}
GOES_ON = {"lt": (1, 0), "le": (1, 1), "gt": (-1, 0), "ge": (-1, -1)}


def count_to(start: int, bound: int, step: int = 1) -> Iterable[int]:
    """start, start + step, ... up to the bound, which isn't part of it; for ever where the counter misses the bound."""
    if step == 1 and bound >= start:
        return range(start, bound)
    if step == -1 and bound <= start:
        return range(start, bound, -1)
    return _counted(eq, False, start, bound, step)


def count_until(test: Test, start: int, bound: Any, step: int = 1) -> Iterable[int]:
    """start, start + step, ... until test(counter, bound) holds. test: a comparison of `lib/numbers/arithmetic.py`."""
    direction, more = ENDS[test.__name__]
    if type(bound) is int:
        if not direction and step in (1, -1) and (bound - start) * step >= 0:
            return range(start, bound, step)
        if direction * step > 0:
            return range(start, bound + more, step)
    return () if test(start, bound) else _counted(test, False, start, bound, step)


def count_while(test: Test, start: int, bound: Any, step: int = 1) -> Iterable[int]:
    """start, start + step, ... as long as test(counter, bound) holds."""
    direction, more = GOES_ON[test.__name__]
    if type(bound) is int and direction * step > 0:
        return range(start, bound + more, step)
    return _counted(test, True, start, bound, step) if test(start, bound) else ()


def _counted(test: Test, outcome: bool, start: int, bound: Any, step: int) -> Iterator[int]:
    """The values of a counter. The first test was made by the caller, so that an error of it stands at the call."""
    counter = start
    while bool(test(counter, bound)) is outcome:
        yield counter
        counter += step
