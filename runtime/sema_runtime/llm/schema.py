"""The small schema language of `llm/extract` and of tool parameters: shown to models, checked on what they return.

A schema maps keys to specs; a spec is a type (`:string`), `[:T]` for an array, or a map with `:type`, `:optional`,
`:validate`, `:message`, `:description`, `:enum`, `:default`.
"""

from __future__ import annotations

from sema_runtime.llm.jsonable import is_map, is_sequence, key_text, pairs, to_json
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.printer import to_text
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

JSON_TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "list": "array",
    "vector": "array",
    "map": "object",
    "dict": "object",
    "nil": "null",
}


def described(schema: Any) -> str:
    """The schema as models are told it; what is no map in its printed form."""
    if not is_map(schema):
        return to_text(schema)
    lines = [f'  "{name}": {_type_words(spec)}' for name, spec in _sorted(schema)]
    return "{\n" + ",\n".join(lines) + "\n}"


def _sorted(schema: Any) -> list[tuple[str, Any]]:
    return sorted(((key_text(key), spec) for key, spec in pairs(schema)), key=lambda entry: entry[0])


def _type_words(spec: Any) -> str:
    item = _item_type(spec)
    return f"array of {item}" if item else _type_of(spec) or "any"


def _type_of(spec: Any) -> str:
    """The type a spec names, "" without one."""
    if is_map(spec):
        spec = spec.get("type")
    if isinstance(spec, Keyword):
        return spec.name
    return spec if isinstance(spec, str) else ""


def _item_type(spec: Any) -> str:
    """T for `[:T]`, also as the `:type` of a map; else ""."""
    if is_map(spec):
        spec = spec.get("type")
    return _type_of(spec[0]) if is_sequence(spec) and len(spec) == 1 else ""


def is_optional(spec: Any) -> bool:
    """Whether a key may be absent."""
    return is_map(spec) and (_is_true(spec.get("optional")) or "default" in spec)


def _is_true(value: Any) -> bool:
    return value is not None and value is not False


# Checking


def problems(schema: Any, value: Any) -> list[str]:
    """What is wrong with a value, in key order; nothing for a schema that is no map."""
    if not is_map(schema):
        return []
    if not is_map(value):
        return [f"expected map result, got {type_name(value)}"]
    found = []
    for name, spec in _sorted(schema):
        if name in value:
            found += _problem_of(name, spec, value[name])
        elif not is_optional(spec):
            found.append(f"missing key: {name}")
    return found


def _problem_of(name: str, spec: Any, value: Any) -> list[str]:
    item = _item_type(spec)
    wanted = "list" if item else _type_of(spec)
    if not _fits(wanted, value):
        return [f"key {name}: expected {wanted}, got {type_name(value)}"]
    if item:
        wrong = next((one for one in value if not _fits(item, one)), value)
        if wrong is not value:
            return [f"key {name}: expected list of {item}, got {type_name(wrong)} in it"]
    predicate = spec.get("validate") if is_map(spec) else None
    return _custom(name, spec, predicate, value) if callable(predicate) else []


def _custom(name: str, spec: Any, predicate: Any, value: Any) -> list[str]:
    try:
        if _is_true(predicate(value)):
            return []
    except Exception as error:
        from sema_runtime.llm.lisp_provider import error_text

        return [f"key {name}: validation error: {error_text(error)}"]
    message = spec.get("message")
    if not isinstance(message, str):
        message = f"custom validation failed for value {to_text(value)}"
    return [f"key {name}: {message}"]


def _fits(wanted: str, value: Any) -> bool:
    if wanted == "string":
        return isinstance(value, str)
    if wanted == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if wanted in ("boolean", "bool"):
        return isinstance(value, bool)
    if wanted in ("list", "array"):
        return is_sequence(value)
    if wanted == "int":
        return (isinstance(value, int) and not isinstance(value, bool)) or (
            isinstance(value, float) and value.is_integer()
        )
    return True


# For the wire


def json_schema(parameters: Any) -> dict[str, Any]:
    """The JSON Schema object of a tool's parameters map."""
    if not is_map(parameters):
        return {"type": "object", "properties": {}, "required": []}
    entries = _sorted(parameters)
    return {
        "type": "object",
        "properties": {name: _property(spec) for name, spec in entries},
        "required": [name for name, spec in entries if not is_optional(spec)],
    }


def _property(spec: Any) -> dict[str, Any]:
    if not is_map(spec):
        return {"type": "string"}
    made: dict[str, Any] = {}
    item = _item_type(spec)
    named = _type_of(spec)
    if item:
        made.update(type="array", items={"type": JSON_TYPES.get(item, item)})
    elif named:
        made["type"] = JSON_TYPES.get(named, named)
        if made["type"] == "array":
            made["items"] = {}
    description = spec.get("description")
    if isinstance(description, str):
        made["description"] = description
    choices = spec.get("enum")
    if is_sequence(choices):
        made["enum"] = [key_text(choice) for choice in choices if isinstance(choice, Keyword | str)]
    if "default" in spec:
        made["default"] = to_json(spec.get("default"))
    return made


def with_defaults(parameters: Any, arguments: dict[Any, Any]) -> dict[Any, Any]:
    """The arguments (by keyword) with the defaults of absent ones filled in."""
    if not is_map(parameters):
        return arguments
    filled = {
        keyword(name): spec.get("default")
        for name, spec in _sorted(parameters)
        if is_map(spec) and "default" in spec and keyword(name) not in arguments
    }
    return {**arguments, **filled}


def keys(parameters: Any) -> list[str]:
    """The parameter names in sorted order."""
    return [name for name, _ in _sorted(parameters)] if is_map(parameters) else []
