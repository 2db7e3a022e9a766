"""Values on the way between the host and a process of the box: JSON with tags, of budgeted size.

null, booleans, ints, strings and finite floats are themselves. A vector is a JSON array. Everything else is an object
with one entry: {"l": items} a list, {"m": [key, value, ...]} a map, {"k": name} a keyword, {"s": name} a symbol,
{"c": text} a character, {"f": "inf"} a float that JSON lacks, {"i": hexadecimal} a large integer, since decimal digits
take quadratic time, {"x": text} what can't leave the box, such as a function.
Neither side ever evaluates, imports or unpickles anything.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date, time
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any
from uuid import UUID

from sema_runtime.values.atoms import Char, Keyword, Symbol, char, keyword, symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

MAX_NODES = 200_000
MAX_DEPTH = 100
PRINTED = (bytes, bytearray, complex, Fraction, int)
LONG_BITS = 10_000  # integers beyond travel in hexadecimal


class TooLarge(SemaError):
    """A value has more parts than may cross."""


class Encoder:
    """Turns a value into what `json.dumps` takes. Raises TooLarge past its budget, also for values that share parts."""

    def __init__(self, nodes: int = MAX_NODES) -> None:
        self.nodes = nodes

    def encode(self, value: Any, depth: int = MAX_DEPTH) -> Any:
        self.nodes -= 1
        if self.nodes < 0:
            raise TooLarge("the value has too many parts to leave the box; return a part of it, or a summary")
        if depth < 0:
            raise TooLarge(f"the value is nested more than {MAX_DEPTH} deep, too deep to leave the box")
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if value.bit_length() <= LONG_BITS else {"i": hex(value)}
        if kind is float:
            return value if math.isfinite(value) else {"f": repr(value)}
        if kind is tuple or kind is list:
            return [self.encode(item, depth - 1) for item in value]
        if kind is List:
            return {"l": [self.encode(item, depth - 1) for item in value]}
        if kind is Map or kind is dict:
            pairs = value.pairs() if kind is Map else [(_host_key(key), item) for key, item in value.items()]
            return {"m": [self.encode(part, depth - 1) for pair in pairs for part in pair]}
        if kind is Keyword or kind is Symbol:
            return {"k" if kind is Keyword else "s": value.name}
        if kind is Char:
            return {"c": value.value}
        known = _as_data(value)
        return self.encode(known[0], depth) if known else {"x": _opaque(value)}


def _as_data(value: Any) -> tuple[Any] | None:
    """What an object of the host holds, where it is one of data: models, dataclasses, enums, times, sets, mappings."""
    if hasattr(value, "model_dump"):
        return (value.model_dump(),)
    if is_dataclass(value) and not isinstance(value, type):
        return ({field.name: getattr(value, field.name) for field in fields(value)},)
    if isinstance(value, Enum):
        return (value.value,)
    if isinstance(value, date | time):
        return (value.isoformat(),)
    if isinstance(value, AbstractSet):
        return (list(value),)
    if isinstance(value, Mapping):
        return (dict(value.items()),)
    return None


def _host_key(key: Any) -> Any:
    """Keys of the host's dicts reach the program as keywords."""
    return keyword(key) if type(key) is str else key


def _opaque(value: Any) -> str:
    """A value of Sema as it prints; of any other object the type alone, whose text may hold secrets and addresses."""
    from sema_runtime.values.printer import to_text

    try:
        if isinstance(value, Decimal | PurePath | UUID):
            return str(value)
        is_ours = isinstance(value, PRINTED) or type(value).__module__.startswith("sema_runtime.") or callable(value)
        return to_text(value)[:200] if is_ours else f"<{type(value).__name__}>"
    except Exception:  # an object of the host that doesn't know how to show itself
        return f"<{type(value).__name__}>"


def to_frame(message: dict[str, Any]) -> bytes:
    """A message as bytes: four bytes of length, then JSON in ASCII."""
    body = json.dumps(message, ensure_ascii=True, allow_nan=False).encode()
    return len(body).to_bytes(4, "big") + body


def decoded(value: Any) -> Any:
    """The value of the program that an encoded value says. Raises SemaError for what `encode` doesn't write."""
    if type(value) is list:
        return tuple(decoded(item) for item in value)
    if type(value) is not dict:
        return value
    if len(value) != 1:
        raise SemaError("box: malformed value")
    ((tag, content),) = value.items()
    if tag == "l" and type(content) is list:
        return List([decoded(item) for item in content])
    if tag == "m" and type(content) is list and len(content) % 2 == 0:
        parts = [decoded(item) for item in content]
        return Map.of(zip(parts[::2], parts[1::2], strict=True))
    if type(content) is not str:
        raise SemaError("box: malformed value")
    if tag == "f" and content in ("inf", "-inf", "nan"):
        return float(content)
    if tag == "c" and len(content) == 1:
        return char(content)
    if tag == "i":
        return long_integer(content)
    if tag == "k" or tag == "s":
        return keyword(content) if tag == "k" else symbol(content)
    if tag != "x":
        raise SemaError("box: malformed value")
    return content


def long_integer(text: str) -> int:
    try:
        return int(text, 16)
    except ValueError:
        raise SemaError("box: malformed value") from None


def for_python(value: Any) -> Any:
    """An encoded value for the host: lists, dicts with strings for keywords. Raises SemaError for malformed input."""
    if type(value) is list:
        return [for_python(item) for item in value]
    if type(value) is not dict:
        return value
    if len(value) != 1:
        raise SemaError("box: malformed value")
    ((tag, content),) = value.items()
    if tag == "l" and type(content) is list:
        return [for_python(item) for item in content]
    if tag == "m" and type(content) is list and len(content) % 2 == 0:
        parts = [for_python(item) for item in content]
        return {_hashable(key): item for key, item in zip(parts[::2], parts[1::2], strict=True)}
    if type(content) is not str or tag not in ("f", "c", "i", "k", "s", "x"):
        raise SemaError("box: malformed value")
    if tag == "i":
        return long_integer(content)
    return float(content) if tag == "f" and content in ("inf", "-inf", "nan") else content


def _hashable(key: Any) -> Any:
    return json.dumps(key) if type(key) in (list, dict) else key
