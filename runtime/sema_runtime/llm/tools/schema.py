"""The small schema language of `llm/extract` and of tool parameters: shown to models, checked on what they return.

A schema maps keys to specs; a spec is a type (`:string`), `[:T]` for an array, or a map with `:type`, `:optional`,
`:validate`, `:message`, `:description`, `:enum`, `:default`. Beyond the reference: `:fields` of an object (a schema)
and `:items` of an array (a spec). An object with methods described(), problems(value) and json_schema(), such as a
TypeSchema, is a schema too.
"""

from __future__ import annotations

from sema_runtime.llm.jsonable import is_map, is_sequence, key_text, pairs, to_json
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

JSON_TYPES = {
    "str": "string", "int": "integer", "float": "number", "double": "number", "bool": "boolean", "list": "array",
    "vector": "array", "map": "object", "dict": "object", "nil": "null",
}  # fmt: skip


def described(schema: Any) -> str:
    """Returns the schema as text for models; the printed form of a schema that is no map."""
    if hasattr(schema, "described"):
        return schema.described()  # type: ignore[no-any-return]
    return _object_words(schema, "") if is_map(schema) else to_text(schema)


def _object_words(schema: Any, indent: str) -> str:
    inner = indent + "  "
    lines = [f'{inner}"{name}": {_type_words(spec, inner)}' for name, spec in _sorted(schema)]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _sorted(schema: Any) -> list[tuple[str, Any]]:
    return sorted(((key_text(key), spec) for key, spec in pairs(schema)), key=lambda entry: entry[0])


def _type_words(spec: Any, indent: str) -> str:
    """Returns `<number>`, `<array of string>`, ...; objects are shown in braces."""
    fields, item = _fields(spec), item_of(spec)
    if fields is not None:
        return _object_words(fields, indent)
    if item is None:
        return f"<{type_of(spec) or 'any'}>"
    inner = _type_words(item, indent)
    return f"<array of {inner[1:-1]}>" if inner.startswith("<") else f"array of {inner}"


def type_of(spec: Any) -> str:
    """Returns the type that a spec names, "" without one."""
    if is_map(spec):
        spec = spec.get("type")
    if isinstance(spec, Keyword):
        return spec.name
    return spec if isinstance(spec, str) else ""


def item_of(spec: Any) -> Any:
    """Returns the spec of an array's items: T of `[:T]`, also as the `:type` of a map, or `:items`; else None."""
    if is_map(spec):
        if spec.get("items") is not None:
            return spec.get("items")
        spec = spec.get("type")
    if not is_sequence(spec) or len(spec) != 1:
        return None
    return spec[0] if type_of(spec[0]) or _fields(spec[0]) is not None or item_of(spec[0]) is not None else None


def _fields(spec: Any) -> Any:
    """Returns the schema of an object's keys; None without one."""
    fields = spec.get("fields") if is_map(spec) else None
    return fields if is_map(fields) else None


def is_optional(spec: Any) -> bool:
    """Whether a key may be absent."""
    return is_map(spec) and (_is_true(spec.get("optional")) or "default" in spec)


def _is_true(value: Any) -> bool:
    return value is not None and value is not False


# Checking


def problems(schema: Any, value: Any) -> list[str]:
    """Returns what is wrong with a value, in key order; nothing for a schema that is no map."""
    if hasattr(schema, "problems"):
        return schema.problems(value)  # type: ignore[no-any-return]
    if not is_map(schema):
        return []
    if not is_map(value):
        return [f"expected map result, got {type_name(value)}"]
    return _key_problems("", schema, value)


def _key_problems(place: str, schema: Any, value: Any) -> list[str]:
    """Returns what is wrong with a map. place: its path in the whole value, such as `address.` or `items[2].`."""
    problems = []
    for name, spec in _sorted(schema):
        if name in value:
            problems += _problems_of(place + name, spec, value[name])
        elif not is_optional(spec):
            problems.append(f"missing key: {place}{name}")
    return problems


def _problems_of(name: str, spec: Any, value: Any) -> list[str]:
    item, fields = item_of(spec), _fields(spec)
    wanted = "list" if item is not None else "map" if fields is not None else type_of(spec)
    if not (is_map(value) if fields is not None else _fits(wanted, value)):
        return [f"key {name}: expected {wanted}, got {type_name(value)}"]
    if fields is not None:
        wrong = _key_problems(f"{name}.", fields, value)
    else:
        wrong = [] if item is None else _item_problems(name, item, value)
    if wrong:
        return wrong
    predicate = spec.get("validate") if is_map(spec) else None
    return _custom(name, spec, predicate, value) if callable(predicate) else []


