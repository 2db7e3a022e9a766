"""Values on the way between the host and a process of the box: JSON with tags, of budgeted size.

null, booleans, ints, strings and finite floats are themselves. A vector is a JSON array. Everything else is an object
with one entry: {"l": items} a list, {"m": [key, value, ...]} a map, {"k": name} a keyword, {"s": name} a symbol,
{"c": text} a character, {"f": "inf"} a float that JSON lacks, {"i": hexadecimal} a large integer, since decimal digits
take quadratic time, {"q": "1/3"} a rational in hexadecimal, {"b": hexadecimal} bytes, {"x": text} what can't leave the
box, such as a function. Arrays cross as vectors, records as maps of their fields.
Neither side ever evaluates, imports or unpickles anything. What Python's own objects hold: `host_values.py`.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

from sema_runtime.values.atoms import Char, Keyword, Symbol, char, keyword, symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import HashMap, Map
from sema_runtime.values.mutable import MutableArray
from sema_runtime.values.records import Record, Values
from sema_runtime.values.typed_arrays import FloatArray, IntArray

MAX_NODES = 200_000
SMALLEST = 5  # bytes of a value's text that stand for a part of it, where a limit says bytes
MAX_DEPTH = 100
LONG_BITS = 10_000  # integers beyond travel in hexadecimal, rationals beyond not at all
MOST_OPAQUE = 200  # characters of the text of what can't leave
ARRAYS = (MutableArray, FloatArray, IntArray, Values)


class TooLarge(SemaError):
    """A value can't cross. The message goes on from what names the value: "has more than 200,000 parts"."""


def nodes_in(size: int) -> int:
    """How many parts a value may have that a limit allows so many bytes."""
    return max(1_000, size // SMALLEST)


class Encoder:
    """Turns a value of Sema into what `json.dumps` takes. Raises TooLarge past its budget, also for values that share
    parts."""

    def __init__(self, nodes: int = MAX_NODES) -> None:
        self.most = self.nodes = nodes

    def encode(self, value: Any, depth: int = MAX_DEPTH) -> Any:
        self.nodes -= 1
        if self.nodes < 0:
            raise TooLarge(f"has more than {self.most:,} parts")
        if depth < 0:
            raise TooLarge(f"is nested more than {MAX_DEPTH} deep")
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
        if kind is Map or kind is HashMap:
            return self.entries(value.pairs(), depth)
        if kind is Keyword or kind is Symbol:
            return {"k" if kind is Keyword else "s": value.name}
        if kind is Char:
            return {"c": value.value}
        return self.encode_rare(value, kind, depth)

    def entries(self, pairs: Any, depth: int) -> dict[str, Any]:
        return {"m": [self.encode(part, depth - 1) for pair in pairs for part in pair]}

    def encode_rare(self, value: Any, kind: type, depth: int) -> Any:
        if kind is Fraction:
            return rational(value)
        if kind is bytes or kind is bytearray:
            self.nodes -= len(value) // 8
            return {"b": value.hex()}
        if kind in ARRAYS:
            self.nodes -= len(value.items) // 8
            return [self.encode(item, depth - 1) for item in value.items]
        if issubclass(kind, Record):
            return self.entries(zip(map(keyword, kind.sema_fields), value.sema_members(), strict=True), depth)
        return self.encode_other(value, depth)

    def encode_other(self, value: Any, depth: int) -> Any:
        """What isn't data: its text."""
        return self.entries(value.items(), depth) if isinstance(value, dict) else opaque(value)


def rational(value: Fraction) -> dict[str, str]:
    above, below = value.numerator, value.denominator
    if above.bit_length() + below.bit_length() > LONG_BITS:
        raise TooLarge(f"has a rational of more than {LONG_BITS:,} bits; make it a float")
    return {"q": f"{above:x}/{below:x}"}


def opaque(value: Any) -> dict[str, str]:
    """A value of Sema as it prints."""
    from sema_runtime.values.printer import to_text

    text = to_text(value)
    return {"x": text if len(text) <= MOST_OPAQUE else f"{text[:MOST_OPAQUE]}..."}


_to_json = json.JSONEncoder(ensure_ascii=True, allow_nan=False, check_circular=False).encode
_from_json = json.JSONDecoder().decode


def to_frame(message: dict[str, Any]) -> bytes:
    """A message as bytes: four bytes of length, then JSON in ASCII."""
    return framed(_to_json(message))


def framed(text: str) -> bytes:
    """A message that is JSON in ASCII already."""
    body = text.encode("ascii")
    return len(body).to_bytes(4, "big") + body


def from_body(body: bytes) -> Any:
    """What stands behind the length of a frame. Raises ValueError or RecursionError for what is no message."""
    return _from_json(body.decode("ascii"))


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
    if tag in NUMBERS:
        return NUMBERS[tag](content)
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


def fraction(text: str) -> Fraction:
    above, _, below = text.partition("/")
    if len(text) > LONG_BITS // 4 + len("-/"):
        raise SemaError("box: malformed value")
    try:
        return Fraction(int(above, 16), int(below, 16))
    except (ValueError, ZeroDivisionError):
        raise SemaError("box: malformed value") from None


def octets(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise SemaError("box: malformed value") from None


def as_float(text: str) -> float | str:
    """A rational for Python; as text where no float is near."""
    value = fraction(text)
    try:
        return float(value)
    except OverflowError:
        return str(value)


NUMBERS = {"i": long_integer, "q": fraction, "b": octets}
FOR_PYTHON = {**NUMBERS, "q": as_float}


def for_python(value: Any) -> Any:
    """An encoded value for the host: lists, dicts with strings for keywords, floats for rationals, bytes. Raises
    SemaError for malformed input."""
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
        return {
            _hashable(key, code): item for key, code, item in zip(parts[::2], content[::2], parts[1::2], strict=True)
        }
    if type(content) is not str or tag not in ("f", "c", "i", "k", "s", "x", "q", "b"):
        raise SemaError("box: malformed value")
    if tag in FOR_PYTHON:
        return FOR_PYTHON[tag](content)
    return float(content) if tag == "f" and content in ("inf", "-inf", "nan") else content


def _hashable(key: Any, encoded: Any) -> Any:
    """A key of a dict: lists and maps as JSON."""
    if type(key) not in (list, dict):
        return key
    try:
        return json.dumps(key)
    except (ValueError, TypeError):  # an integer of too many digits, bytes
        return json.dumps(encoded)
