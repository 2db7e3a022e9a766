"""Schemas that providers enforce: structured answers and strict tools, for `:mode :native`.

Schemas become strict as OpenAI requires, which the others accept: every object lists all its keys as required and
allows no others; a key that may be absent may be null instead.
"""

from __future__ import annotations

from dataclasses import replace

from sema_runtime.llm.messages import Reply, Request, ToolSchema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "answer"  # OpenAI requires a name for the schema
JSON_MODE_ONLY = ("deepseek", "moonshot")  # they promise JSON of any shape
LOOSE_TOOLS = ("deepseek", "moonshot", "perplexity", "sambanova", "xai")  # take no `strict` for tools
TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
KEPT = ("description", "enum", "const")
SCALARS: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}


# On the OpenAI wire


def answer_format(request: Request, provider: str) -> dict[str, Any] | None:
    """Returns `response_format`, None when the answer is free text."""
    if request.answer_schema is not None and provider not in JSON_MODE_ONLY:
        return {
            "type": "json_schema",
            "json_schema": {"name": NAME, "schema": strict(request.answer_schema), "strict": True},
        }
    return {"type": "json_object"} if request.json_mode or request.answer_schema is not None else None


def function_schema(tool: ToolSchema, provider: str, is_strict: bool) -> dict[str, Any]:
    """Returns the `function` of a tool. is_strict: strict, if the provider and the schema allow it."""
    function: dict[str, Any] = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    if is_strict and provider not in LOOSE_TOOLS and not is_open(tool.parameters):
        function["parameters"] = strict(tool.parameters)
        function["strict"] = True
    return function


# Schemas


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns a JSON Schema for strict modes. A schema without type allows any scalar, also as an array's item."""
    kind = schema.get("type")
    strict_schema: dict[str, Any] = {key: schema[key] for key in KEPT if key in schema}
    choices = schema.get("anyOf") or schema.get("oneOf") or ()
    if isinstance(kind, list):
        choices = [{**schema, "type": single_kind} for single_kind in kind]
        strict_schema.pop("enum", None)
    if choices:
        return {**strict_schema, "anyOf": [strict(choice) for choice in choices]}
    if kind not in TYPES:
        return (
            {**SCALARS, **strict_schema}
            if kind is None and not {"enum", "const"} & set(strict_schema)
            else {"type": "string", **strict_schema}
        )
    if kind == "object":
        fields = schema.get("properties") or {}
        required = schema.get("required") or ()
        strict_schema["properties"] = {
            key: strict(inner) if key in required else nullable(strict(inner)) for key, inner in fields.items()
        }
        strict_schema["required"] = list(fields)
        strict_schema["additionalProperties"] = False
    elif kind == "array":
        strict_schema["items"] = strict(schema.get("items") or {})
    return {"type": kind, **strict_schema}


def is_open(schema: Any) -> bool:
    """Whether a schema contains an object with unknown keys, which strict modes can't express."""
    if isinstance(schema, list):
        return any(map(is_open, schema))
    if not isinstance(schema, dict):
        return False
    if schema.get("type") == "object" and ("properties" not in schema or schema.get("additionalProperties")):
        return True
    inner = [*(schema.get("properties") or {}).values(), schema.get("items")]
    return any(map(is_open, [*inner, *(schema.get("anyOf") or ()), *(schema.get("oneOf") or ())]))


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns a schema that also allows null."""
    if "anyOf" in schema:
        null = {"type": "null"}
        return schema if null in schema["anyOf"] else {**schema, "anyOf": [*schema["anyOf"], null]}
    if "const" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    nullable_schema = {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        nullable_schema["enum"] = [*schema["enum"], None]
    return nullable_schema


def drop_nulls(request: Request, reply: Reply) -> None:
    """Removes the nulls of absent arguments from a reply to a request with strict tools."""
    schemas = {tool.name: tool.parameters for tool in request.tools}
    reply.tool_calls = [
        replace(call, arguments=without_nulls(schemas.get(call.name) or {}, call.arguments))
        for call in reply.tool_calls
    ]


def without_nulls(schema: dict[str, Any], value: Any) -> Any:
    """Returns decoded JSON without the nulls of absent keys. schema: before it was made strict."""
    if isinstance(value, dict) and schema.get("type") == "object":
        fields, required = schema.get("properties") or {}, schema.get("required") or ()
        return {
            key: without_nulls(fields.get(key) or {}, inner)
            for key, inner in value.items()
            if inner is not None or key in required or key not in fields
        }
    if isinstance(value, list) and schema.get("type") == "array":
        return [without_nulls(schema.get("items") or {}, inner) for inner in value]
    return value
