"""Python types as schemas for models, and instances from their answers; pydantic does the work."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any, get_args, get_origin, get_type_hints, is_typeddict

from sema_runtime.llm.jsonable import compact, to_json
from sema_runtime.values.errors import SemaError

DROPPED = ("title", "$defs")
MAX_PROBLEMS = 10


class TypeSchema:
    """A Python type as the schema of `extract`: a pydantic model, a dataclass, a TypedDict, `list[...]` of one, ..."""

    def __init__(self, kind: Any) -> None:
        self.adapter = adapter_of(kind)
        self.kind = kind

    def json_schema(self) -> dict[str, Any]:
        return json_schema(self.adapter, shown(self.kind))

    def output_schema(self) -> dict[str, Any]:
        """Returns the JSON Schema of what instances hold (`model_dump`), under the names of their fields."""
        return json_schema(self.adapter, shown(self.kind), mode="serialization", by_alias=False)

    def described(self) -> str:
        """Returns the schema as text for models."""
        return "JSON Schema: " + compact(self.json_schema())

    def problems(self, value: Any) -> list[str]:
        """Returns what is wrong with an answer, which is Sema data; nothing if `made` accepts it."""
        from pydantic import ValidationError

        try:
            self.made(value)
        except ValidationError as error:
            return problems_of(error)
        return []

    def made(self, value: Any) -> Any:
        """Returns an instance of the type. Raises pydantic's ValidationError."""
        return self.adapter.validate_python(to_json(value))


def adapter_of(kind: Any) -> Any:
    """Returns pydantic's TypeAdapter. Raises SemaError for types that it can't handle."""
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        return TypeAdapter(modern(kind))
    except (PydanticUserError, NameError) as error:
        raise SemaError(f"no schema can be made of {shown(kind)}: {first_sentence(error)}") from error


def shown(kind: Any) -> str:
    """Returns a type as users write it."""
    return kind.__name__ if isinstance(kind, type) and get_origin(kind) is None else str(kind)


def first_sentence(error: Exception) -> str:
    return str(error).partition("\n")[0].partition(". ")[0]


def problems_of(error: Any) -> list[str]:
    """Returns the texts of a ValidationError, such as `address.zip: Field required`; at most MAX_PROBLEMS."""
    problems = []
    for problem in error.errors(include_url=False, include_input=False, include_context=False)[:MAX_PROBLEMS]:
        place = ".".join(map(str, problem["loc"]))
        problems.append(f"{place}: {problem['msg']}" if place else problem["msg"])
    return problems


# Types of older Pythons


def modern(kind: Any) -> Any:
    """Returns the type with typing_extensions' `TypedDict`, which pydantic requires before Python 3.12."""
    if sys.version_info >= (3, 12):
        return kind
    if is_typeddict(kind):
        return _modern_dict(kind)
    arguments = get_args(kind)
    if not arguments or (get_origin(kind) is Annotated and not is_typeddict(arguments[0])):
        return kind
    replaced = tuple(
        modern(argument) if isinstance(argument, type) or get_args(argument) else argument for argument in arguments
    )
    return kind if replaced == arguments else _with_arguments(kind, replaced)


def _modern_dict(kind: Any) -> Any:
    from typing import NotRequired

    from typing_extensions import TypedDict

    make: Any = TypedDict
    optional: Any = NotRequired
    hints = {name: modern(hint) for name, hint in get_type_hints(kind, include_extras=True).items()}
    typed_dict = make(kind.__name__, {**hints, **{name: optional[hints[name]] for name in kind.__optional_keys__}})
    typed_dict.__doc__, typed_dict.__module__ = kind.__doc__, kind.__module__
    return typed_dict


def _with_arguments(kind: Any, arguments: tuple[Any, ...]) -> Any:
    from functools import reduce
    from operator import or_
    from types import UnionType

    if get_origin(kind) is UnionType:
        return reduce(or_, arguments)
    return kind.copy_with(arguments) if hasattr(kind, "copy_with") else get_origin(kind)[arguments]


# JSON Schema for providers


def simplified(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema without titles; references are resolved, except in recursive types."""
    definitions = schema.get("$defs", {})
    simple: dict[str, Any] = _simplified(schema, definitions, ())
    kept = {name: definition for name, definition in definitions.items() if f'"#/$defs/{name}"' in compact(simple)}
    while kept:
        simple["$defs"] = {name: _simplified(definition, definitions, (name,)) for name, definition in kept.items()}
        more = {name: definition for name, definition in definitions.items() if f'"#/$defs/{name}"' in compact(simple)}
        if more.keys() <= kept.keys():
            break
        kept = more
    return simple


def _simplified(value: Any, definitions: dict[str, Any], inside: tuple[str, ...]) -> Any:
    if isinstance(value, list):
        return [_simplified(part, definitions, inside) for part in value]
    if not isinstance(value, dict):
        return value
    name = str(value.get("$ref", "")).removeprefix("#/$defs/")
    if name in definitions and name not in inside:
        rest = {key: part for key, part in value.items() if key != "$ref"}
        return _simplified({**definitions[name], **rest}, definitions, (*inside, name))
    simple = {}
    for key, part in value.items():
        if key == "properties":
            simple[key] = {field: _simplified(inner, definitions, inside) for field, inner in part.items()}
        elif key in ("enum", "const", "default", "examples", "required"):
            simple[key] = part
        elif key not in DROPPED:
            simple[key] = _simplified(part, definitions, inside)
    return simple


def json_schema(adapter: Any, what: str, **options: Any) -> dict[str, Any]:
    """Returns the JSON Schema of a TypeAdapter. Defaults without JSON form are silently left out.

    what: its name in the SemaError for types that JSON Schema can't express. options: pydantic's.
    """
    from pydantic.errors import PydanticInvalidForJsonSchema

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return simplified(adapter.json_schema(**options))
        except PydanticInvalidForJsonSchema as error:
            raise SemaError(f"no schema can be made of {what}: {first_sentence(error)}") from error
