"""Writes JSON without spaces and with sorted keys, byte for byte as serde_json does: tapes and keys built from JSON are
the same in both implementations."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def dumps(value: Any) -> str:
    """The text of decoded JSON: dicts, lists, strings, numbers, booleans, None. Keys are sorted at every depth."""
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{string(key)}:{dumps(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(dumps, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def number(value: float) -> str:
    """The shortest digits that give the number again; null for what JSON can't write."""
    if value != value or value in (float("inf"), float("-inf")):
        return "null"
    text = repr(value)
    if "e" not in text:
        return text
    digits, _, exponent = text.partition("e")
    if exponent == "-05":  # Python changes to exponents one place earlier
        sign = "-" if digits.startswith("-") else ""
        return f"{sign}0.0000{digits.lstrip('-').replace('.', '')}"
    return f"{digits}e{int(exponent):+d}"
