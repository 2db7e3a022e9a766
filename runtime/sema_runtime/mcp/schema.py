"""The tools of a server as Sema tools: the input schema becomes a parameters map, and goes to models as it is.

Programs see the parameters as `deftool` writes them. Models are sent the whole schema with what is nested in it, but
only with the keywords that all providers take.
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
DEEPEST = 12  # levels of a schema that are sent; recursive ones have no end


@dataclass(eq=False)
class McpTool(Tool):
    """input_schema: what models are sent instead of the parameters map."""

    input_schema: Any = None

    def schema(self) -> ToolSchema:
        return ToolSchema(self.name, self.description, self.input_schema)


def parameters_of(schema: Any) -> Map:
    """The parameters map for an input schema: `:type` (a string where nothing is said), `:description`, `:enum`, and
    `:optional #t` for what isn't required."""
    if not isinstance(schema, dict):
        return Map()
    properties = schema.get("properties")
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    return Map({
        keyword(name): _spec(resolved(one, schema), name in needed)
        for name, one in (properties.items() if isinstance(properties, dict) else ())
    })  # fmt: skip


def _spec(schema: Schema, required: bool) -> Map:
    made: dict[Any, Any] = {keyword("type"): keyword(type_of(schema) or "string")}
    if isinstance(schema.get("description"), str):
        made[keyword("description")] = schema["description"]
    if isinstance(schema.get("enum"), list):
        made[keyword("enum")] = to_sema(schema["enum"])
    if not required:
        made[keyword("optional")] = True
    return Map(made)


def type_of(schema: Schema) -> str:
    """The one type besides null that a schema names, "" when there is none or there are several."""
    named = schema.get("type")
    if isinstance(named, str):
        return named
    if isinstance(named, list):
        types = {one for one in named if isinstance(one, str)}
    else:
        branches = schema.get("anyOf") or schema.get("oneOf")
        types = {type_of(one) for one in branches if isinstance(one, dict)} if isinstance(branches, list) else set()
    types.discard("null")
    return types.pop() if len(types) == 1 else ""


def resolved(schema: Any, root: Schema) -> Schema:
    """A schema, or the one of the document that it refers to, with what it says beside that."""
    for _ in range(DEEPEST):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str):
            break
        found: Any = root
        for step in reference.removeprefix("#").strip("/").split("/"):
            found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
        beside = {name: value for name, value in schema.items() if name != "$ref"}
        schema = {**found, **beside} if isinstance(found, dict) and reference.startswith("#") else beside
    return schema if isinstance(schema, dict) else {}


def for_models(schema: Any) -> Schema:
    """An input schema as models are sent it: an object, without references and without rare keywords."""
    root = schema if isinstance(schema, dict) else {}
    made = _reduced(root, root, 0)
    made.pop("description", None)
    return {"type": "object", "properties": {}, **made}


def _reduced(schema: Any, root: Schema, depth: int) -> Schema:
    found = resolved(schema, root)
    made = {name: found[name] for name in KEPT if name in found}
    named = made.get("type")
    if isinstance(named, list):
        made.pop("type")
        made["anyOf"] = [{"type": one} for one in named]
    if depth >= DEEPEST:
        return {name: value for name, value in made.items() if name in ("type", "description")}
    if "const" in found and "enum" not in made:
        made["enum"] = [found["const"]]
    if isinstance(made.get("enum"), list) and not all(isinstance(one, str) for one in made["enum"]):
        made.pop("enum")  # some providers take texts only
    properties = found.get("properties")
    if isinstance(properties, dict):
        made["properties"] = {name: _reduced(one, root, depth + 1) for name, one in properties.items()}
    if "items" in found or made.get("type") == "array":
        made["items"] = _reduced(found.get("items"), root, depth + 1)
    branches = found.get("anyOf") or found.get("oneOf")
    if isinstance(branches, list):
        made["anyOf"] = [_reduced(one, root, depth + 1) for one in branches]
    whole = found.get("allOf")
    for part in whole if isinstance(whole, list) else ():
        more = _reduced(part, root, depth + 1)
        if "properties" in made and "properties" in more:
            made["properties"] = {**more["properties"], **made["properties"]}
        made = {**more, **made}
    return made
