"""The compact grammar of signatures (sandbox.md, 3.3): `tool/search(query string, limit int?) -> [{title string}]`.

Types are string, int, float, bool, map, any, lists `[T]` and objects `{field T, ...}`; `?` stands for what may be
missing. What the grammar can't say of a JSON schema, such as the values that are allowed, follows as a note.
"""

from __future__ import annotations

from typing import Any

NAMES = {"string": "string", "integer": "int", "number": "float", "boolean": "bool", "object": "map", "null": "nil"}
MOST_DEPTH = 4
NOTES = {"minimum": "at least", "maximum": "at most", "minLength": "length at least", "maxLength": "length at most"}


def signature(name: str, parameters: dict[str, Any], result: dict[str, Any]) -> str:
    """The signature of a tool from the JSON schemas of its parameters and of its result, {} where that isn't known."""
    required = set(parameters.get("required", ()))
    parts = [
        f"{key} {words(part)}{'' if key in required or words(part).endswith('?') else '?'}"
        for key, part in parameters.get("properties", {}).items()
    ]
    notes = [f"{key} {note}" for key, part in parameters.get("properties", {}).items() if (note := noted(part))]
    shown = f"tool/{name}({', '.join(parts)}) -> {words(result)}"
    return f"{shown} [{'; '.join(notes)}]" if notes else shown


def words(schema: Any, depth: int = MOST_DEPTH) -> str:
    """A JSON schema as a type of the grammar."""
    if not isinstance(schema, dict) or depth == 0:
        return "any"
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        real = [choice for choice in choices if choice != {"type": "null"}]
        inner = words(real[0], depth) if len(real) == 1 else "any"
        return inner if len(real) == len(choices) or inner.endswith("?") else f"{inner}?"
    kind = schema.get("type")
    if kind == "array":
        return f"[{words(schema.get('items'), depth - 1)}]"
    if kind == "object" and schema.get("properties"):
        required = set(schema.get("required", ()))
        fields = (
            f"{key} {words(part, depth - 1)}{'' if key in required else '?'}"
            for key, part in schema["properties"].items()
        )
        return "{" + ", ".join(fields) + "}"
    if kind is None and "enum" in schema:
        return "string" if all(isinstance(value, str) for value in schema["enum"]) else "any"
    return NAMES.get(kind, "any") if isinstance(kind, str) else "any"


def noted(schema: Any) -> str:
    """What the grammar doesn't say of a schema: the values that are allowed, and bounds."""
    if not isinstance(schema, dict):
        return ""
    notes = [f"{text} {schema[key]}" for key, text in NOTES.items() if key in schema]
    if "enum" in schema:
        notes.insert(0, "one of " + ", ".join(repr(value).replace("'", '"') for value in schema["enum"]))
    return ", ".join(notes)
