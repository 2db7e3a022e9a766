"""A small MCP server over stdio, for ../mcp_agent.sema: two tools over notes in memory. Needs nothing but Python."""

import json
import sys

NOTES = {
    "oven": "Preheat to 230 degrees, stone on the middle rack.",
    "dough": "500 g flour, 325 g water, 10 g salt, 2 g yeast; 24 hours in the fridge.",
    "shopping": "flour, yeast, mozzarella",
}
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOLS = [
    {"name": "list_notes", "description": "Names of all notes", "inputSchema": {"type": "object", "properties": {}}},
    {"name": "read_note", "description": "The text of a note", "inputSchema": NAME},
]


def called(name: str, arguments: dict[str, str]) -> dict[str, object]:
    if name == "list_notes":
        text, failed = ", ".join(sorted(NOTES)), False
    else:
        text, failed = NOTES.get(arguments["name"], "no such note"), arguments["name"] not in NOTES
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def answer(method: str, params: dict) -> dict[str, object]:
    if method == "initialize":
        about = {"name": "notes", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return called(params["name"], params.get("arguments") or {})
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:  # the others are notifications
        result = answer(request["method"], request.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
