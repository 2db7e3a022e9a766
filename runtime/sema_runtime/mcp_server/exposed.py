"""The tools of a program that MCP clients may call: which they are, their names, their schemas.

Every tool that a global variable holds is exposed, unless its name starts with `_` or its parameters map has
`:mcp/expose #f` or `:private #t`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from sema_runtime.llm.jsonable import is_map
from sema_runtime.llm.tools.schema import item_of, json_schema
from sema_runtime.llm.tools.tool import Tool
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.maps import Map

LONGEST_NAME = 128
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_./-]")
TYPES = frozenset(("string", "integer", "number", "boolean", "array", "object", "null"))
AS_STRINGS = frozenset(("keyword", "symbol"))
SETTINGS = ("mcp/", "private")  # keys of a parameters map that are no parameters


class Choice(NamedTuple):
    """Which tools are served, by names or patterns such as `notebook/*`. include: None for all."""

    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()

    def allows(self, name: str) -> bool:
        chosen = self.include is None or any(fnmatchcase(name, pattern) for pattern in self.include)
        return chosen and not any(fnmatchcase(name, pattern) for pattern in self.exclude)


def exposed(values: Iterable[Any], choice: Choice | None = None) -> dict[str, Tool]:
    """The exposed tools among some values, by the names that clients use, sorted."""
    tools: dict[str, Tool] = {}
    for value in values:
        if isinstance(value, Tool) and is_exposed(value) and (choice is None or choice.allows(value.name)):
            tools[wire_name(value.name)] = value
    return dict(sorted(tools.items()))


def is_exposed(tool: Tool) -> bool:
    if tool.name.startswith("_"):
        return False
    if not is_map(tool.parameters):
        return True
    shown, private = tool.parameters.get("mcp/expose", True), tool.parameters.get("private")
    return not (shown is None or shown is False) and (private is None or private is False)


def wire_name(name: str) -> str:
    """The name of a tool with the characters that clients accept: `send!` becomes `send_`."""
    return NOT_IN_NAMES.sub("_", name)[:LONGEST_NAME]


def parameters_of(tool: Tool) -> Any:
    """The parameters map without the keys that are settings; a bare type, as in {:n :int}, becomes {:type :int}."""
    parameters = tool.parameters
    if not is_map(parameters):
        return parameters
    entries = parameters.pairs() if isinstance(parameters, Map) else parameters.items()
    return Map({key: _spec(spec) for key, spec in entries if not _is_setting(key)})


def _spec(spec: Any) -> Any:
    is_type = isinstance(spec, Keyword) or item_of(spec) is not None
    return Map({keyword("type"): spec}) if is_type and not is_map(spec) else spec


def _is_setting(key: Any) -> bool:
    name = key.name if isinstance(key, Keyword) else str(key)
    return name.startswith(SETTINGS[0]) or name in SETTINGS[1:]


def described(tools: Mapping[str, Tool]) -> list[dict[str, Any]]:
    """name, description and inputSchema of tools, as JSON."""
    return [
        {"name": name, "description": tool.description, "inputSchema": input_schema(tool)}
        for name, tool in tools.items()
    ]


def input_schema(tool: Tool) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments, with types that every client knows."""
    from sema_runtime.llm.tools.python_functions import PythonTool

    if isinstance(tool, PythonTool):
        return tool.schema().parameters
    schema = json_schema(parameters_of(tool))
    for name, part in schema["properties"].items():
        schema["properties"][name] = _plain({"type": "string"} | part if "type" not in part else part)
    return schema


def _plain(part: Any) -> Any:
    """A schema whose types are those of JSON: keywords are strings, types that JSON doesn't have are left out."""
    if not isinstance(part, dict):
        return part
    plain = {key: _plain(value) if key == "items" else value for key, value in part.items()}
    if "properties" in plain:
        plain["properties"] = {name: _plain(value) for name, value in plain["properties"].items()}
    kind = plain.get("type")
    if kind in AS_STRINGS:
        plain["type"] = "string"
    elif isinstance(kind, str) and kind not in TYPES:
        del plain["type"]
    return plain
