"""The shape of plain data, as a JSON schema: what an input was when a program was found, and whether another fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SAMPLED = 1_000  # items of a list
MOST_DEPTH = 6
Schema = dict[str, Any]
SCALARS = {bool: "boolean", int: "integer", float: "number", str: "string"}


def shape(value: Any, depth: int = MOST_DEPTH) -> Schema:
    """{} for what is not known."""
    kind = SCALARS.get(type(value))
    if kind is not None:
        return {"type": kind}
    if value is None:
        return {"type": "null"}
    if depth == 0:
        return {}
    if isinstance(value, Mapping):
        fields = {str(key): shape(inner, depth - 1) for key, inner in value.items()}
        return {"type": "object", "properties": fields, "required": sorted(fields)}
    if isinstance(value, list | tuple):
        items: Schema | None = None
        for item in value[:SAMPLED]:
            items = shape(item, depth - 1) if items is None else merged(items, shape(item, depth - 1))
        return {"type": "array", "items": items or {}}
    return {}


def merged(one: Schema, other: Schema) -> Schema:
    """What fits either shape."""
    if one == other:
        return one
    kinds = {one.get("type"), other.get("type")}
    if kinds == {"integer", "number"}:
        return {"type": "number"}
    if "null" in kinds and None not in kinds and len(kinds) == 2:
        return nullable(other if one.get("type") == "null" else one)
    if one.get("anyOf") or other.get("anyOf"):
        inner = [part["anyOf"][0] if part.get("anyOf") else part for part in (one, other)]
        known = [part for part in inner if part.get("type") != "null"]
        return nullable(known[0] if len(known) == 1 else merged(*known))
    if kinds == {"object"}:
        fields = {**other["properties"], **one["properties"]}
        both = {name: merged(one["properties"][name], other["properties"][name]) for name in common(one, other)}
        required = sorted(set(one["required"]) & set(other["required"]))
        return {"type": "object", "properties": {**fields, **both}, "required": required}
    if kinds == {"array"}:
        if not one["items"] or not other["items"]:
            return {"type": "array", "items": one["items"] or other["items"]}
        return {"type": "array", "items": merged(one["items"], other["items"])}
    return {}


def common(one: Schema, other: Schema) -> set[str]:
    return set(one["properties"]) & set(other["properties"])


def nullable(schema: Schema) -> Schema:
    return schema if not schema or schema.get("anyOf") else {"anyOf": [schema, {"type": "null"}]}


def misfits(value: Any, schema: Schema, path: str) -> list[str]:
    """What of a value hasn't the shape that is wanted, with its path; ints fit floats, and more fields may be there."""
    if schema.get("anyOf"):
        return [] if value is None else misfits(value, schema["anyOf"][0], path)
    wanted = schema.get("type")
    got = shape(value, 1).get("type", type(value).__name__)
    if wanted is None or wanted == "null":
        return []
    if got != wanted and (got, wanted) != ("integer", "number"):
        return [f"{path}: expected {wanted}, got {got}"]
    if wanted == "object":
        by_name = {str(name): inner for name, inner in value.items()}
        missing = [f"{path}.{name}: missing" for name in schema.get("required", ()) if name not in by_name]
        known = schema.get("properties", {}).items()
        return missing + [
            text for name, inner in known if name in by_name for text in misfits(by_name[name], inner, f"{path}.{name}")
        ]
    if wanted == "array":
        items = schema.get("items", {})
        for number, item in enumerate(value):
            wrong = misfits(item, items, f"{path}.{number}")
            if wrong:
                return wrong
    return []
