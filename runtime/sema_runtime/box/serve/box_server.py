"""The official server, which tells clients in words what is wrong with the arguments of a call."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import Tool

from sema_runtime.box.json_schema import misfits

MOST_NAMES = 8  # of unknown arguments, in a message
LONGEST = 80  # characters of such a name


class BoxServer(MCPServer):
    """Refuses calls with arguments that a tool doesn't have: the package leaves them out, and a mistyped name of an
    optional argument would change what a call does."""

    async def list_tools(self) -> list[Tool]:
        tools = await super().list_tools()
        for tool in tools:
            tool.input_schema = {**tool.input_schema, "additionalProperties": False}
        return tools

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        tool = next((tool for tool in await self.list_tools() if tool.name == name), None)
        if tool is None:
            raise ToolError(f"invalid_request: there is no tool {name[:LONGEST]}")
        known = tool.input_schema.get("properties", {})
        unknown = [argument for argument in arguments if argument not in known]
        if unknown:
            raise ToolError(refusal(name, [f"there is no argument {listed(unknown)}"], known))
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError:
            problems = misfits(arguments, tool.input_schema)
            if not problems:
                raise
            raise ToolError(refusal(name, problems, known)) from None


def listed(names: list[str]) -> str:
    shown = ", ".join(name[:LONGEST] for name in names[:MOST_NAMES])
    return f"{shown}, ..." if len(names) > MOST_NAMES else shown


def refusal(tool: str, problems: list[str], known: dict[str, Any]) -> str:
    return f"invalid_request: {'; '.join(problems)} ({tool} takes {', '.join(known) or 'no arguments'})"
