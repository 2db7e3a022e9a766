"""The tools of a server as Sema tools: their input schemas as parameters maps and as models get them.

Programs see the parameters as in `deftool`. Models get the whole schema with nested ones, reduced to the keywords that
all providers accept.
"""

from __future__ import annotations

from dataclasses import dataclass

from sema_runtime.llm.jsonable import to_sema
from sema_runtime.llm.messages import ToolSchema
from sema_runtime.llm.tools.tool import Tool
from sema_runtime.values.atoms import keyword
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

KEPT = (
    *("type", "description", "enum", "default", "format", "pattern", "minimum", "maximum", "minLength", "maxLength"),
    *("minItems", "maxItems", "required"),
)
DEEPEST = 12  # levels of a schema that are sent; recursive schemas are infinite


@dataclass(eq=False)
class McpTool(Tool):
    """input_schema: what models get instead of the parameters map."""

    input_schema: Any = None

    def schema(self) -> ToolSchema:
        return ToolSchema(self.name, self.description, self.input_schema)


def parameters_of(schema: Any) -> Map:
    """Returns the parameters map of an input schema: `:type` (a string by default), `:description`, `:enum`, and
    `:optional #t` for a parameter that isn't required."""
    if not isinstance(schema, dict):
        return Map()
    properties = schema.get("properties")
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    return Map({
        keyword(name): _spec(resolved(property_schema, schema), name in needed)
        for name, property_schema in (properties.items() if isinstance(properties, dict) else ())
    })  # fmt: skip


def _spec(schema: Schema, required: bool) -> Map:
    entries: dict[Any, Any] = {keyword("type"): keyword(type_of(schema) or "string")}
    if isinstance(schema.get("description"), str):
        entries[keyword("description")] = schema["description"]
    if isinstance(schema.get("enum"), list):
        entries[keyword("enum")] = to_sema(schema["enum"])
    if not required:
        entries[keyword("optional")] = True
    return Map(entries)


def type_of(schema: Schema) -> str:
    """Returns the one type besides null that a schema names, "" without one or with several."""
    named = schema.get("type")
    if isinstance(named, str):
        return named
    if isinstance(named, list):
        types = {member for member in named if isinstance(member, str)}
    else:
        branches = schema.get("anyOf") or schema.get("oneOf")
        types = (
            {type_of(member) for member in branches if isinstance(member, dict)}
            if isinstance(branches, list)
            else set()
        )
    types.discard("null")
    return types.pop() if len(types) == 1 else ""


def resolved(schema: Any, root: Schema) -> Schema:
    """Returns a schema with its reference resolved; keywords beside the reference stay."""
    for _ in range(DEEPEST):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str):
            break
        target: Any = root
        for step in reference.removeprefix("#").strip("/").split("/"):
            target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
        beside = {name: value for name, value in schema.items() if name != "$ref"}
        schema = {**target, **beside} if isinstance(target, dict) and reference.startswith("#") else beside
    return schema if isinstance(schema, dict) else {}


def for_models(schema: Any) -> Schema:
    """Returns an input schema for models: an object, without references and rare keywords."""
    root = schema if isinstance(schema, dict) else {}
    reduced = _reduced(root, root, 0)
    reduced.pop("description", None)
    return {"type": "object", "properties": {}, **reduced}


def _reduced(schema: Any, root: Schema, depth: int) -> Schema:
    full = resolved(schema, root)
    reduced = {name: full[name] for name in KEPT if name in full}
    named = reduced.get("type")
    if isinstance(named, list):
        reduced.pop("type")
        reduced["anyOf"] = [{"type": member} for member in named]
    if depth >= DEEPEST:
        return {name: value for name, value in reduced.items() if name in ("type", "description")}
    if "const" in full and "enum" not in reduced:
        reduced["enum"] = [full["const"]]
    if isinstance(reduced.get("enum"), list) and not all(isinstance(member, str) for member in reduced["enum"]):
        reduced.pop("enum")  # some providers accept texts only
    properties = full.get("properties")
    if isinstance(properties, dict):
        reduced["properties"] = {name: _reduced(member, root, depth + 1) for name, member in properties.items()}
    if "items" in full or reduced.get("type") == "array":
        reduced["items"] = _reduced(full.get("items"), root, depth + 1)
    branches = full.get("anyOf") or full.get("oneOf")
    if isinstance(branches, list):
        reduced["anyOf"] = [_reduced(member, root, depth + 1) for member in branches]
    parts = full.get("allOf")
    for part in parts if isinstance(parts, list) else ():
        more = _reduced(part, root, depth + 1)
        if "properties" in reduced and "properties" in more:
            reduced["properties"] = {**more["properties"], **reduced["properties"]}
        reduced = {**more, **reduced}
    return reduced
