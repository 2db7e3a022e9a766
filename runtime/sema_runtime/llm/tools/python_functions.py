"""Tools from Python functions: the signature and the docstring are the schema."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property, partial
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from sema_runtime.llm.jsonable import is_map, to_json, to_sema
from sema_runtime.llm.messages import ToolSchema
from sema_runtime.llm.tools.docstrings import parsed
from sema_runtime.llm.tools.tool import Tool, awaited
from sema_runtime.values.atoms import Keyword, Symbol, keyword
from sema_runtime.values.errors import LlmError, SemaError, type_error

NAMELESS = ("<lambda>", "")


class Parameter(NamedTuple):
    """default: inspect.Parameter.empty for a required one."""

    name: str
    annotation: Any
    default: Any


class PythonTool(Tool):
    """A tool whose handler is a Python function, plain or async. It can be called like the function.

    thread: whether to call the function in a thread, because it blocks.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str | None = None,
        description: str | None = None,
        thread: bool = False,
    ) -> None:
        if not callable(function) or isinstance(function, type):
            type_error("function", function)
        inner = _inner_function(function)
        tool_name = name or str(getattr(inner, "__name__", ""))
        if tool_name in NAMELESS:
            raise SemaError(
                "a tool needs a name, which this function doesn't have",
                hint="give it one with name; for a function of Sema use deftool",
            )
        text, self.texts = parsed(_docstring(inner))
        self.name = tool_name
        self.description = text if description is None else description
        self.handler = function
        self.policy_subjects = ()
        self.thread = thread
        self.unbound = _is_unbound_method(inner)
        if not self.unbound:
            self.signature = signature_of(function, tool_name)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.handler(*args, **named)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Binds a decorated method to its instance."""
        if instance is None or not self.unbound:
            return self
        method = self.handler.__get__(instance, owner)
        return PythonTool(method, self.name, self.description, self.thread)

    @cached_property
    def _fields(self) -> list[Parameter]:
        return _resolved(self.handler, self.signature, self.name)

    @cached_property
    def _model(self) -> Any:
        """The pydantic model of the arguments. Its fields are `a0`, `a1`, ...; their aliases are the names."""
        from pydantic import Field, create_model
        from pydantic.errors import PydanticUserError

        from sema_runtime.llm.tools.python_types import first_sentence, modern

        fields: dict[str, Any] = {}
        for position, (name, annotation, default) in enumerate(self._fields):
            kind, text = _without_text(annotation)
            text = text or self.texts.get(name)
            settings: dict[str, Any] = {"alias": name} | ({"description": text} if text else {})
            field_default = ... if default is inspect.Parameter.empty else default
            fields[f"a{position}"] = (modern(kind), Field(field_default, **settings))
        try:
            return create_model(self.name, **fields)
        except (PydanticUserError, NameError) as error:
            raise SemaError(
                f"no schema can be made of the parameters of tool '{self.name}': {first_sentence(error)}"
            ) from error

    @cached_property
    def _json_schema(self) -> dict[str, Any]:
        from sema_runtime.llm.tools.python_types import adapter_of, json_schema

        schema = json_schema(adapter_of(self._model), f"the parameters of tool '{self.name}'")
        schema.pop("description", None)
        optional = {part.name for part in self._fields if part.default is None}
        for name, part in schema.setdefault("properties", {}).items():
            if name in optional:
                schema["properties"][name] = _without_null(part)
        schema.setdefault("required", [])
        return schema

    @property
    def parameters(self) -> Any:
        """The parameters as a map of specs, as in `deftool`."""
        schema = self._json_schema
        return to_sema(
            {
                name: _spec(property_schema, name in schema["required"])
                for name, property_schema in schema["properties"].items()
            }
        )

    def schema(self) -> ToolSchema:
        return ToolSchema(self.name, self.description, self._json_schema)

    def invoke(self, arguments: Any) -> Any:
        from pydantic import ValidationError

        from sema_runtime.llm.tools.python_types import problems_of

        values = to_json(arguments) if is_map(arguments) else {}
        try:
            checked = self._model.model_validate(values)
        except ValidationError as error:
            raise LlmError(f"invalid arguments for tool '{self.name}': {'; '.join(problems_of(error))}") from None
        named = {field.name: getattr(checked, f"a{position}") for position, field in enumerate(self._fields)}
        if self.thread:
            from sema_runtime.tasks.threads import in_background

            return in_background(lambda: self.handler(**named))
        return awaited(self.handler(**named))

    def text_of(self, result: Any) -> str:
        """Returns strings unchanged, other values as JSON; values without JSON form as `str` shows them."""
        if isinstance(result, str):
            return result
        from pydantic_core import to_json as json_of

        try:
            return json_of(result, fallback=_plain).decode()
        except ValueError:
            return str(result)


def python_tool(function: Any, name: str | None = None, description: str | None = None, thread: bool = False) -> Tool:
    """Returns the tool of a Python function; tools are unchanged. Raises SemaError for unsuitable signatures."""
    return function if isinstance(function, Tool) else PythonTool(function, name, description, thread)


# Signatures


def _inner_function(function: Any) -> Any:
    """Returns the function of a partial; anything else unchanged."""
    while isinstance(function, partial):
        function = function.func
    return function


def _docstring(function: Any) -> str | None:
    """Returns the docstring of a function or, for a callable object, of its `__call__` or class."""
    if inspect.isroutine(function):
        return inspect.getdoc(function)
    return inspect.getdoc(type(function).__call__) or inspect.getdoc(function)


def _bound_names(function: Any) -> set[str]:
    """Returns the parameters that partials set; the model must not see them."""
    names: set[str] = set()
    while isinstance(function, partial):
        names |= function.keywords.keys()
        function = function.func
    return names


def _is_unbound_method(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    return (
        code is not None
        and not hasattr(function, "__self__")
        and code.co_varnames[: min(1, code.co_argcount)] == ("self",)
        and "self" not in function.__annotations__
    )


def signature_of(function: Any, name: str) -> inspect.Signature:
    """Returns the signature. Raises SemaError unless a model can fill it."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise SemaError(
            f"tool '{name}': its signature isn't known", hint="wrap it in a function with annotations"
        ) from None
    bound = _bound_names(function)
    free = [parameter for parameter in signature.parameters.values() if parameter.name not in bound]
    for parameter in free:
        _check_parameter(parameter, name)
    return signature.replace(parameters=free)


