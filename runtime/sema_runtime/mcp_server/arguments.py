"""Arguments of a client, JSON, as a tool's handler takes them. They are checked strictly, so that mistakes show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sema_runtime.llm.jsonable import is_map, is_sequence, key_text, to_sema
from sema_runtime.llm.tools import schema
from sema_runtime.llm.tools.tool import Tool, awaited, bind, parameter_names
from sema_runtime.mcp_server.exposed import parameters_of
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import SemaError


class InvalidArguments(SemaError):
    """Arguments that don't fit a tool."""


NOT_FITTING = object()
VARARGS = 0x04  # of code.co_flags


def called(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The outcome of a call: its text, and whether it is the refusal of arguments. Raises what the handler raises."""
    try:
        value = invoke(tool, arguments)
    except InvalidArguments as problem:
        return {"text": problem.message, "refused": True}
    return {"text": "" if value is None else tool.text_of(value), "refused": False}


def invoke(tool: Tool, arguments: Mapping[str, Any]) -> Any:
    """What the handler returns. Raises InvalidArguments, and what the handler raises."""
    from sema_runtime.llm import policy_guard
    from sema_runtime.llm.tools.python_functions import PythonTool

    values = to_sema(dict(arguments)) if isinstance(tool, PythonTool) else None
    if values is None:
        checked = checked_arguments(tool, arguments)
    guard = policy_guard.current.get()
    if guard is not None:
        guard.invoke(tool, to_sema(dict(arguments)))
    if values is not None:
        return tool.invoke(values)  # pydantic checks them
    positional, named = bind(tool.handler, parameters_of(tool), checked)
    return awaited(tool.handler(*positional, *_rest(tool, arguments), **named))


def checked_arguments(tool: Tool, arguments: Mapping[str, Any]) -> dict[Any, Any]:
    """The arguments by keyword, defaults filled in. Raises InvalidArguments for the first one that doesn't fit."""
    parameters = parameters_of(tool)
    specs = {key_text(key): spec for key, spec in _pairs(parameters)}
    checked: dict[Any, Any] = {}
    needed, _ = parameter_names(tool.handler) or ([], [])
    for name in dict.fromkeys([*specs, *(sema for _, sema in needed), *arguments]):
        spec = specs.get(name)
        if name in arguments and not (arguments[name] is None and schema.is_optional(spec)):
            checked[keyword(name)] = _checked(tool, name, spec, arguments[name])
        elif not schema.is_optional(spec):
            raise _wrong(tool, f"missing required parameter '{name}'")
    return dict(schema.with_defaults(parameters, checked)) if is_map(parameters) else checked


def _pairs(parameters: Any) -> list[tuple[Any, Any]]:
    return parameters.pairs() if is_map(parameters) else []


def _checked(tool: Tool, name: str, spec: Any, value: Any) -> Any:
    if value is None and spec is not None:
        raise _wrong(tool, f"parameter '{name}' is required but was explicitly null")
    kind = "array" if schema.item_of(spec) is not None else schema.type_of(spec)
    convert, expected = TYPES.get(kind.lower(), (to_sema, ""))
    converted = convert(value)
    if converted is NOT_FITTING:
        raise _wrong(tool, f"parameter '{name}' expected {expected}, got JSON {json_type(value)}")
    choices = spec.get("enum") if is_map(spec) else None
    if is_sequence(choices) and choices and value not in (names := [_choice(choice) for choice in choices]):
        raise _wrong(tool, f"parameter '{name}' expected one of {', '.join(map(str, names))}, got {value!r}")
    problems = schema.problems({name: spec}, {name: converted}) if is_map(spec) else []
    if problems:
        raise _wrong(tool, f"parameter '{name}': {'; '.join(problems).removeprefix(f'key {name}: ')}")
    return converted


def _choice(choice: Any) -> Any:
    return choice.name if isinstance(choice, Keyword) else choice


def _wrong(tool: Tool, problem: str) -> InvalidArguments:
    return InvalidArguments(f"Invalid arguments for tool '{tool.name}': {problem}")


def _rest(tool: Tool, arguments: Mapping[str, Any]) -> list[Any]:
    """The items for a rest parameter, which the client gives as an array under its name."""
    code = getattr(tool.handler, "__code__", None)
    if code is None or not code.co_flags & VARARGS or parameter_names(tool.handler) is None:
        return []
    from sema_runtime.values.naming import name_of_code

    python = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
    value = arguments.get(name_of_code(python, tool.handler.__globals__.get("__sema_names__") or {}))
    if value is None:
        return []
    return [to_sema(item) for item in value] if isinstance(value, list) else [to_sema(value)]


def json_type(value: Any) -> str:
    """The name of a JSON value's type."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    names = {int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), type(value).__name__)


# Types of parameters


def _string(value: Any) -> Any:
    return value if isinstance(value, str) else NOT_FITTING


def _integer(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else NOT_FITTING


def _number(value: Any) -> Any:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else NOT_FITTING


def _float(value: Any) -> Any:
    return float(value) if _number(value) is not NOT_FITTING else NOT_FITTING


def _boolean(value: Any) -> Any:
    return value if isinstance(value, bool) else NOT_FITTING


def _keyword(value: Any) -> Any:
    return keyword(value) if isinstance(value, str) else NOT_FITTING


def _array(value: Any) -> Any:
    return to_sema(value) if isinstance(value, list) else NOT_FITTING


def _object(value: Any) -> Any:
    return to_sema(value) if isinstance(value, dict) else NOT_FITTING


TYPES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "string": (_string, "string"),
    "str": (_string, "string"),
    "int": (_integer, "integer"),
    "integer": (_integer, "integer"),
    "number": (_number, "number"),
    "float": (_float, "number"),
    "double": (_float, "number"),
    "bool": (_boolean, "boolean"),
    "boolean": (_boolean, "boolean"),
    "keyword": (_keyword, "string (for keyword)"),
    "list": (_array, "array"),
    "vector": (_array, "array"),
    "array": (_array, "array"),
    "map": (_object, "object"),
    "object": (_object, "object"),
    "dict": (_object, "object"),
}
