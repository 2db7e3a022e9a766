"""Sema values to JSON and back, as models see them: objects are keyword maps, arrays are lists."""

from __future__ import annotations

import json

from sema_runtime.values.atoms import Keyword, Symbol, keyword
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def to_sema(value: Any) -> Any:
    """Returns decoded JSON as Sema data. Floats out of range are nil, as for `json/decode`."""
    if isinstance(value, dict):
        return Map({keyword(str(key)): to_sema(inner) for key, inner in value.items()})
    if isinstance(value, list):
        return List([to_sema(inner) for inner in value])
    return None if type(value) is float and value - value != 0 else value


def to_json(value: Any, marked: bool = False) -> Any:
    """Returns Sema data as what `json.dumps` takes. Lossy: atoms become their names, other values their printed form.

    marked: keywords keep their colon, which distinguishes them from strings.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, Keyword | Symbol):
        return f":{value.name}" if marked and isinstance(value, Keyword) else value.name
    if isinstance(value, Map):
        return {key_text(key): to_json(inner, marked) for key, inner in value.pairs()}
    if isinstance(value, dict):
        return {key_text(key): to_json(inner, marked) for key, inner in value.items()}
    if isinstance(value, List | tuple | list):
        return [to_json(inner, marked) for inner in value]
    from sema_runtime.values.printer import to_text

    return to_text(value)


def key_text(key: Any) -> str:
    """Returns a map key as an object key."""
    if isinstance(key, Keyword | Symbol):
        return key.name
    from sema_runtime.values.printer import display

    return display(key)


def compact(value: Any) -> str:
    """Returns the JSON text of a Sema value, without spaces."""
    return json.dumps(to_json(value), ensure_ascii=False, separators=(",", ":"))


def is_map(value: Any) -> bool:
    return isinstance(value, Map | dict)


def is_sequence(value: Any) -> bool:
    return isinstance(value, List | tuple | list)


def pairs(value: Any) -> list[tuple[Any, Any]]:
    """Returns the entries of a Sema map or a Python dict, in key order."""
    return (value if isinstance(value, Map) else Map.of(value.items())).pairs()