def _check_parameter(parameter: inspect.Parameter, name: str) -> None:
    shown = str(parameter).partition(":")[0].partition("=")[0].strip()
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise SemaError(
            f"tool '{name}': parameter {shown} takes any number of arguments, which a schema can't say",
            hint="name the parameters one by one, or take a list",
        )
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise SemaError(
            f"tool '{name}': parameter {shown} is positional-only, but arguments of tools are passed by name",
            hint="leave out the / in the signature",
        )
    if parameter.annotation is parameter.empty:
        raise SemaError(
            f"tool '{name}': parameter {shown} has no type",
            hint=f"annotate it, as in `def {name}({shown}: str)`; for a function of Sema use deftool",
        )


def _resolved(function: Any, signature: inspect.Signature, name: str) -> list[Parameter]:
    """Returns the parameters; annotations that are texts are evaluated."""
    target = _inner_function(function)
    if not inspect.isroutine(target):
        target = type(target).__call__
    try:
        hints = get_type_hints(target, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise SemaError(f"tool '{name}': a type in its signature isn't known: {error}") from error
    return [
        Parameter(parameter.name, hints.get(parameter.name, parameter.annotation), parameter.default)
        for parameter in signature.parameters.values()
    ]


def _without_text(annotation: Any) -> tuple[Any, str | None]:
    """Returns type and description of `Annotated[type, "description"]`; other metadata stay in the type."""
    if get_origin(annotation) is not Annotated:
        return annotation, None
    kind, *metadata = get_args(annotation)
    texts = [item if isinstance(item, str) else getattr(item, "documentation", None) for item in metadata]
    kept = [item for item, text in zip(metadata, texts, strict=True) if text is None]
    rebuilt = Annotated[(kind, *kept)] if kept else kind
    return rebuilt, next((text for text in texts if text is not None), None)


def _plain(value: Any) -> Any:
    """Returns a value without JSON form as text: Sema values as models get them, others as `str` shows them."""
    plain = to_json(value)
    return str(value) if isinstance(plain, str) and not isinstance(value, Keyword | Symbol) else plain


# Schemas


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema of an argument whose default is None, without null in its type."""
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    if "anyOf" not in schema:
        return rest
    return {**choices[0], **rest} if len(choices) == 1 else {"anyOf": choices, **rest}


def _spec(schema: dict[str, Any], required: bool) -> dict[str, Any]:
    """Returns the spec of a parameter from its property: {:type :description :enum :default :optional}."""
    spec: dict[str, Any] = {key: schema[key] for key in ("description", "enum", "default") if key in schema}
    if isinstance(schema.get("type"), str):
        spec["type"] = keyword(schema["type"])
    if not required:
        spec["optional"] = True
    return spec
