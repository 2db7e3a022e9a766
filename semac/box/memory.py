"""What the definitions of a program hold, in a few words each, for those who look at a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text

MOST_NAMES = 50
MOST_TEXT = 80  # characters of a name or a value
MOST_DIGITS = 200  # bits of an int that is written out
MOST_KEYS = 6
ABSENT = object()


def summary(names: Iterable[str], value_of: Callable[[str], Any]) -> dict[str, str]:
    """The values of globals by name, at most MOST_NAMES; value_of gives ABSENT for one that has none."""
    described = {}
    for name in sorted(names)[:MOST_NAMES]:
        value = value_of(name)
        if value is not ABSENT:
            described[name[:MOST_TEXT]] = brief(value)
    return described


def brief(value: Any) -> str:
    """A value in a few words, in a time that doesn't depend on its size."""
    kind = type(value)
    if kind is str:
        return to_text(value) if len(value) <= MOST_TEXT else f"string of {len(value)} characters"
    if kind is int and value.bit_length() > MOST_DIGITS:
        return f"integer of {value.bit_length()} bits"
    if kind is List:
        return f"list of {len(value.flat or value.items)}"
    if kind is tuple:
        return f"vector of {len(value)}"
    if kind is Map:
        keys = [brief(key) for _, key in zip(range(MOST_KEYS), value.d, strict=False)]
        more = ", ..." if len(value.d) > MOST_KEYS else ""
        return cut(f"map of {len(value.d)}: {', '.join(keys)}{more}" if keys else "empty map")
    if value is None or isinstance(value, int | float) or hasattr(value, "name"):
        return cut(to_text(value))
    return "function" if callable(value) else kind.__name__.lower()


def cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}..."
