"""Tools: a function with a name, a description and a parameters map that a model may call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sema_runtime.llm.jsonable import compact, is_map, is_sequence, to_sema
from sema_runtime.llm.messages import ToolCall, ToolSchema
from sema_runtime.llm.tools import schema
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import LlmError
from sema_runtime.values.maps import Map
from sema_runtime.values.sequences import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VARARGS = 0x04  # of code.co_flags


@dataclass(eq=False)
class Tool:
    """Immutable. parameters: the schema map (see schema.py). policy_subjects: what the tool touches, for policies."""

    name: str
    description: str
    parameters: Any
    handler: Callable[..., Any]
    policy_subjects: tuple[Any, ...] = ()

    type_name = "tool"

    def sema_text(self) -> str:
        return f"<tool {self.name}>"

    def schema(self) -> ToolSchema:
        """Returns the tool as models see it."""
        return ToolSchema(self.name, self.description, schema.json_schema(self.parameters))

    def call(self, call: ToolCall) -> str:
        """Returns the text of a model's call. Raises LlmError for bad arguments, and what the handler raises."""
        return self.text_of(self.invoke(to_sema(call.arguments)))

    def invoke(self, arguments: Any) -> Any:
        """Returns the handler's result. Raises LlmError for bad arguments, and what the handler raises."""
        wrong = schema.problems(self.parameters, arguments) if is_map(self.parameters) else []
        if wrong:
            raise LlmError(f"invalid arguments for tool '{self.name}': {'; '.join(wrong)}")
        by_name = {keyword(name) if isinstance(name, str) else name: value for name, value in _entries(arguments)}
        positional, named = bind(self.handler, self.parameters, schema.with_defaults(self.parameters, by_name))
        return awaited(self.handler(*positional, **named))

    def text_of(self, result: Any) -> str:
        """Returns a handler's result as a model reads it."""
        return result_text(result)


def awaited(result: Any) -> Any:
    """Returns a handler's result; the coroutine of an async Python function is awaited by the current task."""
    if not hasattr(result, "__await__"):
        return result
    from sema_runtime import tasks

    return tasks.suspend(result)


def _entries(arguments: Any) -> list[tuple[Any, Any]]:
    return mapping(arguments).pairs() if is_map(arguments) else []


def bind(handler: Any, parameters: Any, arguments: dict[Any, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Returns positional and keyword arguments for a handler: by the names of its parameters, nil (or the Python
    default) for absent ones; by the sorted keys of the parameters map if the handler's names are unknown."""
    names = parameter_names(handler)
    if names is None:
        return [arguments.get(keyword(name)) for name in schema.keys(parameters)], {}
    required, optional = names
    positional = [_argument(python, sema, arguments) for python, sema in required]
    named = {
        python: _argument(python, sema, arguments)
        for python, sema in optional
        if keyword(sema) in arguments or keyword(python) in arguments
    }
    return positional, named


def _argument(python: str, sema: str, arguments: dict[Any, Any]) -> Any:
    argument = arguments.get(keyword(sema))
    return arguments.get(keyword(python)) if argument is None else argument


Names = list[tuple[str, str]]


def parameter_names(handler: Any) -> tuple[Names, Names] | None:
    """Returns required and optional parameters as (Python name, Sema name); None for callables without names."""
    code = getattr(handler, "__code__", None)
    if code is None or str(getattr(handler, "__module__", "")).startswith("sema_runtime."):
        return None
    if code.co_flags & VARARGS and not code.co_argcount:
        return None
    from sema_runtime.values.naming import name_of_code

    table = handler.__globals__.get("__sema_names__") or {}
    names = [(name, name_of_code(name, table)) for name in code.co_varnames[: code.co_argcount]]
    if getattr(handler, "__self__", None) is not None:
        names = names[1:]
    required = len(names) - len(handler.__defaults__ or ())
    return names[:required], names[required:]


def result_text(value: Any) -> str:
    """Returns a handler's result as a model reads it: strings raw, data as compact JSON, anything else as printed."""
    if isinstance(value, str):
        return value
    if is_map(value) or is_sequence(value):
        return compact(value)
    from sema_runtime.values.printer import to_text

    return to_text(value)


def arguments_map(call: ToolCall) -> Any:
    """Returns a call's arguments as programs see them: a map, empty if the model sent something else."""
    value = to_sema(call.arguments)
    return value if is_map(value) else Map()
