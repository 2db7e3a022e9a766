"""What objects of Python hold, for programs in the box: data of the host, and results of its tools."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date, time
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any
from uuid import UUID

from sema_runtime.box.codec import Encoder, TooLarge, opaque
from sema_runtime.values.atoms import keyword

MOST_ITEMS = 2_000_000  # of an object that gives them one by one
TEXTS = (Decimal, PurePath, UUID)


class HostEncoder(Encoder):
    """Encodes values of the host: models, dataclasses, enums, times, sets, mappings, numbers and arrays of libraries.

    Keys of dicts that are strings become keywords. Of any other object the type alone crosses, since its text may hold
    secrets and addresses. An object whose own code fails when it is asked counts as such.
    """

    def encode_other(self, value: Any, depth: int) -> Any:
        try:
            if isinstance(value, dict):
                return self.entries([(_key(key), item) for key, item in value.items()], depth)
            known = _as_data(value)
            return self.encode(known[0], depth - 1) if known else _other(value)
        except TooLarge:
            raise
        except Exception:
            return {"x": f"<{type(value).__name__}>"}


def _key(key: Any) -> Any:
    return keyword(str(key)) if isinstance(key, str) else key


def _as_data(value: Any) -> tuple[Any] | None:
    """What an object of data holds."""
    if isinstance(value, Enum):
        return (value.value,)
    if isinstance(value, str):
        return (str.__str__(value),)
    if isinstance(value, bytes | bytearray | memoryview):
        return (bytes(value),)
    if isinstance(value, type):
        return None
    if isinstance(value, numbers.Number) and not isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, date | time):
        return (value.isoformat(),)
    if hasattr(value, "model_dump"):
        return (value.model_dump(),)
    if is_dataclass(value):
        return ({field.name: getattr(value, field.name) for field in fields(value)},)
    if hasattr(value, "tolist"):
        return (value.tolist(),)
    if isinstance(value, Mapping):
        return (dict(_bounded(value.items())),)
    if isinstance(value, AbstractSet):
        return (_ordered(value),)
    return (list(_bounded(value)),) if isinstance(value, list | tuple | Iterator) else None


def _number(value: Any) -> tuple[Any] | None:
    if isinstance(value, numbers.Integral):
        return (int(value),)
    if isinstance(value, numbers.Rational):
        return (Fraction(int(value.numerator), int(value.denominator)),)
    return (float(value),) if isinstance(value, numbers.Real) else None


def _ordered(values: AbstractSet[Any]) -> list[Any]:
    """Sorted where that is possible: the order of a set is no fact of the data."""
    items = list(_bounded(values))
    try:
        return sorted(items)
    except TypeError:
        return items


def _bounded(items: Iterable[Any]) -> Iterable[Any]:
    """Items of an object that may give them without end."""
    for count, item in enumerate(items):
        if count > MOST_ITEMS:
            raise TooLarge(f"has more than {MOST_ITEMS:,} parts")
        yield item


def _other(value: Any) -> Any:
    if isinstance(value, TEXTS):
        return str(value)
    is_ours = isinstance(value, complex) or type(value).__module__.startswith("sema_runtime.") or callable(value)
    return opaque(value) if is_ours else {"x": f"<{type(value).__name__}>"}