def _item_problems(name: str, item: Any, values: Any) -> list[str]:
    """Returns what is wrong with the first bad item."""
    if is_map(item) or is_sequence(item):
        return next(
            (
                bad
                for place, item_value in enumerate(values)
                if (bad := _problems_of(f"{name}[{place}]", item, item_value))
            ),
            [],
        )
    kind = type_of(item)
    wrong = next((item_value for item_value in values if not _fits(kind, item_value)), values)
    return [] if wrong is values else [f"key {name}: expected list of {kind}, got {type_name(wrong)} in it"]


def _custom(name: str, spec: Any, predicate: Any, value: Any) -> list[str]:
    try:
        if _is_true(predicate(value)):
            return []
    except Exception as error:
        from sema_runtime.llm.errors import error_text

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
    """Returns the JSON Schema object of a tool's parameters map."""
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
    property_schema = _shape(spec)
    description = spec.get("description")
    if isinstance(description, str):
        property_schema["description"] = description
    choices = spec.get("enum")
    if is_sequence(choices):
        property_schema["enum"] = [key_text(choice) for choice in choices if isinstance(choice, Keyword | str)]
    if "default" in spec:
        property_schema["default"] = to_json(spec.get("default"))
    return property_schema


def _shape(spec: Any) -> dict[str, Any]:
    """Returns the schema of a spec's type, with its items or fields; {} without a type."""
    item, fields = item_of(spec), _fields(spec)
    if fields is not None:
        return json_schema(fields)
    if item is not None:
        return {"type": "array", "items": _property(item) if is_map(item) else _shape(item)}
    named = type_of(spec)
    if not named:
        return {}
    kind = JSON_TYPES.get(named, named)
    return {"type": "array", "items": {}} if kind == "array" else {"type": kind}


def answer_schema(function: str, schema: Any) -> dict[str, Any]:
    """Returns the JSON Schema of an answer. Raises SemaError, which names the function, for an unusable schema."""
    if hasattr(schema, "json_schema"):
        return schema.json_schema()  # type: ignore[no-any-return]
    if is_map(schema):
        entries = _sorted(schema)
        properties = {name: _answer_property(function, name, spec) for name, spec in entries}
        return {**json_schema(schema), "properties": properties}
    item_schema = _shape(schema) if is_sequence(schema) else {}
    if not item_schema:
        raise SemaError(
            f"{function}: :mode :native needs a schema map, got {to_text(schema)}",
            "as {:name :string :age {:type :int :optional #t}}",
        )
    return item_schema


def _answer_property(function: str, name: str, spec: Any) -> dict[str, Any]:
    fields, item = _fields(spec), item_of(spec)
    property_schema = _property(spec) if is_map(spec) else _shape(spec)
    if fields is not None:
        return {**property_schema, **answer_schema(function, fields)}
    if item is not None:
        return {**property_schema, "items": _answer_property(function, name, item)}
    kind = property_schema.get("type")
    if kind == "object":
        raise SemaError(
            f"{function}: key {name}: a model can only be held to an object whose keys are given",
            f"as {{:{name} {{:type :object :fields {{:street :string :city :string}}}}}}; or leave :mode :native out",
        )
    if not property_schema and not (is_map(spec) and not len(spec)) and not isinstance(spec, Keyword):
        raise SemaError(
            f"{function}: key {name}: {to_text(spec)} is no type",
            "types are :string :number :int :boolean :list [:string] and {:type T ...}; nested objects {:fields {...}}",
        )
    return property_schema


def with_defaults(parameters: Any, arguments: dict[Any, Any]) -> dict[Any, Any]:
    """Returns the arguments (by keyword), with defaults for absent ones."""
    if not is_map(parameters):
        return arguments
    filled = {
        keyword(name): spec.get("default")
        for name, spec in _sorted(parameters)
        if is_map(spec) and "default" in spec and keyword(name) not in arguments
    }
    return {**arguments, **filled}


def keys(parameters: Any) -> list[str]:
    """Returns the parameter names in sorted order."""
    return [name for name, _ in _sorted(parameters)] if is_map(parameters) else []
